package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// worst returns the worst verdict, which is the headline of a report.
func worst(r *Run) verdict.Verdict {
	if len(r.Broken()) > 0 {
		return verdict.Violated
	}
	for _, v := range []verdict.Verdict{verdict.Violated, verdict.Unknown, verdict.Vacuous} {
		if slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return o.Verdict == v }) {
			return v
		}
	}
	if len(r.Outcomes) == 0 {
		return verdict.Unknown
	}
	return verdict.Satisfied
}

// sentence summarises the result in words.
func sentence(r *Run) string {
	by := map[string][]string{}
	for _, o := range r.Outcomes {
		by[o.Words()] = append(by[o.Words()], title(o.Level))
	}
	var parts []string
	say := func(words, one, many string) {
		if n := len(by[words]); n == 1 {
			parts = append(parts, fmt.Sprintf(one, by[words][0]))
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf(many, and(by[words])))
		}
	}
	yes, no, violated := true, false, verdict.Violated.String()
	say(words(violated, &yes), "%s is promised and does not hold", "%s are promised and do not hold")
	say(words(violated, nil), "%s does not hold", "%s do not hold")
	say(words(violated, &no), "%s does not hold and is not promised", "%s do not hold and are not promised")
	say(restingWords, "%s does not hold, if the order that the database claims is true", "%s do not hold, if the order that the database claims is true")
	say(snapshotWords, "%s does not hold, if the snapshots that the database claims are true", "%s do not hold, if the snapshots that the database claims are true")
	for _, i := range r.Broken() {
		part := "the invariant " + i.Name + " does not hold"
		if not(r.Config.protects()) {
			part += " and is not promised"
		}
		parts = append(parts, part)
	}
	say(verdict.Unknown.String(), "whether %s holds is not known", "whether %s hold is not known")
	say(verdict.Vacuous.String(), "the run tested next to nothing of %s", "the run tested next to nothing of %s")
	early := r.Config.Early()
	if early == "" {
		say(verdict.Satisfied.String(), "%s holds", "%s hold")
	} else {
		say(verdict.Satisfied.String(), "%s holds in what was recorded", "%s hold in what was recorded")
	}
	if len(r.Outcomes) == 0 {
		parts = append(parts, "this run was recorded and not checked")
	}
	if early != "" {
		parts = append(parts, early)
	}
	return Capital(strings.Join(parts, "; ")) + "."
}

// title returns a level in words.
func title(name string) string {
	if l, err := level.Parse(name); err == nil {
		return l.Title()
	}
	return name
}

// titles returns levels in words.
func titles(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, title(n))
	}
	return and(all)
}

// and joins words with commas and a final "and".
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// finding is an anomaly with all the levels that it violates.
type finding struct {
	Anomaly
	Levels []string
	// part shows the anomaly by itself, or is nil. MinLevel are the levels at which it was judged violated.
	part     *history.History
	whole    *history.History // with all that the transactions did; nil if that is not known
	MinLevel []string
}

func findings(outcomes []Outcome) []finding {
	var out []finding
	at := map[string]int{}
	for _, o := range outcomes {
		for _, a := range o.Anomalies {
			id := a.id()
			n, ok := at[id]
			if !ok {
				n = len(out)
				at[id] = n
				out = append(out, finding{Anomaly: a})
			}
			f := &out[n]
			f.Levels = append(f.Levels, o.Level)
			if c := a.Counterexample; c != nil && c.Sub != nil {
				if f.part == nil {
					f.part, f.whole = c.Sub, c.Whole
				}
				f.MinLevel = append(f.MinLevel, o.Level)
			}
		}
	}
	return out
}

// Repeated removes the anomalies that an earlier outcome of the same history has already. It returns
// a text for each of them.
func (o *Outcome) Repeated(earlier []Outcome) (same []string) {
	var left []Anomaly
	for _, a := range o.Anomalies {
		at := ""
		for _, e := range earlier {
			for _, b := range e.Anomalies {
				if at == "" && e.Path == o.Path && a.id() == b.id() {
					at = e.Level
				}
			}
		}
		if at == "" {
			left = append(left, a)
		} else {
			same = append(same, fmt.Sprintf("%s, the same as at %s", a.Name, at))
		}
	}
	o.Anomalies = left
	return same
}

// id is equal for an anomaly that was found at several levels.
func (a *Anomaly) id() string { return fmt.Sprint(a.Name, a.Txns) }

// Capital returns s with a capital first letter.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Thousands groups the digits of a count.
func Thousands(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// legend says what the legend of a page explains beside plain operations.
type legend struct {
	Scans    bool // statements with conditions
	Versions bool // versions of reads
}

func legendOf(all []finding) legend {
	shows := func(what func(explain.Op) bool) bool {
		return slices.ContainsFunc(all, func(f finding) bool {
			return slices.ContainsFunc(f.Anomaly.Transactions, func(t Txn) bool { return slices.ContainsFunc(t.Ops, what) })
		})
	}
	return legend{Scans: shows(explain.Op.Statement), Versions: shows(explain.Op.Versioned)}
}
