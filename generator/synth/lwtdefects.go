package synth

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Defect is one error of a simulated database.
type Defect string

// The defects of histories of lightweight transactions. Each makes any history not linearizable.
const (
	None         Defect = "none"
	StaleRead    Defect = "stale-read"
	LostUpdate   Defect = "lost-update"
	ThinAirRead  Defect = "thin-air-read"
	AbortedRead  Defect = "aborted-read"
	DoubleInsert Defect = "double-insert"
	Inversion    Defect = "inversion"
	FalseFailure Defect = "false-failure"
)

// LWTDefects lists the defects of lightweight transactions with their descriptions.
var LWTDefects = []struct {
	Name Defect
	Help string
}{
	{StaleRead, "a read returns a value that was overwritten before the read began"},
	{LostUpdate, "two compare-and-sets from one value are applied"},
	{ThinAirRead, "a compare-and-set from a value that nobody wrote is applied"},
	{AbortedRead, "the value of a compare-and-set that was told to be aborted is read"},
	{DoubleInsert, "two insertions of one key are applied"},
	{Inversion, "a compare-and-set ends before the one begins that wrote what it read"},
	{FalseFailure, "a compare-and-set fails although the key held what it expected all the time"},
}

// ParseDefect checks the name of a defect; "none" and "" are None.
func ParseDefect(name string) (Defect, error) {
	if name == "" || Defect(name) == None {
		return None, nil
	}
	names := []string{string(None)}
	for _, d := range LWTDefects {
		if Defect(name) == d.Name {
			return d.Name, nil
		}
		names = append(names, string(d.Name))
	}
	return None, errors.Errorf("unknown defect %q; known are %s", name, strings.Join(names, ", "))
}

// misbehave executes a defective transaction on a key that allows the defect. It returns nil if
// there is none.
func (s *lwtStore) misbehave(p place, status *history.Status) []history.Op {
	start := s.rng.IntN(len(s.keys))
	for i := range s.keys {
		k := (start + i) % len(s.keys)
		if s.keys[k].state == history.Absent {
			continue
		}
		if ops := s.wrong(k, p, status); ops != nil {
			return ops
		}
	}
	return nil
}

func (s *lwtStore) wrong(k int, p place, status *history.Status) []history.Op {
	key, id := s.keys[k], history.Key(k)
	// settled: the writer of the value had ended before this round began.
	settled := key.changed < s.round
	total := s.cfg.Sessions * s.cfg.TxnsPerSession
	switch s.defect {
	case StaleRead:
		if settled {
			return []history.Op{{Kind: history.Read, Key: id, Value: key.previous}}
		}
	case LostUpdate:
		if key.previous != history.Absent {
			return compareAndSet(k, key.previous, s.visibleOrNot(k))
		}
	case ThinAirRead:
		old := s.never()
		return compareAndSet(k, old, s.visibleOrNot(k))
	case AbortedRead:
		if p.n+1 < total {
			*status = history.Aborted
			ops := s.set(k, s.fresh())
			s.next = &scheduled{ops: func() []history.Op { return s.set(k, s.fresh()) }}
			return ops
		}
	case DoubleInsert:
		return []history.Op{{Kind: history.Write, Key: id, Value: s.visibleOrNot(k)}}
	case Inversion:
		if p.n/s.cfg.Concurrent < (total-1)/s.cfg.Concurrent { // a round follows
			first, second := s.fresh(), s.fresh()
			s.next = &scheduled{newRound: true, ops: func() []history.Op {
				ops := s.set(k, first)
				s.keys[k].state, s.keys[k].previous = second, first
				return ops
			}}
			return compareAndSet(k, first, second)
		}
	case FalseFailure:
		// No other transaction of the round may change the key, since the failure could then be
		// ordered after that change. So the failure comes last in the round, and the key is not
		// changed in the whole round.
		if p.first {
			s.rest = k
		}
		if p.last && s.rest == k {
			s.rest = -1
			return []history.Op{{Kind: history.ReadNot, Key: id, Value: key.state}}
		}
	}
	return nil
}

// visibleOrNot returns a fresh value. At random, later transactions find it in the key or not.
func (s *lwtStore) visibleOrNot(k int) history.Value {
	v := s.fresh()
	if s.rng.IntN(2) == 0 {
		s.keys[k] = lwtKey{v, s.keys[k].state, s.round}
	}
	return v
}
