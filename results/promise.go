package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
)

// Weigh records in an outcome of the run whether its level is promised. A violation that rests on the order that the
// database claims need not break a promise, since the claim can be wrong. Nor need one after commits were lost.
func (c *Config) Weigh(o *Outcome) {
	o.Promised = nil
	if !o.rests() {
		o.Promised = c.promised(o.Level)
	}
}

// promised reports whether a level, by its name, follows from what the isolation promises. It is nil
// if that is not known: runs of earlier versions have no promise of weak levels, and where a kill loses commits a violation
// may come from that.
func (c *Config) promised(name string) *bool {
	if c.Loses != "" {
		return nil
	}
	l, err := level.Parse(name)
	all, lerr := level.ParseList(c.Promises)
	if err != nil || lerr != nil {
		return nil
	}
	promised := slices.ContainsFunc(all, func(p level.Level) bool {
		// Linearizability is only promised for lightweight transactions. It is local: if each key is
		// linearizable, so are all together, which is strict serializability of single operations (Herlihy
		// and Wing, TOPLAS 1990, Theorem 1).
		return p.Implies(l) || p == level.LIN && level.SSER.Implies(l)
	})
	return &promised
}

// BrokenPromises are outcomes at promised levels at which nobody asked for a verdict, and that a violation at another level shows to be
// violated: who checks a stronger level than the promised one must not miss that the promise is broken, too. There are none if all
// else says so already.
func (c *Config) BrokenPromises(all []Outcome) (more []Outcome) {
	promises, err := level.ParseList(c.Promises)
	broken := func(o Outcome) bool { return o.Verdict == verdict.Violated && !not(o.Promised) }
	if err != nil || slices.ContainsFunc(all, broken) {
		return nil
	}
	for _, p := range promises {
		for n := range all {
			o := &all[n]
			if p == level.LIN || o.Standing == nil || o.Verdict != verdict.Violated || !refutes(o.Standing, p) ||
				slices.ContainsFunc(all, func(o Outcome) bool { return o.Level == p.String() }) {
				continue
			}
			x := *o
			x.Level, x.Engine, x.FollowsFrom, x.Anomalies = p.String(), "", "", []Anomaly{}
			x.Claim, x.Snapshots, x.Notes = nil, nil, nil
			x.Reason = fmt.Sprintf("not asked for; shown by the violation at %s", o.Level)
			x.Stages, x.ParseSeconds, x.CheckSeconds, x.ExplainSeconds = map[string]float64{}, 0, 0, 0
			if o.Windows != nil {
				x.Windows = nil
				x.Reason = fmt.Sprintf("not asked for; shown by window %d, which is violated at %s", o.Windows.refuted[p], o.Level)
			}
			for _, a := range o.Anomalies {
				if a.Counterexample != nil && refutes(a.Counterexample.Standing, p) {
					x.Anomalies = append(x.Anomalies, a)
				}
			}
			x.Certified = o.Certified && len(x.Anomalies) > 0
			c.Weigh(&x)
			more = append(more, x)
			break
		}
	}
	return more
}

// refutes reports whether a standing says that a level is violated.
func refutes(s *Standing, l level.Level) bool {
	return slices.Contains(s.Not, l.String()) || slices.Contains(s.AlsoNot, l.String())
}

// protects reports whether the isolation promises a serial level, nil if that is not known. Only such
// a promise protects the invariants of a workload.
func (c *Config) protects() *bool { return c.promised(level.SERNoSO.String()) }

func not(promised *bool) bool { return promised != nil && !*promised }

// Words is the verdict. Of a violation it also says whether it breaks a promise, if that is known.
func (o *Outcome) Words() string {
	switch {
	case o.rests() && o.Assumes.OnSnapshots:
		return snapshotWords
	case o.rests():
		return restingWords
	}
	return words(o.Verdict.String(), o.Promised)
}

const (
	restingWords  = "violated, if the claimed order is true"
	snapshotWords = "violated, if the claimed snapshots are true"
)

// rests says that a violation is proved only if the order that the database claims is true.
func (o *Outcome) rests() bool {
	return o.Verdict == verdict.Violated && o.Assumes != nil && o.Assumes.Rests
}

func words(v string, promised *bool) string {
	switch {
	case v != verdict.Violated.String() || promised == nil:
		return v
	case *promised:
		return v + ": breaks the promise"
	}
	return v + ", not promised"
}

// Words is the run's worst verdict. A violation of what is promised is worse than another.
func (r *Run) Words() string {
	v := worst(r)
	switch {
	case v == verdict.Satisfied && r.Config.Early() != "":
		return v.String() + ", but the run ended early"
	case v != verdict.Violated:
		return v.String()
	}
	var kinds []*bool
	if len(r.Broken()) > 0 {
		kinds = append(kinds, r.Config.protects())
	}
	for _, o := range r.Outcomes {
		if o.Verdict == verdict.Violated {
			kinds = append(kinds, o.Promised)
		}
	}
	worst := kinds[0]
	for _, k := range kinds {
		if !not(k) {
			worst = k
		}
	}
	return words(v.String(), worst)
}

// Promise says in words what the isolation promises, and whether the violations break that. It is
// empty if nothing is known of a promise.
func (r *Run) Promise() string {
	c := &r.Config
	if c.Promises == "" {
		return ""
	}
	text := fmt.Sprintf("%s promises %s", Capital(c.Isolation), titles(strings.Split(c.Promises, ",")))
	if c.PromisedBy != "" {
		text += " (" + c.PromisedBy + ")"
	}
	text += "."
	switch {
	case c.Loses != "" && c.Away:
		text += fmt.Sprintf(" The server could not be reached for a time. If it crashed, it may have lost commits, as documented, since %s. So a violation need not be a bug.", c.Loses)
	case c.Loses != "":
		text += fmt.Sprintf(" The run kills the server, which may then lose commits, as documented, since %s. So a violation need not be a bug.", c.Loses)
	}
	var broken, more []string
	for _, o := range r.Outcomes {
		if o.Verdict != verdict.Violated || o.Promised == nil {
			continue
		}
		if *o.Promised {
			broken = append(broken, title(o.Level))
		} else {
			more = append(more, title(o.Level))
		}
	}
	if p := c.protects(); len(r.Broken()) > 0 && p != nil && *p && len(broken) == 0 {
		broken = append(broken, title(level.SERNoSO.String()))
	}
	is := func(list []string) string {
		if len(list) == 1 {
			return "is"
		}
		return "are"
	}
	if len(broken) > 0 {
		text += fmt.Sprintf(" So %s %s promised, and a violation is a bug to report.", and(broken), is(broken))
	}
	if len(more) > 0 {
		text += fmt.Sprintf(" %s %s not promised: a violation is documented behaviour.", Capital(and(more)), is(more))
	}
	return text
}

// InvariantWords says in what state an invariant was after the run.
func (c *Config) InvariantWords(i generator.InvariantResult) string {
	switch {
	case i.Error != "":
		return "could not be checked: " + i.Error
	case i.Problem == "":
		return "holds"
	case not(c.protects()):
		return "does not hold, and is not promised, since no serial level is: " + i.Problem
	}
	return "does not hold: " + i.Problem
}
