// Package randhist makes small random histories, on which engines are compared with an
// enumeration of all executions, and damages larger ones.
package randhist

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/isohound/isohound/history"
)

// New makes a small history: transactions of any shape on few keys with few values, executed one
// after another in a hidden order, with errors. Some histories have more of what is rare:
// unknown outcomes, values that are read again or written again.
// again.
func New(rng *rand.Rand) *history.History {
	h := Of(rng, 3, 5, 6)
	if rng.IntN(4) == 0 {
		h = twist(rng, h)
	}
	return h
}

// twist returns h with more unknown outcomes and repeated operations.
func twist(rng *rand.Rand, h *history.History) *history.History {
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Ops = slices.Clone(rec.Ops) // h must not change
		if rec.Status == history.Committed && rng.IntN(4) == 0 {
			rec.Status = history.Unknown
		}
		for range rng.IntN(3) {
			if len(rec.Ops) > 5 {
				break
			}
			n := rng.IntN(len(rec.Ops))
			op := rec.Ops[n]
			op.Kind = []history.OpKind{history.Read, history.Write}[rng.IntN(2)]
			rec.Ops = slices.Insert(rec.Ops, n+1+rng.IntN(len(rec.Ops)-n), op)
		}
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	return b.Done(h.Closed, nil)
}

// WithoutValues returns h with some of its reads turned into ReadNot operations, mostly with a
// value that they did not find.
func WithoutValues(rng *rand.Rand, h *history.History) *history.History {
	values := []history.Value{history.Absent}
	for i := range h.AllOps() {
		values = append(values, h.AllOps()[i].Value)
	}
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Ops = slices.Clone(rec.Ops) // h must not change
		for j := range rec.Ops {
			op := &rec.Ops[j]
			if op.Kind != history.Read || rng.IntN(2) == 0 {
				continue
			}
			other := values[rng.IntN(len(values))]
			if other == op.Value && rng.IntN(8) > 0 {
				continue
			}
			op.Kind, op.Value = history.ReadNot, other
		}
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	return b.Done(h.Closed, nil)
}

// Of makes a history with at most maxKeys keys, maxSessions sessions, and maxTxns transactions
// or one more.
func Of(rng *rand.Rand, maxKeys, maxTxns, maxSessions int) *history.History {
	sym := history.NewSymbols()
	if rng.IntN(3) > 0 {
		sym.DefaultInitial = sym.Int(0)
	}
	keys, txns, sessions := 1+rng.IntN(maxKeys), 2+rng.IntN(maxTxns), 1+rng.IntN(maxSessions)
	values := []int64{2, 3, 100}[rng.IntN(3)] // few values are written repeatedly
	chaos := []int{5, 15, 40, 70}[rng.IntN(4)]
	maxOps := 1 + rng.IntN(5)
	aborts := rng.IntN(2) == 0
	blind := rng.IntN(2) == 0 // transactions only read or only write, so that little of the order is known
	state := map[history.Key]history.Value{}
	snapshots := []map[history.Key]history.Value{}
	copyState := func() map[history.Key]history.Value {
		c := map[history.Key]history.Value{}
		for k, v := range state {
			c[k] = v
		}
		return c
	}
	snapshots = append(snapshots, copyState())
	var recs []history.Record
	at, slack := int64(0), 1+rng.Int64N(5)
	next := int64(0)
	ends := map[int64]int64{}
	for i := range txns {
		rec := history.Record{ID: int64(i), Session: int64(rng.IntN(sessions)), Due: history.NoTime, Status: history.Committed}
		at += rng.Int64N(3)
		rec.Begin, rec.End = at-rng.Int64N(slack), at+rng.Int64N(slack)
		if e, ok := ends[rec.Session]; ok && rec.Begin < e {
			rec.Begin = e
			rec.End = max(rec.End, rec.Begin)
		}
		ends[rec.Session] = rec.End
		switch p := rng.IntN(12); {
		case aborts && p == 0:
			rec.Status = history.Aborted
		case aborts && p <= 2:
			rec.Status = history.Unknown
		}
		view := copyState()
		if rng.IntN(100) < chaos { // reads an old snapshot
			view = map[history.Key]history.Value{}
			for k, v := range snapshots[rng.IntN(len(snapshots))] {
				view[k] = v
			}
		}
		own := map[history.Key]history.Value{}
		reader := rng.IntN(2) == 0
		for range 1 + rng.IntN(maxOps) {
			k := sym.Key("k" + strconv.Itoa(rng.IntN(keys)))
			if blind && reader || !blind && rng.IntN(2) == 0 {
				v, ok := view[k]
				if !ok {
					v = sym.Initial(k)
				}
				if rng.IntN(100) < chaos/4 {
					v = sym.Int(rng.Int64N(values + 1))
				}
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
				continue
			}
			next++
			v := sym.Int(1 + next%values)
			if rng.IntN(12) == 0 {
				v = history.Absent
			}
			view[k], own[k] = v, v
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: k, Value: v})
		}
		if rec.Status == history.Committed || rec.Status == history.Unknown && rng.IntN(2) == 0 {
			for k, v := range own {
				state[k] = v
			}
			snapshots = append(snapshots, copyState())
		}
		recs = append(recs, rec)
	}
	b := history.NewBuilder(history.Header{}, sym, txns)
	for i := range recs {
		if err := b.Add(&recs[i]); err != nil {
			panic(err)
		}
	}
	return b.Done(rng.IntN(10) > 0, nil)
}

// Completed returns a history that was cut off, with the writers that may be missing. It adds
// one for each value that a transaction reads before it writes the key, if the value
// is not the initial one and no other transaction wrote it.
func Completed(h *history.History) *history.History {
	type cell struct {
		key   history.Key
		value history.Value
	}
	writers := map[cell]map[int]bool{}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if c := (cell{op.Key, op.Value}); op.Kind == history.Write {
				if writers[c] == nil {
					writers[c] = map[int]bool{}
				}
				writers[c][i] = true
			}
		}
	}
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	add := func(rec history.Record) {
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	last := int64(0) // id
	for i := range h.Txns {
		add(h.Record(i))
		last = max(last, h.Txns[i].ID)
	}
	missing := map[cell]bool{}
	for i := range h.Txns {
		touched := map[history.Key]bool{}
		for _, op := range h.Ops(&h.Txns[i]) {
			c := cell{op.Key, op.Value}
			outside := op.Kind == history.Read && !touched[op.Key] && h.Initial(op.Key) != op.Value
			touched[op.Key] = touched[op.Key] || op.Kind == history.Write
			others := len(writers[c])
			if writers[c][i] {
				others--
			}
			if !outside || others > 0 || missing[c] {
				continue
			}
			missing[c] = true
			last++
			add(history.Record{ID: last, Session: 1000 + last, Begin: history.NoTime, End: history.NoTime, Due: history.NoTime,
				Status: history.Unknown, Ops: []history.Op{{Kind: history.Write, Key: op.Key, Value: op.Value}}})
		}
	}
	return b.Done(true, nil)
}

// Damage returns h with at most times reads changed to return another value that their key had
// at some time.
func Damage(rng *rand.Rand, h *history.History, times int) *history.History {
	written := map[history.Key][]history.Value{}
	for _, op := range h.AllOps() {
		if op.Kind == history.Write {
			written[op.Key] = append(written[op.Key], op.Value)
		}
	}
	at := map[int]bool{}
	for range times {
		at[rng.IntN(len(h.Txns))] = true
	}
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Ops = slices.Clone(rec.Ops) // h must not change
		if first := rec.Ops[0]; at[i] && first.Kind == history.Read && len(written[first.Key]) > 0 {
			value := written[first.Key][rng.IntN(len(written[first.Key]))]
			for n := range rec.Ops {
				if op := &rec.Ops[n]; op.Kind == history.Read && op.Key == first.Key && op.Value == first.Value {
					op.Value = value
				}
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	return b.Done(true, nil)
}

// Count returns how many histories a test tries: the environment variable ISOHOUND_HISTORIES, or
// usual.
func Count(t testing.TB, usual int) int {
	return int(fromEnv(t, "ISOHOUND_HISTORIES", uint64(usual)))
}

// Few reports whether ISOHOUND_HISTORIES asks for so few histories that chance decides what a test meets. Then a test that
// meets one side only is no failure. The tests under the race detector are such tests: they are about goroutines.
func Few(t testing.TB) bool { return Count(t, few) < few }

const few = 4000

// Seed returns the environment variable ISOHOUND_SEED, which repeats a test, or the usual seed.
func Seed(t testing.TB, usual uint64) uint64 { return fromEnv(t, "ISOHOUND_SEED", usual) }

func fromEnv(t testing.TB, name string, usual uint64) uint64 {
	s := os.Getenv(name)
	if s == "" {
		return usual
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
