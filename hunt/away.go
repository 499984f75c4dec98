package hunt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A server may be away for seconds or for hours. After a failed run its target pauses, longer from failure to failure, and
// other targets run. Everything here follows from the runs in the index, so it goes on after an interruption.

// pauses are how long a target pauses after its first, second and further failed runs in a row; the last one stays.
var pauses = []time.Duration{5 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}

const (
	// givenUp is after how many failed runs in a row that no wait cures a target is left alone for the rest of the night.
	givenUp = 3
	// triesWithoutEnd is the same for runs that a wait may cure, in a plan that sets no time at which the night ends.
	triesWithoutEnd = 4
	// maxAway is how many runs that failed because the server could not be used do not count for their cell. It may be
	// the cell that fails.
	maxAway = 3
)

// unavailable is the exit code of a run that could not use its server.
const unavailable = 69

// lastingErrors are the words of errors that no wait cures: user or password, missing database, no permission (SQLSTATE of
// PostgreSQL, numbers of MariaDB, words of Redis and MongoDB), programs that are not installed.
var lastingErrors = regexp.MustCompile(`SQLSTATE (28|3D|42)|Error (1044|1045|1049)\b|\b(WRONGPASS|NOAUTH|AuthenticationFailed)\b|is not installed; install the package|is missing; \./run\.sh`)

// lasting reports whether a failed run would fail again after any wait: its settings are refused, or the server refuses the
// user.
func (r *Run) lasting() bool {
	return r.Code == 64 || r.Code == 65 || r.Code == unavailable && lastingErrors.MatchString(r.Message)
}

// away reports whether a run failed because the server could not be used, which says nothing about its cell.
func (r *Run) away() bool { return r.State == failed && r.Code == unavailable && !r.lasting() }

// absence is a row of failed runs of a target, with no judged one among them.
type absence struct {
	row     int // failed runs
	lasting int // of these the latest in a row that no wait cures
	first   *Run
	last    *Run
	end     time.Time // when the run began that was judged after them; zero if there is none
}

// absences are the rows of failed runs of each target tonight, in their order.
func absences(tonight []*Run) map[string][]*absence {
	out := map[string][]*absence{}
	for _, r := range tonight {
		all := out[r.Target]
		open := len(all) > 0 && all[len(all)-1].end.IsZero()
		switch {
		case r.State == judged && open:
			all[len(all)-1].end = r.Began
		case r.State != failed, r.shrinks() && !r.away(): // the settings of a run that shrinks may be what fails
		case !open:
			all = append(all, &absence{first: r})
			fallthrough
		default:
			a := all[len(all)-1]
			a.row, a.last = a.row+1, r
			if a.lasting++; !r.lasting() {
				a.lasting = 0
			}
			out[r.Target] = all
		}
	}
	return out
}

// failing are the targets whose latest runs failed.
func failing(tonight []*Run) map[string]*absence {
	out := map[string]*absence{}
	for target, all := range absences(tonight) {
		if a := all[len(all)-1]; a.end.IsZero() {
			out[target] = a
		}
	}
	return out
}

// until is when the target may be tried again.
func (a *absence) until() time.Time { return a.last.Began.Add(a.last.Took).Add(a.pause()) }

func (a *absence) pause() time.Duration { return pauses[min(a.row, len(pauses))-1] }

// givenUp says why the target is left alone for the rest of the night, "" if it is not.
func (b *Budget) givenUp(a *absence) string {
	switch {
	case a.lasting >= givenUp:
		return "waiting would not help"
	case a.row >= triesWithoutEnd && b.Time == 0 && b.Until == "":
		return "the plan sets no time at which the night ends"
	}
	return ""
}

// waiting are the targets that pause, by name, and when the first of them may be tried again.
func (c *chooser) waiting(tonight []*Run, now time.Time) (names []string, until time.Time) {
	for target, a := range failing(tonight) {
		if at := a.until(); at.After(now) && c.plan.Budget.givenUp(a) == "" {
			names = append(names, target)
			if until.IsZero() || at.Before(until) {
				until = at
			}
		}
	}
	slices.Sort(names)
	return names, until
}

// told says what follows from the last failed run of a target.
func (b *Budget) told(target string, a *absence) string {
	runs := "a run failed"
	if a.row > 1 {
		runs = fmt.Sprintf("%d runs in a row failed", a.row)
	}
	if why := b.givenUp(a); why != "" {
		return fmt.Sprintf("%s: %s; it is left alone for the rest of the night, because %s", target, runs, why)
	}
	return fmt.Sprintf("%s: %s; its next run begins in %s or later", target, runs, a.pause())
}

// Away says of a target that runs failed, when, and what became of it.
type Away struct {
	Target string
	// Open: no run was judged after the latest that failed.
	Open bool
	text string
}

// Words are sentences.
func (a Away) Words() string { return a.text }

// away are the targets whose runs failed, in the plan's order.
func (p *Plan) away(tonight []*Run, over bool) []Away {
	all := absences(tonight)
	var out []Away
	for _, t := range p.Targets {
		rows := all[t.Name]
		if len(rows) == 0 {
			continue
		}
		last := rows[len(rows)-1]
		worst, others := last, -last.row
		for _, a := range rows {
			others += a.row
		}
		if !last.end.IsZero() { // the longest one is told; one that has not ended matters more
			for _, a := range rows {
				if a.length() > worst.length() {
					others += worst.row - a.row
					worst = a
				}
			}
		}
		out = append(out, Away{Target: t.Name, Open: last.end.IsZero(), text: worst.words(t.Name, others, p.Budget.givenUp(last), over)})
	}
	return out
}

func (a *absence) length() time.Duration {
	if a.end.IsZero() {
		return a.last.Began.Sub(a.first.Began)
	}
	return a.end.Sub(a.first.Began)
}

const clockTime = "15:04:05"

func (a *absence) words(target string, others int, givenUp string, over bool) string {
	var b strings.Builder
	from := a.first.Began.Format(clockTime)
	tries := "1 try"
	if a.row > 1 {
		tries = fmt.Sprintf("%d tries", a.row)
	}
	switch {
	case !a.end.IsZero():
		fmt.Fprintf(&b, "%s could not be tested from %s to %s: %s failed", target, from, a.end.Format(clockTime), tries)
	case a.row == 1:
		fmt.Fprintf(&b, "%s could not be tested from %s on: 1 try failed", target, from)
	default:
		fmt.Fprintf(&b, "%s could not be tested from %s on: %s failed, the last at %s", target, from, tries, a.last.Began.Format(clockTime))
	}
	if a.last.Message != "" {
		fmt.Fprintf(&b, " (%s)", a.last.Message)
	}
	b.WriteString(".")
	switch {
	case !a.end.IsZero():
		b.WriteString(" Then it was tested again.")
	case givenUp != "":
		fmt.Fprintf(&b, " Then it was left alone, because %s.", givenUp)
	case over:
		b.WriteString(" The night ended before it could be used again.")
	default:
		b.WriteString(" It will be tried again.")
	}
	if others > 0 {
		fmt.Fprintf(&b, " %s of it failed at other times.", count(others, "run"))
	}
	return b.String()
}
