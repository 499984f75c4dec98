package psi

import (
	"context"
	"fmt"
	"sort"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/values"
	"github.com/isohound/isohound/history"
)

const none = int32(-1)

// index has the reads and writers of a history that satisfies causal consistency. Its transactions are
// numbered as in the history.
type index struct {
	h *history.History
	// counted are the committed transactions, and those of unknown outcome that a counted one read from.
	// pulled has that read for the latter.
	counted []bool
	pulled  map[int32]int32
	// before is, by transaction, the committed one before it in its session, or none.
	before []int32

	// The reads of transaction t are readsFrom[t] to readsFrom[t+1].
	readsFrom []int32
	reads     []read

	// Chains are the sessions, and each counted transaction of unknown outcome alone. Places start at 1.
	chains       int
	chain, place []int32
	// The writers of key k, by chain and place, are writers[keyFrom[k]:keyFrom[k+1]]. Those of one chain
	// are a segment. The segments of k are segments[segmentFrom[k]:segmentFrom[k+1]].
	keyFrom, segmentFrom []int32
	writers              []int32
	segments             []segment
}

// read is a read of a key from another transaction, or from the initial state: none.
type read struct {
	txn, source int32
	op          int32 // index in the transaction
	key         history.Key
}

// segment is the writers of a key on one chain, as a range of writers.
type segment struct{ chain, from, to int32 }

// mostClocks bounds the size of the clocks, in numbers of four bytes.
const mostClocks = 1 << 27

const pollEvery = 1 << 12

func refuse(format string, args ...any) error {
	return &engine.Refusal{Engine: Name, Reason: fmt.Sprintf(format, args...)}
}

func newIndex(ctx context.Context, h *history.History) (*index, error) {
	if h.Scans != nil && h.Scans.Judged > 0 {
		return nil, refuse("the history has statements with conditions")
	}
	x := &index{h: h, counted: make([]bool, len(h.Txns)), pulled: map[int32]int32{}, before: make([]int32, len(h.Txns))}
	x.sessions()
	if err := x.findReads(ctx); err != nil {
		return nil, err
	}
	x.makeChains()
	if size := len(h.Txns) * x.chains; size > mostClocks {
		return nil, refuse("%d transactions of %d sessions need too much memory", len(h.Txns), x.chains)
	}
	x.listWriters()
	return x, nil
}

func (x *index) sessions() {
	last := make([]int32, x.h.SessionCount())
	for s := range last {
		last[s] = none
	}
	for i := range x.h.Txns {
		t := &x.h.Txns[i]
		x.before[i] = last[t.Session]
		if t.Status == history.Committed {
			x.counted[i] = true
			last[t.Session] = int32(i)
		}
	}
}

// finals calls f for the final write of t to each key. latest is scratch, by key, and must hold nothing
// above t.
func (x *index) finals(t int32, latest []int32, f func(history.Op)) {
	ops := x.h.Ops(&x.h.Txns[t])
	for j := len(ops) - 1; j >= 0; j-- {
		if op := ops[j]; op.Kind == history.Write && latest[op.Key] != t+1 {
			latest[op.Key] = t + 1
			f(op)
		}
	}
}

// findReads finds the sources of the reads, and the transactions of unknown outcome that count.
func (x *index) findReads(ctx context.Context) error {
	h := x.h
	table := values.New(h)
	writer := make([]int32, h.KeyCount()) // by version
	for k := range writer {
		writer[k] = none
	}
	again := map[int32]bool{} // versions with a value that was written again
	latest := make([]int32, h.KeyCount())
	for i := range h.Txns {
		if i%pollEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if h.Txns[i].Status == history.Aborted {
			continue
		}
		x.finals(int32(i), latest, func(op history.Op) {
			v := int32(len(writer))
			writer = append(writer, int32(i))
			if old := table.Insert(op.Key, op.Value, v); old != values.None {
				again[old] = true
			}
		})
	}
	clear(latest)
	x.readsFrom = make([]int32, len(h.Txns)+1)
	refused := make(map[int32]error) // by transaction of unknown outcome
	for i := range h.Txns {
		if i%pollEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x.readsFrom[i] = int32(len(x.reads))
		if h.Txns[i].Status == history.Aborted {
			continue
		}
		for j, op := range h.Ops(&h.Txns[i]) {
			if latest[op.Key] == int32(i)+1 {
				continue // causal consistency says that it agrees with the one before
			}
			if op.Kind != history.ReadNot {
				latest[op.Key] = int32(i) + 1
			}
			if op.Kind == history.Write {
				continue
			}
			v := table.Find(op.Key, op.Value)
			var err error
			switch {
			case op.Kind == history.ReadNot:
				err = refuse("transaction %d has a read of %s that returned no value", h.Txns[i].ID, h.KeyName(op.Key))
			case v == values.None || writer[v] == int32(i):
				err = refuse("what transaction %d read of %s has no known writer", h.Txns[i].ID, h.KeyName(op.Key))
			case again[v]:
				err = refuse("several versions explain what transaction %d read of %s", h.Txns[i].ID, h.KeyName(op.Key))
			default:
				x.reads = append(x.reads, read{int32(i), writer[v], int32(j), op.Key})
			}
			if err != nil && x.counted[i] {
				return err
			} else if err != nil {
				refused[int32(i)] = err
			}
		}
	}
	x.readsFrom[len(h.Txns)] = int32(len(x.reads))
	var work []int32
	for i, in := range x.counted {
		if in {
			work = append(work, int32(i))
		}
	}
	for len(work) > 0 {
		t := work[len(work)-1]
		work = work[:len(work)-1]
		if err := refused[t]; err != nil {
			return err
		}
		for r := x.readsFrom[t]; r < x.readsFrom[t+1]; r++ {
			if w := x.reads[r].source; w != none && !x.counted[w] {
				x.counted[w], x.pulled[w] = true, r
				work = append(work, w)
			}
		}
	}
	return nil
}

func (x *index) makeChains() {
	x.chains = x.h.SessionCount()
	x.chain, x.place = make([]int32, len(x.counted)), make([]int32, len(x.counted))
	for i, in := range x.counted {
		switch b := x.before[i]; {
		case !in:
		case x.h.Txns[i].Status != history.Committed:
			x.chain[i], x.place[i] = int32(x.chains), 1
			x.chains++
		case b == none:
			x.chain[i], x.place[i] = x.h.Txns[i].Session, 1
		default:
			x.chain[i], x.place[i] = x.chain[b], x.place[b]+1
		}
	}
}

func (x *index) listWriters() {
	keys := x.h.KeyCount()
	latest := make([]int32, keys)
	byChain := make([][]int32, x.chains)
	x.keyFrom, x.segmentFrom = make([]int32, keys+1), make([]int32, keys+1)
	for i, in := range x.counted {
		if in {
			byChain[x.chain[i]] = append(byChain[x.chain[i]], int32(i))
			x.finals(int32(i), latest, func(op history.Op) { x.keyFrom[op.Key+1]++ })
		}
	}
	for k := range keys {
		x.keyFrom[k+1] += x.keyFrom[k]
	}
	x.writers = make([]int32, x.keyFrom[keys])
	next := append([]int32(nil), x.keyFrom[:keys]...)
	clear(latest)
	for _, txns := range byChain {
		for _, t := range txns {
			x.finals(t, latest, func(op history.Op) {
				x.writers[next[op.Key]] = t
				next[op.Key]++
			})
		}
	}
	for k := range keys {
		for i := x.keyFrom[k]; i < x.keyFrom[k+1]; i++ {
			on := x.chain[x.writers[i]]
			if n := len(x.segments); n == int(x.segmentFrom[k]) || x.segments[n-1].chain != on {
				x.segments = append(x.segments, segment{on, i, i})
			}
			x.segments[len(x.segments)-1].to++
		}
		x.segmentFrom[k+1] = int32(len(x.segments))
	}
}

func (x *index) writersOf(k history.Key) []int32 { return x.writers[x.keyFrom[k]:x.keyFrom[k+1]] }

// eachLast calls f, for each chain, with the last writer of k in a clock.
func (x *index) eachLast(k history.Key, clock []int32, f func(u int32)) {
	for _, s := range x.segments[x.segmentFrom[k]:x.segmentFrom[k+1]] {
		limit := clock[s.chain]
		if limit == 0 {
			continue
		}
		list := x.writers[s.from:s.to]
		n := len(list)
		if x.place[list[n-1]] > limit {
			n = sort.Search(n, func(i int) bool { return x.place[list[i]] > limit })
		}
		if n > 0 {
			f(list[n-1])
		}
	}
}
