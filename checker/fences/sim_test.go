package fences

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/isohound/isohound/history"
)

// simulated makes a history with fences: transactions take effect in a hidden order, some reads are stale, and the
// record is in another order. fenced says that each session begins with a fence.
func simulated(rng *rand.Rand) (h *history.History, fenced bool) {
	sym := history.NewSymbols()
	sym.DefaultInitial = history.Absent
	if rng.IntN(2) == 0 {
		sym.DefaultInitial = sym.Int(0)
	}
	sym.SetInitial(sym.Key("E"), history.Absent)
	keys, sessions := 1+rng.IntN(4), 1+rng.IntN(4)
	each := 1 + rng.IntN(5)                      // a fence after this many
	planted := []int{0, 0, 1, 1, 2}[rng.IntN(5)] // stale reads
	txns := []int{6, 12, 30, 60}[rng.IntN(4)]
	stale := []int{0, 0, 0, 1, 5}[rng.IntN(5)]     // percent of transactions
	unknown := []int{0, 0, 0, 5, 20}[rng.IntN(5)]  // percent
	aborted := []int{0, 0, 5}[rng.IntN(3)]         // percent
	blind := rng.IntN(3)                           // 0: writes read before, 1: mixed, 2: none does
	late := []int{0, 0, 3}[rng.IntN(3)]            // percent of sessions that end after a transaction
	moved := []int{0, 1, 4, txns / 2}[rng.IntN(4)] // how far the record is from the hidden order
	noFence := rng.IntN(12) == 0                   // a new session begins without one
	state := map[history.Key]history.Value{}
	older := []map[history.Key]history.Value{}
	clone := func(m map[history.Key]history.Value) map[history.Key]history.Value {
		c := map[history.Key]history.Value{}
		for k, v := range m {
			c[k] = v
		}
		return c
	}
	fenced = true
	since := make([]int, sessions)
	names := make([]int64, sessions)
	for s := range since {
		names[s] = int64(s)
		if rng.IntN(2) == 0 {
			since[s] = each
		} else {
			fenced = false
		}
	}
	fenced = fenced && !noFence
	nextSession := int64(sessions)
	next := int64(0)
	var recs []history.Record
	for i := range txns {
		s := rng.IntN(sessions)
		rec := history.Record{ID: int64(i), Session: names[s], Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
		view := clone(state)
		fence := since[s] >= each
		if rng.IntN(100) < stale && len(older) > 0 {
			view = clone(older[max(0, len(older)-1-rng.IntN(12))])
		}
		read := func(k history.Key) {
			v, ok := view[k]
			if !ok {
				v = sym.Initial(k)
			}
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
		}
		own := map[history.Key]history.Value{}
		write := func(k history.Key) {
			next++
			view[k], own[k] = sym.Int(next), sym.Int(next)
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: k, Value: sym.Int(next)})
		}
		if fence {
			since[s] = 0
			read(sym.Key("E"))
			write(sym.Key("E"))
		} else {
			since[s]++
			reader := rng.IntN(2) == 0
			for range 1 + rng.IntN(3) {
				k := sym.Key("k" + strconv.Itoa(rng.IntN(keys)))
				switch {
				case reader:
					read(k)
				case blind == 2 || blind == 1 && rng.IntN(2) == 0:
					write(k)
				default:
					read(k)
					write(k)
				}
			}
		}
		effect := true
		switch p := rng.IntN(100); {
		case p < unknown:
			rec.Status, effect = history.Unknown, rng.IntN(2) == 0
		case p < unknown+aborted:
			rec.Status, effect = history.Aborted, rng.IntN(40) == 0
		}
		if effect {
			for k, v := range own {
				state[k] = v
			}
			older = append(older, clone(state))
		}
		if rec.Status == history.Unknown || rng.IntN(100) < late {
			names[s] = nextSession
			nextSession++
			if since[s] = each; noFence {
				since[s] = 0
			}
		}
		recs = append(recs, rec)
	}
	// Some reads find another version of their key, as a rule one that was overwritten not long before.
	versions := map[history.Key][]history.Value{}
	var reads []*history.Op
	var found []int // the number of versions that there were
	for i := range recs {
		for j := range recs[i].Ops {
			op := &recs[i].Ops[j]
			switch {
			case op.Kind == history.Write:
				versions[op.Key] = append(versions[op.Key], op.Value)
			case recs[i].Ops[0].Key != sym.Key("E"):
				reads, found = append(reads, op), append(found, len(versions[op.Key]))
			}
		}
	}
	for range planted {
		if len(reads) == 0 {
			break
		}
		i := rng.IntN(len(reads))
		if at := found[i] - 2 - rng.IntN(3); at >= 0 {
			reads[i].Value = versions[reads[i].Key][at]
		}
	}
	// The record keeps the order of each session.
	places := make([]int, len(recs))
	last := map[int64]int{}
	for i := range recs {
		places[i] = i
		if moved > 0 {
			places[i] += rng.IntN(moved + 1)
		}
		places[i] = max(places[i], last[recs[i].Session])
		last[recs[i].Session] = places[i]
	}
	order := make([]int, len(recs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return places[a] - places[b] })
	b := history.NewBuilder(history.Header{}, sym, len(recs))
	for _, i := range order {
		if err := b.Add(&recs[i]); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil), fenced
}
