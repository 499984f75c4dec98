package results

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// WindowsFolder is the subfolder of a run's folder with the histories of its windows, if the run was
// cut into windows.
const WindowsFolder = "windows"

// WindowFile is the name of window n, from 1, relative to the run's folder.
func WindowFile(n int, plain bool) string {
	name := fmt.Sprintf("%06d.jsonl", n)
	if !plain {
		name += ".zst"
	}
	return filepath.Join(WindowsFolder, name)
}

// WindowFiles lists the windows that are left of the run in dir, in order. It returns none if dir is not
// the folder of a run that was cut into windows.
func WindowFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, WindowsFolder))
	if os.IsNotExist(err) || err != nil && !isFolder(dir) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Wrap(err, "the windows of the run")
	}
	var files []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".zst"); strings.HasSuffix(name, ".jsonl") {
			files = append(files, filepath.Join(dir, WindowsFolder, e.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}

// WindowVerdicts is the file with the verdicts of all windows: an Outcome in JSON for each window and level,
// a line each.
const WindowVerdicts = "windows.jsonl"

// WindowNumber returns the number of the window with that file name; 0 if it is none.
func WindowNumber(path string) int {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	n, err := strconv.Atoi(name)
	if err != nil {
		return 0
	}
	return n
}

// EachWindow calls f with the verdicts that were written for windows, in order, and with the length of the line.
// The last line may be torn, if the run was cut off.
func EachWindow(dir string, f func(number, length int, o *Outcome) error) error {
	b, err := ReadFile(filepath.Join(dir, WindowVerdicts))
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		n++
		var o Outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return damaged(dir, n, errors.New(JSONWords(err)))
		}
		if _, err := level.Parse(o.Level); err != nil {
			return damaged(dir, n, err)
		}
		if err := f(WindowNumber(o.Path), len(line), &o); err != nil {
			return err
		}
	}
	return nil
}

func damaged(dir string, line int, err error) error {
	return errors.Errorf("%s, line %d: %v; remove this line: isohound check %s judges the windows whose histories are there", filepath.Join(dir, WindowVerdicts), line, err, dir)
}

// windowOutcomes are the outcomes of a run in windows that was cut off, of the windows that were judged. A
// satisfied level is unknown, since not all windows were judged.
func windowOutcomes(dir string, c *Config) ([]Outcome, error) {
	sums := map[string]*Outcome{}
	err := EachWindow(dir, func(n, _ int, o *Outcome) error {
		if sums[o.Level] == nil {
			sums[o.Level] = &Outcome{Path: dir, Level: o.Level}
		}
		sums[o.Level].AddWindow(n, o)
		return nil
	})
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Outcome
	for _, lvl := range c.Levels {
		sum := sums[lvl]
		if sum == nil {
			continue
		}
		if sum.Verdict == verdict.Satisfied {
			sum.Verdict, sum.Reason = verdict.Unknown, "the run was cut off after "+history.Many(sum.Windows.Total(), "window", "windows")+" had been judged as satisfied; isohound check judges the others, too"
		}
		all = append(all, *sum)
	}
	return all, nil
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Windows says how the windows of a run came out at a level.
type Windows struct {
	Satisfied int `json:"satisfied"`
	Violated  int `json:"violated"`
	Unknown   int `json:"unknown"`
	// Empty are those without a committed transaction. They change no verdict of the run.
	Empty int `json:"empty,omitempty"`
	// First is the file of the first violated window, or of the first unknown one if none is violated.
	First string `json:"first,omitempty"`
	// Spans are the windows in order, those with the same verdict one after another together. There are
	// at most 200; More is how many windows came after these.
	Spans []WindowSpan `json:"spans"`
	More  int          `json:"more,omitempty"`
	// unclaimed: for some window it is not known whether the claimed order fits.
	unclaimed bool
	// refuted are the levels that a window violates, with the first one that is known to, from 1.
	refuted map[level.Level]int
}

// WindowSpan are consecutive windows with the same verdict.
type WindowSpan struct {
	From    int             `json:"from"`
	To      int             `json:"to"`
	Verdict verdict.Verdict `json:"verdict"`
	Txns    int             `json:"txns"`
	// CheckSeconds is the time for judging them.
	CheckSeconds float64 `json:"check_seconds"`
}

// maxSpans bounds Windows.Spans.
const maxSpans = 200

// Again counts the transactions of unknown outcome that a window has once more, because they may take effect in it. The
// figures of the window have them; those of the run have them in the first window only, where their outcome is unknown.
type Again struct {
	Aborted int `json:"aborted"`
	Unknown int `json:"unknown"`
	Ops     int `json:"ops"`
}

// news is a window's outcome with the figures of what no earlier window has, and without what is of the window alone.
func (o *Outcome) news() *Outcome {
	if o.Again == nil && o.Learned == nil {
		return o
	}
	own := *o
	own.Learned = nil
	if o.Again == nil {
		return &own
	}
	own.Txns -= o.Again.Aborted + o.Again.Unknown
	own.Aborted -= o.Again.Aborted
	own.UnknownOutcome -= o.Again.Unknown
	own.Ops -= o.Again.Ops
	own.Again = nil
	return &own
}

// extend adds window number n.
func (w *Windows) extend(n int, o *Outcome) {
	last := len(w.Spans) - 1
	if last < 0 || w.Spans[last].Verdict != o.Verdict || w.Spans[last].To+1 != n || w.More > 0 {
		if len(w.Spans) == maxSpans {
			w.More++
			return
		}
		w.Spans = append(w.Spans, WindowSpan{From: n, Verdict: o.Verdict})
		last++
	}
	s := &w.Spans[last]
	s.To = n
	s.Txns += o.Txns
	s.CheckSeconds += o.CheckSeconds
}

// Total is the number of windows.
func (w *Windows) Total() int { return w.Satisfied + w.Violated + w.Unknown + w.Empty }

// Text describes the windows in words.
func (w *Windows) Text() string {
	text := history.Many(w.Total(), "window", "windows") + fmt.Sprintf(": %d satisfied, %d violated, %d unknown", w.Satisfied, w.Violated, w.Unknown)
	if w.Empty > 0 {
		text += fmt.Sprintf(", %d without a committed transaction", w.Empty)
	}
	switch {
	case w.Violated > 0:
		text += "; the first violated one is " + w.First
	case w.Unknown > 0:
		text += "; the first unknown one is " + w.First
	}
	return text
}

// addClaim adds what is known about the claimed order in window number n. It fits if it does in all windows. What does
// not fit is told of the first such window.
func (o *Outcome) addClaim(n int, c *ClaimedOrder, first bool) {
	o.Windows.unclaimed = o.Windows.unclaimed || c == nil
	switch {
	case c != nil && !c.Fits:
		if !first && o.Claim != nil && !o.Claim.Fits {
			o.Claim.Misfits += c.Misfits
			return
		}
		told := *c
		told.Text = fmt.Sprintf("in window %d, %s", n, c.Text)
		o.Claim = &told
	case first && c != nil:
		told := *c // it is changed when others are added
		o.Claim = &told
	case o.Windows.unclaimed && o.Claim != nil && o.Claim.Fits:
		o.Claim = nil
	}
}

// addAssumed adds what the verdict on a window rests on. The violation of the run rests on the claims if that of
// every violated window does.
func (o *Outcome) addAssumed(w *Outcome, first bool) {
	if w.Assumes == nil {
		return
	}
	sum := *w.Assumes
	if !first && o.Assumes != nil {
		sum.Versions += o.Assumes.Versions
		sum.Placed += o.Assumes.Placed
		sum.Snapshots += o.Assumes.Snapshots
		sum.Reads += o.Assumes.Reads
		if o.Windows.Violated > 0 {
			sum.OnSnapshots = o.Assumes.OnSnapshots || w.Assumes.OnSnapshots
			sum.Rests = o.Assumes.Rests && (w.Verdict != verdict.Violated || w.Assumes.Rests)
		}
	}
	o.Assumes = &sum
}

// refute notes the levels that window n violates.
func (w *Windows) refute(n int, s *Standing) {
	if w.refuted == nil {
		w.refuted = map[level.Level]int{}
	}
	for _, name := range slices.Concat(s.Not, s.AlsoNot) {
		if l, err := level.Parse(name); err == nil && w.refuted[l] == 0 {
			w.refuted[l] = n
		}
	}
}

// standing has the levels that some window violates, and so the run.
func (w *Windows) standing() *Standing {
	var s checker.Standing
	for _, l := range slices.Sorted(maps.Keys(w.refuted)) {
		weaker := func(m level.Level) bool { return m != l && l.Implies(m) && w.refuted[m] > 0 }
		if slices.ContainsFunc(level.All(), weaker) {
			s.AlsoNot = append(s.AlsoNot, l)
		} else {
			s.Not = append(s.Not, l)
		}
	}
	return NewStanding(s)
}

// AddWindow adds the outcome of window number n, from 1, to that of the run. The run is violated if a window is,
// and satisfied if all are in which a transaction committed, and there is one. Anomalies and the engine are those of the window that
// gives the verdict: the first violated one, say.
func (o *Outcome) AddWindow(n int, w *Outcome) {
	first := o.Windows == nil
	w = w.news()
	if !first {
		w = o.ClaimSpan.weigh(w)
	}
	span := o.ClaimSpan.add(w.ClaimSpan)
	if first {
		path := o.Path
		*o = *w
		o.Path, o.Windows, o.Stages = path, &Windows{}, maps.Clone(w.Stages) // w stays as it is
	} else {
		o.Unread = o.Unread || w.Unread
		o.Txns += w.Txns
		o.Committed += w.Committed
		o.Aborted += w.Aborted
		o.UnknownOutcome += w.UnknownOutcome
		o.Ops += w.Ops
		o.Sessions = max(o.Sessions, w.Sessions)
		o.ParseSeconds += w.ParseSeconds
		o.CheckSeconds += w.CheckSeconds
		o.ExplainSeconds += w.ExplainSeconds
		o.PeakRSSMB = max(o.PeakRSSMB, w.PeakRSSMB)
		switch {
		case o.Verdict == verdict.Violated: // which is proved, or not, whatever other windows are
		case w.Verdict == verdict.Violated:
			o.Certified = w.Certified
		case w.Committed > 0 || w.Unread: // of another there is nothing to prove
			o.Certified = w.Certified && (o.Certified || o.Windows.Empty == o.Windows.Total())
		}
		if o.Stages == nil {
			o.Stages = map[string]float64{}
		}
		for name, seconds := range w.Stages {
			o.Stages[name] += seconds
		}
	}
	o.ClaimSpan = span
	o.addClaim(n, w.Claim, first)
	o.addAssumed(w, first)
	o.addSnapshots(n, w.Snapshots, first)
	o.addScans(n, w.Predicates, first)
	o.addSearch(w.Search, first)
	o.addAccel(w.Accel, first)
	o.addNotes(n, w.Notes, first)
	o.Windows.extend(n, w)
	if w.Verdict == verdict.Violated && w.Standing != nil {
		o.Windows.refute(n, w.Standing)
		defer func() { o.Standing = o.Windows.standing() }()
	}
	if w.Verdict == verdict.Satisfied && o.Verdict == verdict.Satisfied && w.FollowsFrom != o.FollowsFrom {
		o.FollowsFrom, o.Reason = "", "" // not all windows have it from the same level
	}
	empty := o.Windows.Empty == o.Windows.Total() // all before
	worse := first
	switch {
	case w.Verdict == verdict.Violated:
		o.Windows.Violated++
		worse = worse || o.Verdict != verdict.Violated
	case w.Verdict == verdict.Satisfied:
		o.Windows.Satisfied++
		worse = worse || empty
	case w.Committed == 0 && !w.Unread:
		o.Windows.Empty++
	default:
		o.Windows.Unknown++
		worse = worse || empty || o.Verdict == verdict.Satisfied
	}
	if !worse {
		return
	}
	o.Verdict, o.Reason, o.FollowsFrom, o.Engine = w.Verdict, w.Reason, w.FollowsFrom, w.Engine
	o.Standing, o.Anomalies, o.Uncut, o.Windows.First = w.Standing, w.Anomalies, w.Uncut, ""
	if w.Verdict != verdict.Satisfied {
		o.Windows.First = w.Path
	}
}
