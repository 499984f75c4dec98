package randhist

import (
	"math/rand/v2"
	"strconv"

	"github.com/isohound/isohound/history"
)

// Prefix makes a small history in which each transaction reads from a prefix of the commits before it,
// so that many histories lose updates. A few reads return something else.
func Prefix(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	keys, txns, sessions := 1+rng.IntN(3), 3+rng.IntN(4), 2+rng.IntN(3)
	values := []int64{2, 100, 100}[rng.IntN(3)] // few values are written repeatedly
	wrong := []int{3, 15, 40}[rng.IntN(3)]      // percent of reads
	states := []map[history.Key]history.Value{{}}
	seen := make([]int, sessions) // by session: how many commits its next transaction must see
	b := history.NewBuilder(history.Header{}, sym, txns)
	next := int64(0)
	for i := range txns {
		s := rng.IntN(sessions)
		rec := history.Record{ID: int64(i), Session: int64(s), Due: history.NoTime, Begin: history.NoTime, End: history.NoTime, Status: history.Committed}
		if rng.IntN(10) == 0 {
			rec.Status = history.Unknown
		}
		at := seen[s] + rng.IntN(len(states)-seen[s])
		own, after := map[history.Key]history.Value{}, map[history.Key]history.Value{}
		for range 1 + rng.IntN(4) {
			k := sym.Key("k" + strconv.Itoa(rng.IntN(keys)))
			if rng.IntN(3) == 0 {
				next++
				own[k] = sym.Int(1 + next%values)
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: k, Value: own[k]})
				continue
			}
			v, mine := own[k]
			if !mine {
				var ok bool
				if v, ok = states[at][k]; !ok {
					v = sym.DefaultInitial
				}
			}
			if rng.IntN(100) < wrong {
				v = sym.Int(rng.Int64N(min(values, next) + 1))
			}
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
		}
		for k, v := range states[len(states)-1] {
			after[k] = v
		}
		for k, v := range own {
			after[k] = v
		}
		if rec.Status == history.Committed || rng.IntN(2) == 0 {
			states = append(states, after)
		}
		if rec.Status == history.Committed {
			seen[s] = len(states) - 1
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// Scattered makes a small history with unique values: first some transactions that write, most of them
// without reading, then some that read. Each read returns any version of its key. So readers see writers in
// different orders.
func Scattered(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	keys, writers, readers := 2+rng.IntN(2), 2+rng.IntN(3), 2+rng.IntN(3)
	sessions := 2 + rng.IntN(2*(writers+readers))
	versions := map[history.Key][]history.Value{}
	b := history.NewBuilder(history.Header{}, sym, writers+readers)
	next := int64(0)
	for i := range writers + readers {
		rec := history.Record{ID: int64(i), Session: int64(rng.IntN(sessions)), Due: history.NoTime, Begin: history.NoTime, End: history.NoTime, Status: history.Committed}
		if rng.IntN(16) == 0 {
			rec.Status = history.Unknown
		}
		first := rng.IntN(keys)
		key := func(n int) history.Key { return sym.Key("k" + strconv.Itoa((first+n)%keys)) }
		read := func(k history.Key) {
			v := sym.DefaultInitial
			if n := rng.IntN(len(versions[k]) + 1); n > 0 {
				v = versions[k][n-1]
			}
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
		}
		if i >= writers {
			for n := range 2 + rng.IntN(keys-1) {
				read(key(n))
			}
		} else {
			if rng.IntN(4) == 0 {
				read(key(rng.IntN(keys)))
			}
			for n := range 1 + rng.IntN(3)/2 {
				next++
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: key(n), Value: sym.Int(next)})
			}
			for _, op := range rec.Ops {
				if op.Kind == history.Write {
					versions[op.Key] = append(versions[op.Key], op.Value)
				}
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}
