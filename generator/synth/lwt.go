package synth

import (
	"math/rand/v2"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// LWTConfig describes a history of lightweight transactions, after section V-A2
// of the MTC paper.
type LWTConfig struct {
	Sessions       int
	TxnsPerSession int
	Keys           int
	// Concurrent is the number of sessions that run at the same time; the others wait. It is
	// between 1 and Sessions. The paper gives it as a percentage.
	Concurrent int
	// Failures is the percentage of operations that are plain reads or failed
	// compare-and-sets and insertions: a third each of reads, failures that
	// return the value and failures that return nothing.
	Failures int
	Seed     uint64
}

// LWT makes a linearizable history: an insertion for each key, then compare-and-sets, each of
// the previous value. Rounds of Concurrent sessions run at the same time, with overlapping
// intervals.
func LWT(cfg LWTConfig) *history.History {
	h, err := newLWTStore(cfg, None).run()
	if err != nil {
		panic(err) // only a defect can lack an opportunity
	}
	return h
}

// DefectiveLWT makes a history like LWT's in which the simulated database misbehaves once: in
// its second quarter, or later if there is no opportunity in that quarter. It is not
// linearizable. The error says that the history is too short for an opportunity.
func DefectiveLWT(cfg LWTConfig, d Defect) (*history.History, error) {
	return newLWTStore(cfg, d).run()
}

// lwtStore is the simulated database.
type lwtStore struct {
	cfg   LWTConfig
	rng   *rand.Rand
	keys  []lwtKey
	value history.Value // the last one written
	round int64

	defect Defect
	from   int // the first transaction that may be defective
	done   bool
	next   *scheduled
	// rest is a key that must not change in this round, or -1.
	rest int
}

// lwtKey is the state of a key: its value, the previous value, and the round in which it
// changed.
type lwtKey struct {
	state, previous history.Value
	changed         int64
}

// scheduled are operations that must follow a defect to make it visible.
type scheduled struct {
	newRound bool // they wait for the first place of a round
	ops      func() []history.Op
}

func newLWTStore(cfg LWTConfig, d Defect) *lwtStore {
	s := &lwtStore{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 2)), keys: make([]lwtKey, cfg.Keys), defect: d, done: d == None, rest: -1}
	for k := range s.keys {
		s.keys[k] = lwtKey{state: history.Absent, changed: -1}
	}
	if total := cfg.Sessions * cfg.TxnsPerSession; d != None {
		s.from = total/4 + s.rng.IntN(total/4+1)
	}
	return s
}

// place is the position of a transaction: its number, and whether it is the first or the last of
// its round.
type place struct {
	n           int
	first, last bool
}

func (s *lwtStore) run() (*history.History, error) {
	cfg, sym := s.cfg, history.NewSymbols()
	for k := range s.keys {
		sym.Key("k" + strconv.Itoa(k))
	}
	total := cfg.Sessions * cfg.TxnsPerSession
	hdr := history.Header{Workload: "synthetic lwt", Seed: int64(cfg.Seed), Clock: "simulated ns"}
	if s.defect != None {
		hdr.Params = map[string]string{"defect": string(s.defect)}
	}
	b := history.NewBuilder(hdr, sym, total)
	rec := history.Record{Due: history.NoTime}
	// All intervals of a round share a moment, at which the operations take effect in the order
	// in which they are generated.
	const round = 1000
	for n, base := 0, int64(0); n < total; base += 2 * round {
		for c := 0; c < cfg.Concurrent && n < total; c++ {
			rec.ID = int64(n)
			rec.Session = int64(n % cfg.Sessions)
			rec.Begin = base + s.rng.Int64N(round)
			rec.End = base + round + s.rng.Int64N(round)
			rec.Status = history.Committed
			p := place{n: n, first: c == 0, last: c == cfg.Concurrent-1 || n == total-1}
			rec.Ops = append(rec.Ops[:0], s.txn(p, &rec.Status)...)
			if err := b.Add(&rec); err != nil {
				panic(err) // rounds are apart, so sessions are sequential
			}
			n++
		}
		s.round++
	}
	if !s.done || s.next != nil {
		return nil, errors.Errorf("%d transactions are too few for the defect %s to have an occasion", total, s.defect)
	}
	return b.Done(true, nil), nil
}

// txn executes one transaction at a place.
func (s *lwtStore) txn(p place, status *history.Status) []history.Op {
	if f := s.next; f != nil && (p.first || !f.newRound) {
		s.next = nil
		return f.ops()
	}
	if !s.done && p.n >= s.from {
		if ops := s.misbehave(p, status); ops != nil {
			s.done = true
			return ops
		}
	}
	k := s.rng.IntN(len(s.keys))
	if k == s.rest {
		return []history.Op{{Kind: history.Read, Key: history.Key(k), Value: s.keys[k].state}}
	}
	if s.rng.IntN(100) < s.cfg.Failures && s.keys[k].state != history.Absent {
		if s.rng.IntN(3) == 0 {
			return []history.Op{{Kind: history.ReadNot, Key: history.Key(k), Value: s.other(k)}}
		}
		return []history.Op{{Kind: history.Read, Key: history.Key(k), Value: s.keys[k].state}}
	}
	return s.set(k, s.fresh())
}

func (s *lwtStore) fresh() history.Value {
	s.value++
	return s.value
}

// never returns a value that nobody writes.
func (s *lwtStore) never() history.Value {
	return history.Value(s.cfg.Sessions*s.cfg.TxnsPerSession) + s.value + 1
}

// other returns the expected value of a failing statement: the previous value, absence, or a
// value that nobody writes.
func (s *lwtStore) other(k int) history.Value {
	switch s.rng.IntN(3) {
	case 0:
		return s.keys[k].previous
	case 1:
		return history.Absent
	}
	return s.never()
}

// set is an applied insertion or compare-and-set.
func (s *lwtStore) set(k int, v history.Value) []history.Op {
	old := s.keys[k].state
	s.keys[k] = lwtKey{v, old, s.round}
	if old == history.Absent {
		return []history.Op{{Kind: history.Write, Key: history.Key(k), Value: v}}
	}
	return compareAndSet(k, old, v)
}

func compareAndSet(k int, old, v history.Value) []history.Op {
	return []history.Op{{Kind: history.Read, Key: history.Key(k), Value: old}, {Kind: history.Write, Key: history.Key(k), Value: v}}
}
