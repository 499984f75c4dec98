package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results"
)

// windowJudge judges the windows of a run, one after the other.
type windowJudge struct {
	app *app
	dir string   // the run's
	k   checking // as asked for
	// finish, if set, is called with the outcome of each window at each level.
	finish func(*history.History, *results.Outcome)
	// promised are weak levels that the database promises and at which nobody asked for a verdict. They are looked at in
	// windows that violate a stronger level, until a window violates them, too.
	promised []level.Level
	looked   map[level.Level]int // the latest window that was looked at, at a promised level
	state    rounds.Run
	raw      *history.History // the window that was entered last, as it was read
	learned  *rounds.State    // what it told of transactions of unknown outcome; nil if it has none
	// sums are the outcomes of the run, by level.
	sums map[level.Level]*results.Outcome
	// number and digest are those of the latest window; digest is "" if it is not known.
	number int
	digest string
	tested bool // some window tested something
	// violations is how many windows were found violated, explained how many of them are explained.
	violations, explained int
	latest                int          // the latest violated window
	seen                  map[int]bool // the windows that were judged, at some level, and those of which nothing is left
	// carry, if set, is called before a window is entered, with what is known of earlier ones to be set;
	// entered after that.
	carry, entered func(*history.History) error
	notes          []string
}

func (a *app) newWindowJudge(path string, k *checking) *windowJudge {
	j := &windowJudge{app: a, dir: path, k: *k, explained: 1, sums: map[level.Level]*results.Outcome{}, seen: map[int]bool{}}
	for _, lvl := range k.levels {
		j.sums[lvl] = &results.Outcome{Path: path, Level: lvl.String()}
	}
	return j
}

// next judges the next window.
func (j *windowJudge) next(path string) error {
	k := j.k
	var more []level.Level
	if k.levels, more = j.levels(); len(more) > 0 {
		k.levels = append(k.levels, more...)
		j.other(more[0])
	}
	k.window, k.prepare, k.own = true, j.enter, j.own
	if !j.explains() {
		k.explain = 0
	}
	digest, err := digestOf(path)
	if err != nil {
		return withCode(exitIO, err)
	}
	err = j.app.judge(path, &k, j.weigh, func(o results.Outcome) error {
		if n := results.WindowNumber(path); o.Unread && n > j.number { // enter was not called
			j.number = n
			j.state.Skip()
		}
		lvl, err := level.Parse(o.Level)
		if err == nil {
			j.add(j.number, lvl, &o)
		}
		return err
	})
	j.digest, j.raw, j.learned = digest, nil, nil
	return err
}

// direct reports whether windows are judged at a level. Weak levels are not judged with the order that a database claims.
func (j *windowJudge) direct(lvl level.Level) bool {
	return rounds.Judges(lvl) && (j.k.versions != checker.Assume || !lvl.Weak())
}

// levels are the levels among those asked for at which each window is judged, and one more if they do not imply the
// others.
func (j *windowJudge) levels() (judged, more []level.Level) {
	var others []level.Level
	for _, lvl := range j.k.levels {
		if j.direct(lvl) {
			judged = append(judged, lvl)
		} else {
			others = append(others, lvl)
		}
	}
	for _, lvl := range others {
		implies := func(from level.Level) bool { return from.Implies(lvl) }
		switch {
		case slices.ContainsFunc(judged, implies) || slices.ContainsFunc(more, implies):
		case len(more) == 0 && level.SI.Implies(lvl):
			more = []level.Level{level.SI}
		default:
			more = []level.Level{level.SER}
		}
	}
	return judged, more
}

// other adds a level that was not asked for.
func (j *windowJudge) other(lvl level.Level) {
	if j.sums[lvl] == nil {
		j.sums[lvl] = &results.Outcome{Path: j.dir, Level: lvl.String()}
	}
}

// add adds the outcome of window n at a level to that of the run.
func (j *windowJudge) add(n int, lvl level.Level, o *results.Outcome) {
	j.other(lvl)
	j.seen[n] = true
	j.sums[lvl].AddWindow(n, o)
	j.notes = results.WindowNotes(j.notes, n, o.Notes)
	if o.Verdict == verdict.Violated && j.latest != n && slices.Contains(j.k.levels, lvl) {
		j.violations++
		j.latest = n
	}
}

// violatedAt reports whether a window was found violated at a level.
func (j *windowJudge) violatedAt(lvl level.Level) bool {
	sum := j.sums[lvl]
	return sum != nil && sum.Windows != nil && sum.Windows.Violated > 0
}

// explains reports whether the next window is explained if it is violated.
func (j *windowJudge) explains() bool { return j.violations < j.explained }

// enter looks whether the window is the next one, and prepares it.
func (j *windowJudge) enter(h *history.History) error {
	number := 1
	if h.Window != nil {
		number = h.Window.Number
	}
	switch {
	case number <= j.number:
		return errors.Errorf("this is window %d, after window %d", number, j.number)
	case number != j.number+1:
		missing := fmt.Sprintf("window %d is not there", j.number+1)
		if number > j.number+2 {
			missing = fmt.Sprintf("windows %d to %d are not there", j.number+1, number-1)
		}
		j.notes = append(j.notes, missing)
		j.state.Skip()
	case j.number > 0 && j.digest != "" && j.digest != h.Window.After:
		return errors.Errorf("window %d was changed after window %d had begun: its digest is not the one that this window names", j.number, number)
	}
	j.number = number
	j.tested = j.tested || checker.Vacuous(h) == ""
	if j.carry != nil {
		if err := j.carry(h); err != nil {
			return err
		}
	}
	unsure := !rounds.Alone(h)
	before := j.state.State()
	j.state.Enter(h)
	j.raw, j.learned = h, nil
	if unsure {
		told := j.state.State().Since(before)
		j.learned = &told
	}
	if j.entered != nil {
		return j.entered(h)
	}
	return nil
}

// own returns what the window shows by itself at a weak level at which its violation proves nothing of the run, or nil.
func (j *windowJudge) own(lvl level.Level) *history.History {
	if !lvl.Weak() || j.raw == nil {
		return nil
	}
	if why, err := j.state.Doubt(j.raw, lvl, nil); why == "" || err != nil {
		return nil
	}
	return j.state.Own(j.raw)
}

// proves returns the history of the window whose violation at a weak level proves that the run is violated, or nil.
func (j *windowJudge) proves(lvl level.Level) *history.History {
	for _, h := range []*history.History{j.raw, j.state.Own(j.raw)} {
		if h == nil {
			continue
		}
		if why, err := j.state.Doubt(h, lvl, nil); why == "" && err == nil {
			return h
		}
	}
	return nil
}

// weigh makes the outcome of a window that is violated, but does not prove that the run is, unknown.
func (j *windowJudge) weigh(h *history.History, o *results.Outcome) {
	if again := j.state.Again(); h != nil && again != (rounds.Again{}) {
		o.Again = &results.Again{Aborted: again.Aborted, Unknown: again.Unknown, Ops: again.Ops}
	}
	if h != nil {
		o.Learned = j.learned
	}
	if o.Verdict == verdict.Violated && h != nil {
		lvl, err := level.Parse(o.Level)
		var why string
		if err == nil {
			why, err = j.state.Doubt(h, lvl, func(h *history.History) (verdict.Verdict, error) {
				r, err := checker.NewLevels(h).Check(j.app.work, lvl, checker.Options{Timeout: j.k.timeout})
				if err != nil {
					return verdict.Unknown, err
				}
				return r.Verdict, nil
			})
		}
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			if len(o.Anomalies) > 0 {
				why += fmt.Sprintf("; if it cannot be so, the window is violated (%s)", o.Anomalies[0].Name)
			}
			o.Verdict, o.Reason, o.Certified, o.Anomalies, o.Standing = verdict.Unknown, why, false, []results.Anomaly{}, nil
		}
		if o.Verdict == verdict.Violated {
			j.prove(h, o, lvl)
		}
	}
	if j.finish != nil {
		j.finish(h, o)
	}
}

// prove sets the standing of the outcome of a window that is violated at a level to what the window proves of the run: some of
// the levels that it violates or a counterexample of it does, and none that it satisfies. A standing that nobody asked for is made only if a promised
// level is among them. A counterexample may prove more than the window as a whole, if it has nothing to do with transactions of unknown outcome.
func (j *windowJudge) prove(h *history.History, o *results.Outcome, at level.Level) {
	known := j.proved(h, nil, at, o.Standing)
	for n := range o.Anomalies {
		if c := o.Anomalies[n].Counterexample; c != nil && c.Standing != nil {
			proved := j.proved(h, c.Sub, at, c.Standing)
			maps.Copy(known, proved)
			s := proved.Standing(h)
			c.Standing = results.NewStanding(checker.Standing{Not: s.Not, AlsoNot: s.AlsoNot})
		}
	}
	refuted := j.refuted(at)
	for _, lvl := range refuted {
		known[lvl] = verdict.Violated
	}
	if o.Standing == nil && len(refuted) == 0 {
		return
	}
	s := known.Standing(h)
	o.Standing = results.NewStanding(checker.Standing{Not: s.Not, AlsoNot: s.AlsoNot})
}

// proved are the levels among those that s has as violated, and at, whose violation by the window, or by part unless it is nil, proves that of
// the run.
func (j *windowJudge) proved(h, part *history.History, at level.Level, s *results.Standing) checker.Known {
	known := checker.Known{at: verdict.Violated}
	if s == nil {
		return known
	}
	open := func(*history.History) (verdict.Verdict, error) { return verdict.Unknown, nil }
	for _, name := range slices.Concat(s.Not, s.AlsoNot) {
		lvl, err := level.Parse(name)
		if err != nil {
			continue
		}
		ok := part != nil && j.state.Proves(h, part, lvl)
		if !ok {
			why, err := j.state.Doubt(h, lvl, open)
			ok = why == "" && err == nil
		}
		if ok {
			known[lvl] = verdict.Violated
		}
	}
	return known
}

// refuted looks which promised levels the window violates, too, that follow from one at which it is violated. None is told twice.
func (j *windowJudge) refuted(at level.Level) (out []level.Level) {
	if j.raw == nil {
		return nil
	}
	for _, lvl := range slices.Clone(j.promised) {
		if !at.Implies(lvl) || j.looked[lvl] == j.number {
			continue
		}
		if j.looked == nil {
			j.looked = map[level.Level]int{}
		}
		j.looked[lvl] = j.number
		h := j.proves(lvl)
		if h == nil {
			continue
		}
		r, err := checker.Check(j.app.work, h, lvl, checker.Options{Timeout: j.k.timeout, Certify: true})
		if err != nil || r.Verdict != verdict.Violated || !r.Certified {
			continue
		}
		out = append(out, lvl)
		j.promised = slices.DeleteFunc(j.promised, func(l level.Level) bool { return l == lvl })
	}
	return out
}

// alone makes the judging of a single window, without the others of its run: the options and the finish
// of judge. Another history is judged as before.
func (a *app) alone(c *checking, finish func(*history.History, *results.Outcome)) (*checking, func(*history.History, *results.Outcome)) {
	j, k := &windowJudge{app: a, k: *c, finish: finish}, *c
	window := false
	k.prepare = func(h *history.History) error {
		if window = h.Window != nil; window {
			j.state.Skip()
			j.state.Enter(h)
			j.raw = h
		}
		return nil
	}
	k.own = j.own
	return &k, func(h *history.History, o *results.Outcome) {
		switch {
		case window:
			j.weigh(h, o)
		case finish != nil:
			finish(h, o)
		}
	}
}

// outcomes are those of the run, in the order of the levels asked for.
func (j *windowJudge) outcomes() []results.Outcome {
	var out []results.Outcome
	for _, lvl := range j.k.levels {
		o := *j.sums[lvl]
		direct := j.direct(lvl)
		if missing := j.missing(lvl); direct && missing > 0 && o.Verdict == verdict.Satisfied {
			o.Verdict, o.Reason = verdict.Unknown, fmt.Sprintf("%d of %d windows were not judged at %s", missing, len(j.seen), lvl)
		}
		if !direct || o.Verdict == verdict.Unknown {
			if f := j.follow(lvl); !direct || f.Verdict == verdict.Satisfied {
				o = f
			}
		}
		o.Notes = slices.Clone(j.notes)
		if o.Anomalies == nil {
			o.Anomalies = []results.Anomaly{}
		}
		out = append(out, o)
	}
	return out
}

// missing is how many of the windows were not judged at a level: an earlier process may have judged at other ones.
func (j *windowJudge) missing(lvl level.Level) int {
	if sum := j.sums[lvl]; sum != nil && sum.Windows != nil {
		return len(j.seen) - sum.Windows.Total()
	}
	return len(j.seen)
}

// follow is the outcome at a level at which windows cannot be judged. It follows from a stronger level
// that is satisfied. Where claimed snapshots are assumed, no snapshot level follows from a serial one, whose executions
// need not have these snapshots.
func (j *windowJudge) follow(lvl level.Level) results.Outcome {
	for _, from := range level.Descending(level.All()) {
		sum := j.sums[from]
		if sum == nil || sum.Windows == nil || sum.Verdict != verdict.Satisfied || j.missing(from) > 0 || !from.Implies(lvl) ||
			sum.Assumes != nil && sum.ClaimSpan.Snapped() && from.Serial() && lvl.Snapshot() {
			continue
		}
		o := *sum
		o.Level, o.FollowsFrom, o.Reason = lvl.String(), from.String(), fmt.Sprintf("%s implies it", from)
		return o
	}
	o := results.Outcome{Path: j.sums[lvl].Path, Level: lvl.String(), Verdict: verdict.Unknown}
	o.Reason = fmt.Sprintf("the windows of a run cannot be judged one by one at %s, and no level at which they were judged implies it and is satisfied; record without --cut-every", lvl)
	return o
}

// digestOf is the digest that the next window names.
func digestOf(path string) (string, error) {
	if err := results.Regular(path); err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// checkWindows judges the run in a folder that was cut into windows.
func (a *app) checkWindows(dir string, files []string, k *checking, tell func(results.Outcome) error) error {
	j := a.newWindowJudge(dir, k)
	var draw func() error
	if k.pages {
		draw = j.paged()
	}
	if err := j.each(files, draw); err != nil {
		return err
	}
	for _, o := range j.outcomes() {
		a.found(k.codeOf(o.Verdict))
		if err := tell(o); err != nil {
			return err
		}
	}
	return nil
}

// each judges windows, and calls f after each, unless it is nil. Only the last one of a run may be empty.
func (j *windowJudge) each(files []string, f func() error) error {
	for n, path := range files {
		if st, err := os.Stat(path); err == nil && st.Size() == 0 && j.number > 0 && n == len(files)-1 {
			j.notes = append(j.notes, fmt.Sprintf("window %d is empty: the run was cut off when it began", j.number+1))
			break
		}
		if err := j.next(path); err != nil {
			return err
		}
		if f != nil {
			if err := f(); err != nil {
				return err
			}
		}
		if err := context.Cause(j.app.work); err != nil {
			return err
		}
	}
	return nil
}

// concluded are the outcomes of a run that has ended. missing says why not all windows were judged, or is nil.
func (j *windowJudge) concluded(missing error) []results.Outcome {
	all := j.outcomes()
	for n := range all {
		switch v := &all[n]; {
		case v.Verdict != verdict.Satisfied:
		case missing != nil:
			v.Verdict, v.Reason = verdict.Unknown, "not all windows were judged: "+missing.Error()
		case !j.tested:
			v.Verdict, v.Reason = verdict.Vacuous, "no window has enough transactions that meet"
		}
	}
	return all
}
