package checker

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Standing says where a history stands among the levels that this build checks.
// Each level in it was judged, or follows from one that was by the order of the
// levels.
type Standing struct {
	// Not are the weakest levels that the history violates, AlsoNot the others,
	// which are all stronger.
	Not, AlsoNot []level.Level
	// Holds are the strongest levels that it satisfies.
	Holds []level.Level
	// Undecided are the levels that time, memory or the history itself left open.
	Undecided []level.Level
}

// Known are verdicts on one history.
type Known map[level.Level]verdict.Verdict

// Standing sums up what is known. Levels of which nothing is known are left out.
func (k Known) Standing() Standing {
	var no, yes, open []level.Level
	for _, l := range level.All() {
		switch v, asked := k.of(l); {
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

// of returns what is known of a level, by itself or by the order of the levels.
func (k Known) of(l level.Level) (v verdict.Verdict, known bool) {
	for other, v := range k {
		switch {
		case v == verdict.Violated && l.Implies(other), v == verdict.Satisfied && other.Implies(l):
			return v, true
		}
	}
	v, known = k[l]
	return v, known
}

// Judge adds to k the verdicts on h that are needed to know all its levels, as
// check gives them. A level with real time is passed over where the history has
// no times, and linearizability, which is about transactions of another kind,
// always. The levels of first come first; then strong ones, since one that holds
// settles all below it. A level that check fails on is undecided, but for a
// *ProofError, which is returned.
func (k Known) Judge(h *history.History, first []level.Level, check func(level.Level) (*verdict.Result, error)) error {
	timed := h.Timed()
	for _, l := range append(slices.Clone(first), downwards()...) {
		if _, known := k.of(l); known || l == level.LIN || l.RealTime() && !timed {
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

// downwards lists the levels so that none stands behind one that it implies.
func downwards() []level.Level {
	var out []level.Level
	for rest := level.All(); len(rest) > 0; {
		top := level.Strongest(rest)
		out = append(out, top...)
		rest = slices.DeleteFunc(rest, func(l level.Level) bool { return slices.Contains(top, l) })
	}
	return out
}

// String says it in one line: "not ser, even without session order; si still
// holds". What AlsoNot has goes without saying.
func (s Standing) String() string {
	var parts []string
	if len(s.Not) > 0 {
		var not []string
		for _, l := range s.Not {
			if ordered, ok := l.WithSessionOrder(); ok {
				not = append(not, "not "+ordered.String()+", even without session order")
			} else {
				not = append(not, "not "+l.String())
			}
		}
		parts = append(parts, strings.Join(not, " and "))
	}
	switch len(s.Holds) {
	case 0:
		if len(s.Undecided) == 0 && len(s.AlsoNot) > 0 {
			parts[0] += ", nor any level above"
		}
	case 1:
		parts = append(parts, s.Holds[0].String()+" still holds")
	default:
		parts = append(parts, join(s.Holds, " and ")+" still hold")
	}
	if len(s.Undecided) > 0 {
		parts = append(parts, join(s.Undecided, " and ")+" undecided")
	}
	return strings.Join(parts, "; ")
}

func join(list []level.Level, with string) string {
	return strings.Join(Names(list), with)
}

// Names returns the names of levels.
func Names(list []level.Level) []string {
	names := make([]string, 0, len(list))
	for _, l := range list {
		names = append(names, l.String())
	}
	return names
}
