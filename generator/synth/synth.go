// Package synth makes histories without a database, by simulating one. They are valid by
// construction, of any size, and the same for the same seed. They are used in benchmarks and
// tests of checkers.
package synth

import (
	"math/rand/v2"
	"strconv"

	"github.com/isohound/isohound/generator/shapes"
	"github.com/isohound/isohound/history"
)

// MiniConfig describes a history of mini-transactions.
type MiniConfig struct {
	Sessions int
	Txns     int // in all
	Keys     int
	Seed     uint64
	// Snapshot simulates snapshot isolation with first committer wins, which aborts some
	// transactions and allows write skew. Otherwise transactions take effect one by one, each
	// within its interval (strict serializability).
	Snapshot bool
}

// Mini simulates sessions that run mini-transactions of all shapes on keys drawn uniformly.
// Values are unique; keys begin at 0. The transactions are in the order of their ends, like a
// recorder would write them.
func Mini(cfg MiniConfig) *history.History {
	s := &store{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 1)), shapes: shapes.All(), sym: history.NewSymbols()}
	s.sym.DefaultInitial = s.sym.Int(0)
	for k := range cfg.Keys {
		s.keys = append(s.keys, s.sym.Key("k"+strconv.Itoa(k)))
	}
	s.state = make([]history.Value, cfg.Keys)
	s.writtenAt = make([]int64, cfg.Keys)
	s.written = make([]int64, cfg.Sessions)

	hdr := history.Header{Workload: "synthetic mini", Seed: int64(cfg.Seed), Clock: "simulated ns"}
	b := history.NewBuilder(hdr, s.sym, cfg.Txns)
	sessions := make([]session, cfg.Sessions)
	for w := range sessions {
		sessions[w].rec.Begin = s.rng.Int64N(1000)
		sessions[w].due = sessions[w].rec.Begin + s.pause()
	}
	now := int64(0)
	for started, finished := 0, 0; finished < cfg.Txns; {
		w := earliest(sessions)
		a := &sessions[w]
		now = max(now+1, a.due) // no two moments are the same
		switch a.phase {
		case toRead:
			if started == cfg.Txns {
				a.due = never
				continue
			}
			started++
			a.rec.ID, a.rec.Session, a.readAt = int64(started), int64(w), now
			s.execute(a)
			if !cfg.Snapshot {
				s.apply(a.rec.Ops, now)
			}
			a.rec.Status = history.Committed
		case toCommit:
			if cfg.Snapshot && !s.commit(a, now) {
				a.rec.Status = history.Aborted
			}
		case toEnd:
			a.rec.End, a.rec.Due = now, history.NoTime
			if err := b.Add(&a.rec); err != nil {
				panic(err) // the simulation keeps sessions sequential
			}
			finished++
			a.rec.Begin = now + 1
		}
		a.phase = (a.phase + 1) % phases
		a.due = now + 1 + s.pause()
	}
	return b.Done(true, nil)
}

// The phases of a simulated transaction: it begins when the previous one of its session has
// ended, then reads, then commits, and then its client receives the answer.
const (
	toRead = iota
	toCommit
	toEnd
	phases
)

const never = int64(1) << 62

type session struct {
	rec    history.Record
	phase  int
	due    int64 // when the next phase happens
	readAt int64
}

func earliest(sessions []session) int {
	w := 0
	for v := range sessions {
		if sessions[v].due < sessions[w].due {
			w = v
		}
	}
	return w
}

// store is the simulated database.
type store struct {
	cfg       MiniConfig
	rng       *rand.Rand
	shapes    []shapes.Shape
	sym       *history.Symbols
	keys      []history.Key
	state     []history.Value // by key
	writtenAt []int64         // by key
	written   []int64         // by session, for unique values
}

func (s *store) pause() int64 { return 1 + s.rng.Int64N(1000) }

// execute runs a random mini-transaction on the current state.
func (s *store) execute(a *session) {
	shape := s.shapes[s.rng.IntN(len(s.shapes))]
	first := s.rng.IntN(len(s.keys))
	second := first
	if len(s.keys) > 1 {
		second = (first + 1 + s.rng.IntN(len(s.keys)-1)) % len(s.keys)
	}
	keys := [2]history.Key{s.keys[first], s.keys[second]}
	a.rec.Ops = a.rec.Ops[:0]
	for _, step := range shape.Steps {
		op := history.Op{Kind: history.Read, Key: keys[step.Slot], Value: s.state[keys[step.Slot]]}
		for _, own := range a.rec.Ops {
			if own.Kind == history.Write && own.Key == op.Key {
				op.Value = own.Value
			}
		}
		if step.Write {
			n := &s.written[a.rec.Session]
			*n++
			op.Kind, op.Value = history.Write, history.Value(*n*int64(s.cfg.Sessions)+a.rec.Session)
		}
		a.rec.Ops = append(a.rec.Ops, op)
	}
}

// commit applies the writes unless a key was written since the reads.
func (s *store) commit(a *session, now int64) bool {
	for _, op := range a.rec.Ops {
		if op.Kind == history.Write && s.writtenAt[op.Key] > a.readAt {
			return false
		}
	}
	s.apply(a.rec.Ops, now)
	return true
}

func (s *store) apply(ops []history.Op, now int64) {
	for _, op := range ops {
		if op.Kind == history.Write {
			s.state[op.Key] = op.Value
			s.writtenAt[op.Key] = now
		}
	}
}
