package randhist

import (
	"math/rand/v2"

	"github.com/isohound/isohound/history"
)

// Claimed returns h with claims of a database. They follow the order of the record, which is an execution of many
// histories of this package. Some are left out, some are moved, and in some histories they are all wrong.
func Claimed(rng *rand.Rand, h *history.History) *history.History {
	n := len(h.Txns)
	at := make([]int64, n)
	position := int64(rng.IntN(3))
	for i := range at {
		if rng.IntN(10) > 0 {
			position += 1 + int64(rng.IntN(3))
		}
		at[i] = max(position, 1)
	}
	for range [...]int{0, 0, 1, 2, n}[rng.IntN(5)] { // lies
		i, j := rng.IntN(n), rng.IntN(n)
		at[i], at[j] = at[j], at[i]
	}
	missing := [...]int{0, 0, 0, 10}[rng.IntN(4)]     // percent of positions
	snapshots := [...]int{0, 50, 100}[rng.IntN(3)]    // percent
	readers := [...]int{0, 50, 100, 100}[rng.IntN(4)] // percent of readers with a snapshot
	claims := make([]history.Claim, n)
	for i := range claims {
		t := &h.Txns[i]
		wrote := false
		for _, op := range h.Ops(t) {
			wrote = wrote || op.Kind == history.Write
		}
		if rng.IntN(100) < missing || t.Status == history.Unknown && rng.IntN(3) > 0 {
			continue
		}
		c := &claims[i]
		before := max(0, at[i]-1-int64(rng.IntN(1+rng.IntN(4))))
		switch {
		case wrote:
			c.Commit = at[i]
			if rng.IntN(100) < snapshots {
				c.Snapshot, c.Snapped = before, true
			}
		case rng.IntN(100) < readers:
			c.Snapshot, c.Snapped = at[i], true
			if rng.IntN(4) == 0 {
				c.Snapshot = before
			}
		case rng.IntN(2) == 0:
			c.Commit = at[i]
		}
	}
	return h.WithClaims(claims)
}

// Versions returns h with versions of reads, mostly those of transactions with positions that wrote what was read. Few are lies.
func Versions(rng *rand.Rand, h *history.History) *history.History {
	writers := map[history.Op][]int64{}
	highest := int64(1)
	for i := range h.Txns {
		at := h.Claim(i).Commit
		highest = max(highest, at)
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.Write && at != 0 {
				op.Kind = history.Read
				writers[op] = append(writers[op], at)
			}
		}
	}
	untold := [...]int{0, 0, 5, 40}[rng.IntN(4)] // percent
	lies := [...]int{0, 0, 0, 10}[rng.IntN(4)]
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		told := history.Record{}
		for _, op := range rec.Ops {
			told.Ops = append(told.Ops, op)
			list := writers[op]
			switch {
			case op.Kind != history.Read || rng.IntN(100) < untold:
			case rng.IntN(100) < lies:
				told.Tell(1 + rng.Int64N(highest+1))
			case len(list) > 0:
				told.Tell(list[rng.IntN(len(list))])
			default:
				told.Tell(history.Before)
			}
		}
		rec.Versions = told.Versions
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	return b.Done(h.Closed, nil)
}
