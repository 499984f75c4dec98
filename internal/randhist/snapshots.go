package randhist

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/history"
)

// client is a session of Snapshots.
type client struct {
	rec     history.Record
	open    bool
	state   []history.Value // what its snapshot has
	commits []int64         // by key: the number of the last commit in its snapshot
	own     map[history.Key]history.Value
}

// Snapshots returns the history of a database at snapshot isolation that tells its snapshots as PostgreSQL does: a
// transaction has a number from its first write on, and its snapshot is taken with its first operation. Some transactions
// abort, some are of unknown outcome, and some readers tell nothing. Values may be written more than once.
func Snapshots(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	keys := 1 + rng.IntN(4)
	state := make([]history.Value, keys)
	for k := range state {
		state[k] = sym.Int(0)
		sym.SetInitial(sym.Key(fmt.Sprintf("k%d", k)), state[k])
	}
	last := make([]int64, keys) // by key: the number of its last commit
	clients := make([]client, 1+rng.IntN(5))
	next, moment, id := int64(1+rng.IntN(20)), int64(0), int64(0)
	values := int64(1 + rng.IntN(60))
	reticent := rng.IntN(3) == 0
	b := history.NewBuilder(history.Header{}, sym, 0)
	commits := int64(0)
	for range 10 + rng.IntN(60) {
		s := rng.IntN(len(clients))
		c := &clients[s]
		moment++
		if !c.open {
			id++
			seen := &history.Visible{Max: next, Min: next}
			for i := range clients {
				if u := &clients[i]; u.open && u.rec.DBTxn != 0 {
					seen.Open = append(seen.Open, u.rec.DBTxn)
				}
			}
			if slices.Sort(seen.Open); len(seen.Open) > 0 {
				seen.Min = seen.Open[0]
			}
			*c = client{open: true, state: slices.Clone(state), commits: slices.Clone(last), own: map[history.Key]history.Value{},
				rec: history.Record{ID: id, Session: int64(s), Begin: moment, End: history.NoTime, Due: history.NoTime, Claim: history.Claim{Visible: seen}}}
			if reticent && rng.IntN(4) == 0 {
				c.rec.Claim.Visible = nil
			}
		}
		k := history.Key(rng.IntN(keys))
		switch {
		case len(c.rec.Ops) > 0 && rng.IntN(3) == 0:
			c.open = false
			c.rec.Status = history.Committed
			for k := range c.own {
				if last[k] != c.commits[k] {
					c.rec.Status = history.Aborted
				}
			}
			if rng.IntN(15) == 0 {
				c.rec.Status = history.Aborted
			}
			if c.rec.Status == history.Committed {
				commits++
				for k, v := range c.own {
					state[k], last[k] = v, commits
				}
				if rng.IntN(15) == 0 {
					c.rec.Status = history.Unknown
				}
			}
			if moment++; c.rec.Status != history.Unknown {
				c.rec.End = moment
			}
			if err := b.Add(&c.rec); err != nil {
				panic(err)
			}
		case rng.IntN(2) == 0:
			v, wrote := c.own[k]
			if !wrote {
				v = c.state[k]
			}
			c.rec.Ops = append(c.rec.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
		default:
			if c.rec.DBTxn == 0 {
				c.rec.DBTxn = next
				next++
			}
			v := sym.Int(1 + rng.Int64N(values))
			if c.own[k] = v; rng.IntN(10) == 0 {
				c.own[k] = history.Absent
			}
			c.rec.Ops = append(c.rec.Ops, history.Op{Kind: history.Write, Key: k, Value: c.own[k]})
		}
	}
	if h := b.Done(true, nil); len(h.Txns) > 0 {
		return h
	}
	return Snapshots(rng)
}

// LieAboutSnapshots returns h with some snapshots changed: a transaction that one had is missing, or one that it did not
// have is there, or the snapshot is that of another transaction. It returns which transactions it changed.
func LieAboutSnapshots(rng *rand.Rand, h *history.History) (*history.History, []int32) {
	claims := make([]history.Claim, len(h.Txns))
	var told, lies []int32
	for i := range claims {
		if claims[i] = h.Claim(i); claims[i].Visible != nil {
			told = append(told, int32(i))
		}
	}
	for range 1 + rng.IntN(2) {
		if len(told) == 0 {
			break
		}
		i := told[rng.IntN(len(told))]
		v := *claims[i].Visible
		v.Open = slices.Clone(v.Open)
		switch {
		case rng.IntN(3) == 0:
			v = *claims[told[rng.IntN(len(told))]].Visible
		case len(v.Open) > 0 && rng.IntN(2) == 0:
			v.Open = slices.Delete(v.Open, 0, 1)
		case rng.IntN(2) == 0:
			v.Max += 1 + rng.Int64N(4)
		case v.Max > 1:
			n := max(1, v.Max-1-rng.Int64N(5))
			if v.Open = append(v.Open, n); n < v.Min {
				v.Min = n
			}
			slices.Sort(v.Open)
			v.Open = slices.Compact(v.Open)
		}
		claims[i].Visible = &v
		lies = append(lies, i)
	}
	return h.WithClaims(claims), lies
}
