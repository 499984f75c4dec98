package synth

import (
	"math/rand/v2"
	"strconv"

	"github.com/isohound/isohound/history"
)

// The histories of this file are hard to check for their size. All are serializable: their
// transactions ran one after another in memory, and are listed in that order, like a recorder
// would write them, but without times. Keys begin at 0, which nobody writes.

// serial executes transactions one after another.
type serial struct {
	rng     *rand.Rand
	sym     *history.Symbols
	keys    []history.Key
	state   []history.Value // by key
	written int64           // unique values so far
	txns    int64
	b       *history.Builder
}

func newSerial(workload string, txns, keys int, seed uint64) *serial {
	s := &serial{rng: rand.New(rand.NewPCG(seed, 3)), sym: history.NewSymbols()}
	s.sym.DefaultInitial = s.sym.Int(0)
	for k := range keys {
		s.keys = append(s.keys, s.sym.Key(strconv.Itoa(k)))
		s.state = append(s.state, s.sym.DefaultInitial)
	}
	s.b = history.NewBuilder(history.Header{Workload: "synthetic " + workload, Seed: int64(seed)}, s.sym, txns)
	return s
}

func (s *serial) read(k int) history.Op {
	return history.Op{Kind: history.Read, Key: s.keys[k], Value: s.state[k]}
}

// write writes one of that many values, or a unique value if values is 0.
func (s *serial) write(k, values int) history.Op {
	s.written++
	v := s.written
	if values > 0 {
		v = s.rng.Int64N(int64(values)) + 1
	}
	s.state[k] = s.sym.Int(v)
	return history.Op{Kind: history.Write, Key: s.keys[k], Value: s.state[k]}
}

// random reads or writes a key that is drawn uniformly.
func (s *serial) random(values int) history.Op {
	if k := s.rng.IntN(len(s.keys)); s.rng.IntN(2) == 0 {
		return s.read(k)
	} else {
		return s.write(k, values)
	}
}

func (s *serial) commit(session int, ops ...history.Op) {
	rec := history.Record{ID: s.txns, Session: int64(session), Status: history.Committed, Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Ops: ops}
	if err := s.b.Add(&rec); err != nil {
		panic(err) // sessions are sequential
	}
	s.txns++
}

// Hot has transactions of ops operations on keys drawn uniformly, half of them reads. They write
// one of that many values, or unique ones if values is 0.
func Hot(sessions, txns, ops, keys, values int, seed uint64) *history.History {
	s := newSerial("hot", txns, keys, seed)
	for range txns {
		list := make([]history.Op, ops)
		for n := range list {
			list[n] = s.random(values)
		}
		s.commit(s.rng.IntN(sessions), list...)
	}
	return s.b.Done(true, nil)
}

// Bulk has one transaction that writes all keys, or reads them, in its own session, half-way
// through the transactions of the other sessions, which are those of Hot.
func Bulk(sessions, txns, keys int, reads bool, seed uint64) *history.History {
	s := newSerial("bulk", txns+1, keys, seed)
	for i := range txns {
		if i == txns/2 {
			all := make([]history.Op, keys)
			for k := range all {
				if reads {
					all[k] = s.read(k)
				} else {
					all[k] = s.write(k, 0)
				}
			}
			s.commit(sessions, all...)
		}
		s.commit(s.rng.IntN(sessions), s.random(0), s.random(0), s.random(0), s.random(0))
	}
	return s.b.Done(true, nil)
}

// Counter has transactions that read one key and write the next value: 1 to modulus, then 1
// again.
func Counter(sessions, txns, modulus int, seed uint64) *history.History {
	s := newSerial("counter", txns, 1, seed)
	for i := range txns {
		before := s.read(0)
		s.state[0] = s.sym.Int(int64(i%modulus) + 1)
		s.commit(s.rng.IntN(sessions), before, history.Op{Kind: history.Write, Key: s.keys[0], Value: s.state[0]})
	}
	return s.b.Done(true, nil)
}
