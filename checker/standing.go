package checker

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Standing has the levels that a history violates and satisfies. Each level in it was judged, or
// follows from one that was.
type Standing struct {
	// Not are the weakest levels that the history violates. AlsoNot are the others, which are all
	// stronger.
	Not, AlsoNot []level.Level
	// Holds are the strongest levels that it satisfies.
	Holds []level.Level
	// Undecided are the levels that time, memory or the history itself left open.
	Undecided []level.Level
}

// Known are verdicts on one history.
type Known map[level.Level]verdict.Verdict

// Standing summarizes what is known of h. Levels about which nothing is known are left out.
func (k Known) Standing(h *history.History) Standing {
	var no, yes, open []level.Level
	for _, l := range level.All() {
		switch v, asked := k.of(h, l); {
		case v == verdict.Violated:
			no = append(no, l)
		case v == verdict.Satisfied:
			yes = append(yes, l)
		case asked:
			open = append(open, l)
		}
	}
	s := Standing{Not: level.Weakest(no), Holds: level.Strongest(yes), Undecided: open}
	for _, l := range no {
		if !slices.Contains(s.Not, l) {
			s.AlsoNot = append(s.AlsoNot, l)
		}
	}
	return s
}

// of returns the verdict on a level: its own, or one that follows from that of another level.
func (k Known) of(h *history.History, l level.Level) (v verdict.Verdict, known bool) {
	for other, v := range k {
		switch {
		case v == verdict.Violated && engine.Implies(h, l, other), v == verdict.Satisfied && engine.Implies(h, other, l):
			return v, true
		}
	}
	v, known = k[l]
	return v, known
}

// Holds reports whether h is known to satisfy a level.
func (k Known) Holds(h *history.History, l level.Level) bool {
	v, _ := k.of(h, l)
	return v == verdict.Satisfied
}

// Violated lists the levels that h is known to violate.
func (k Known) Violated(h *history.History) []level.Level {
	return slices.DeleteFunc(level.All(), func(l level.Level) bool {
		v, _ := k.of(h, l)
		return v != verdict.Violated
	})
}

// Judge judges h with check until the verdicts on all levels are known, and adds the verdicts to k.
// It leaves out levels with real time if the history has no times, levels that no engine judges, and
// always linearizability, which is about other transactions. The levels of first come first, then the strongest, because a
// satisfied level decides all weaker ones. If check fails, the level is undecided, except that a
// *ProofError is returned.
func (k Known) Judge(h *history.History, first []level.Level, check func(level.Level) (*verdict.Result, error)) error {
	timed := h.Timed()
	for _, l := range append(slices.Clone(first), level.Descending(level.All())...) {
		if _, known := k.of(h, l); known || l == level.LIN || l.RealTime() && !timed || !judged(l) || h.OrderAssumed() && !engine.CanAssume(l) {
			continue
		}
		r, err := check(l)
		var proof *ProofError
		switch {
		case errors.As(err, &proof):
			return err
		case err != nil:
			k[l] = verdict.Unknown
		default:
			k[l] = r.Verdict
		}
	}
	return nil
}

// Learn adds the verdicts of a standing of the same history.
func (k Known) Learn(s Standing) {
	for _, l := range slices.Concat(s.Not, s.AlsoNot) {
		k[l] = verdict.Violated
	}
	for _, l := range s.Holds {
		k[l] = verdict.Satisfied
	}
}

// String returns the standing in one line, such as "violates ser-noso, and so every stronger level;
// satisfies si".
func (s Standing) String() string {
	var parts []string
	if len(s.Not) > 0 {
		text := "violates " + join(s.Not)
		switch {
		case len(s.AlsoNot) == 0:
		case slices.ContainsFunc(slices.Concat(s.Holds, s.Undecided), func(l level.Level) bool { // where claimed snapshots are assumed
			return slices.ContainsFunc(s.Not, l.Implies)
		}):
			text = "violates " + join(slices.Concat(s.Not, s.AlsoNot))
		default:
			text += ", and so every stronger level"
		}
		parts = append(parts, text)
	}
	if len(s.Holds) > 0 {
		parts = append(parts, "satisfies "+join(s.Holds))
	}
	switch len(s.Undecided) {
	case 0:
	case 1:
		parts = append(parts, s.Undecided[0].String()+" is undecided")
	default:
		parts = append(parts, join(s.Undecided)+" are undecided")
	}
	return strings.Join(parts, "; ")
}

// join names levels: "a", "a and b", "a, b and c".
func join(list []level.Level) string {
	names := Names(list)
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// Names returns the names of levels.
func Names(list []level.Level) []string {
	names := make([]string, 0, len(list))
	for _, l := range list {
		names = append(names, l.String())
	}
	return names
}
