package hunt

import (
	"slices"
	"strings"
	"time"
)

// A violated run is shrunk as a workload: smaller settings are tried one at a time, with the same seed, and one is kept if
// the same anomaly at the same level shows often enough. Then the smallest is run some times more, because the runs
// that made it the smallest are no fair sample of how often it shows the anomaly.
//
// Nothing of this is stored but the runs themselves: the search is made again from the runs of the night, and where it
// wants a run that there is not, that is the next one. So it goes on after an interruption wherever it was.

// Shrunk is what shrinking a violation has come to.
type Shrunk struct {
	Of          *Run // the run that was shrunk
	Level, Name string
	Changes     []Change
	// Settings are those of the smallest workload.
	Settings Settings
	// Before is how often the run showed the anomaly when it was repeated with its own settings, Rate how often the
	// smallest workload did: in runs that had no part in the choice if Confirmed, else in those that had.
	Before, Rate Rate
	Confirmed    bool
	Runs         int           // that were made for it, those of Rate included
	Took         time.Duration // of these
	// Text says how the search ended.
	Text string
	// Best is a run of the smallest workload that showed the anomaly, nil if there is none.
	Best *Run
	// Listed is Best with links.
	Listed *ListedRun
	// next are the settings of the run that the search wants, and why is whyShrink or whyConfirm; nil if it wants none or
	// has to wait until one is judged.
	next *Settings
	why  string
}

// Change is a setting that became smaller.
type Change struct{ Name, From, To string }

// Rate is k of n runs.
type Rate struct{ K, N int }

// What shrinking came to, in words.
const (
	stillShrinking = "the search had not ended"
	noRate         = "it was not made smaller, because no repetition showed it again"
	outOfShrinks   = "the budget for making it smaller was used up"
	allTried       = "nothing smaller of what was tried showed it often enough"
	noneConfirmed  = "it was not made smaller, because what was smaller did not show it often enough when it was run again"
	targetAway     = "it was not made smaller any more, because runs on the target failed"
)

// attempts are the runs with some settings.
type attempts struct {
	shown, missed, waiting int
	best                   *Run
}

// add counts a run. One that was cut short counts if it showed the anomaly: it could have shown it later. One that could not use
// the server says nothing.
func (t *attempts) add(r *Run, level, name string) {
	at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Level == level && f.Name == name })
	switch {
	case r.State == recording || r.State == recorded:
		t.waiting++
	case at >= 0:
		t.shown++
		if t.best == nil || r.finding(level, name).Txns < t.best.finding(level, name).Txns {
			t.best = r
		}
	case !r.cutShort() && !r.away():
		t.missed++
	}
}

// finding is a finding of a run, nil if it has none of this level and name.
func (r *Run) finding(level, name string) *Finding {
	for n := range r.Findings {
		if f := &r.Findings[n]; f.Level == level && f.Name == name {
			return f
		}
	}
	return nil
}

// shrinks reports whether a run was made to shrink a violation. Such runs were chosen because they may show it. So they say
// nothing about how often a cell does, and do not count for it.
func (r *Run) shrinks() bool { return r.Why == whyShrink || r.Why == whyConfirm }

// shrinker is the search.
type shrinker struct {
	*Shrunk
	cell         *Cell
	valid        func(Settings) bool
	tries, need  int // runs of the same settings, and how many of them must show the anomaly
	runs         int // the budget
	time         time.Duration
	tried        map[string]*attempts
	confirmed    map[string]*attempts
	used, failed int // runs of the search, and failed ones in a row
	usedTime     time.Duration
	checked      int // runs that confirm
}

func (s *shrinker) key(of Settings) string { return strings.Join(s.cell.arguments(of, false), "\n") }

func (s *shrinker) of(all map[string]*attempts, settings Settings) *attempts {
	key := s.key(settings)
	if all[key] == nil {
		all[key] = &attempts{}
	}
	return all[key]
}

// shrink makes the search for the run base as far as the runs of the night tell its outcome.
func (p *Plan) shrink(cell *Cell, base *Run, level, name string, tonight []*Run) *Shrunk {
	s := &shrinker{
		Shrunk: &Shrunk{Of: base, Level: level, Name: name, Settings: base.Settings, Text: stillShrinking}, cell: cell,
		valid: func(of Settings) bool { return p.valid(cell, of) }, tries: p.Shrink.tries(), runs: p.Shrink.runs(), time: p.Shrink.time(),
		tried: map[string]*attempts{}, confirmed: map[string]*attempts{},
	}
	for _, r := range tonight {
		if r.Repeats != base.ID {
			continue
		}
		switch r.Why {
		case whySame:
			s.of(s.tried, base.Settings).add(r, level, name)
			continue
		case whyShrink:
			s.of(s.tried, r.Settings).add(r, level, name)
			s.used, s.usedTime = s.used+1, s.usedTime+r.Took
		case whyConfirm:
			s.of(s.confirmed, r.Settings).add(r, level, name)
			s.checked++
		default:
			continue
		}
		s.Runs, s.Took = s.Runs+1, s.Took+r.Took
		switch r.State {
		case failed:
			s.failed++
		case judged:
			s.failed = 0
		}
	}
	s.search()
	return s.Shrunk
}

// search makes the search. It sets next if it wants a run.
func (s *shrinker) search() {
	base := s.of(s.tried, s.Of.Settings)
	s.Before = Rate{base.shown, base.shown + base.missed}
	if s.Before.N < s.tries {
		if base.waiting == 0 {
			s.want(s.Of.Settings)
		}
		return
	}
	s.Rate = s.Before
	if base.shown == 0 {
		s.Text = noRate
		return
	}
	// At least half as often as before, rounded up; once at least.
	s.need = max(1, (s.tries*s.Before.K+2*s.Before.N-1)/(2*s.Before.N))
	kept, ended := s.descend()
	if !ended {
		s.take(kept, s.tried, false)
		return
	}
	s.confirm(kept)
}

// descend makes settings smaller, one at a time. kept are the settings that were kept, each smaller than the one before, from
// those of the run itself. ended is not set if a run is missing.
func (s *shrinker) descend() (kept []Settings, ended bool) {
	now := s.Of.Settings
	kept, s.Text = []Settings{now}, allTried
	for smaller := true; smaller; {
		smaller = false
		for _, z := range s.cell.sizes(s.Of) {
			for more := true; more; {
				more = false
				for _, value := range z.smaller(z.of(&now)) {
					to := z.with(now, value)
					if !s.valid(to) {
						continue
					}
					yes, decided := s.decide(to)
					if !decided {
						return kept, s.next == nil && s.Text != stillShrinking
					}
					if yes {
						now, more, smaller = to, true, true
						kept = append(kept, to)
						break
					}
				}
			}
		}
	}
	return kept, true
}

// decide says whether smaller settings are kept. If that is not decided, it wants a run, waits for one, or the budget is used up.
func (s *shrinker) decide(to Settings) (yes, decided bool) {
	t := s.of(s.tried, to)
	switch {
	case t.shown >= s.need:
		return true, true
	case t.missed > s.tries-s.need:
		return false, true
	case t.waiting < min(s.need-t.shown, s.tries-s.need+1-t.missed):
		s.want(to)
	}
	if t.waiting > 0 { // what is being judged may decide it
		s.Text = stillShrinking
	}
	return false, false
}

// want asks for a run of the search.
func (s *shrinker) want(of Settings) {
	switch {
	case s.failed >= givenUp:
		s.Text = targetAway
	case s.used >= s.runs || s.usedTime >= s.time:
		s.Text = outOfShrinks
	default:
		s.Text, s.next, s.why = stillShrinking, &of, whyShrink
	}
}

// confirm runs the smallest settings some times more, and the ones before them if they do not show the anomaly often enough.
func (s *shrinker) confirm(kept []Settings) {
	for ; len(kept) > 1; kept = kept[:len(kept)-1] {
		last := kept[len(kept)-1]
		t := s.of(s.confirmed, last)
		switch n := t.shown + t.missed; {
		case n >= s.tries && t.shown >= s.need:
			s.take(kept, s.confirmed, true)
			return
		case n >= s.tries:
			continue
		case n+t.waiting < s.tries && s.failed < givenUp && s.checked < s.runs+s.tries:
			s.Text, s.next, s.why = stillShrinking, &last, whyConfirm
		case t.waiting > 0:
			s.Text = stillShrinking
		}
		s.take(kept, s.tried, false)
		return
	}
	if s.checked > 0 {
		s.Text = noneConfirmed
	}
}

// take makes the last of the kept settings the smallest.
func (s *shrinker) take(kept []Settings, from map[string]*attempts, confirmed bool) {
	last := kept[len(kept)-1]
	if len(kept) == 1 {
		return
	}
	t, tried := s.of(from, last), s.of(s.tried, last)
	s.Settings, s.Confirmed, s.Rate = last, confirmed, Rate{t.shown, t.shown + t.missed}
	if s.Best = t.best; s.Best == nil {
		s.Best = tried.best
	}
	for _, z := range s.cell.sizes(s.Of) {
		was, is := z.of(&s.Of.Settings), z.of(&last)
		if was == is {
			continue
		}
		if z.name == "txns" && s.Of.Settings.Flags["txns"] == "" {
			was = "about " + was
		}
		s.Changes = append(s.Changes, Change{z.name, was, is})
	}
}
