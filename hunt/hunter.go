package hunt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/results"
)

// Config says how to hunt.
type Config struct {
	Plan  *Plan
	Cells []*Cell
	State *State
	Dir   string // of the hunt
	// Program is isohound. Version is its version, and Lock the file whose lock keeps other hunts out of Dir.
	Program, Version string
	Lock             *os.File
	// Resume goes on with the last night if it was interrupted.
	Resume bool
	// Tell is called with what happens, from several goroutines.
	Tell func(Event)
}

// Event is something that happened: the night or a run begins, a run was entered, or a note.
type Event struct {
	Begun  *Run
	Done   *Run
	Judged CellRun // of Done
	Note   string
}

// Hunt runs the plan until its budget is used up or ctx ends, which interrupts it: what is being recorded then ends and is
// judged. When hard ends, everything ends at once. done reports whether the night is over; otherwise it can be
// resumed.
func Hunt(ctx, hard context.Context, c Config) (night *Night, done bool, err error) {
	h := &hunter{Config: c, program: &program{path: c.Program, lock: c.Lock}, hard: hard, from: time.Now()}
	if err := h.begin(); err != nil {
		return nil, false, err
	}
	if err := h.leftovers(ctx); err != nil {
		return h.night, false, err
	}
	h.chooser.past, err = c.State.pastOf(h.night.ID)
	if err == nil {
		h.chooser.night = h.night
		h.chooser.before, err = c.State.runsBefore(h.night.ID)
	}
	if err == nil {
		done, err = h.loop(ctx)
	}
	if err == nil {
		err = c.State.spend(h.night.ID, h.spent())
	}
	return h.night, done, err
}

// Finish records that a night is over, with its exit code.
func (s *State) Finish(n *Night, code int) error { return s.end(n.ID, code) }

type hunter struct {
	Config
	program *program
	hard    context.Context
	night   *Night
	from    time.Time // when this process began
	before  time.Duration
	chooser chooser
	judges  sync.WaitGroup
	mu      sync.Mutex
	err     error     // the first error of a judge
	told    time.Time // the end of the pause that was told last
}

// begin begins a night, or goes on with the last one.
func (h *hunter) begin() error {
	last, err := h.State.latest()
	if err != nil {
		return err
	}
	h.chooser = chooser{plan: h.Plan, cells: h.Cells, version: h.Version, fixed: h.Plan.Budget.once()}
	if h.Resume && last != nil && last.Ended.IsZero() {
		h.night, h.before = last, last.Spent
		h.note("going on with night %d, which began on %s", last.ID, last.Began.Format("2006-01-02 15:04"))
		return nil
	}
	seed := h.Plan.Seed
	if seed == 0 {
		seed = rand.Int64N(1<<31-1) + 1
	}
	h.night, err = h.State.begin(seed, h.Version)
	return err
}

func (h *hunter) spent() time.Duration { return h.before + time.Since(h.from) }

func (h *hunter) note(format string, args ...any) {
	h.Tell(Event{Note: fmt.Sprintf(format, args...)})
}

func (h *hunter) folder(r *Run) string { return filepath.Join(h.Dir, filepath.FromSlash(r.Folder)) }

// leftovers finishes the runs that a killed or interrupted process has left.
func (h *hunter) leftovers(ctx context.Context) error {
	all, err := h.State.pending()
	if err != nil {
		return err
	}
	for _, r := range all {
		if ctx.Err() != nil {
			return nil
		}
		if r.State == recording {
			if err := h.cutOff(r); err != nil {
				return err
			}
		}
		if r.State == recorded {
			h.note("judging a run that was left: %s", r.Cell)
			if err := h.judge(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutOff finds out what there is of a run that was being recorded when the hunt ended: it was killed, or an error ended it, which
// the message of the run tells if it could be written.
func (h *hunter) cutOff(r *Run) error {
	dir := h.folder(r)
	ended, cause := results.Killed, "or could not write"
	if r.Message != "" {
		ended, cause = results.Stuck, r.Message
	}
	early := ended + " (" + cause + ")"
	run, err := results.Load(dir)
	switch {
	case r.Folder == "" || err != nil || !results.HasHistory(dir, run):
		r.State, r.Message, r.Early = lost, early+" before anything was recorded", early
		if r.Kept = false; r.Folder != "" {
			_ = os.RemoveAll(dir)
		}
		return h.State.set(r)
	case run.Config.Ended == results.NotYet:
		run.Config.Ended, run.Config.Cause = ended, cause
		if err := results.SaveConfig(dir, &run.Config); err != nil {
			return err
		}
	}
	r.State, r.Early = recorded, run.Config.Early()
	return h.State.set(r)
}

// loop records runs, while another goroutine judges the one before.
func (h *hunter) loop(ctx context.Context) (done bool, err error) {
	queue := make(chan *Run)
	var judge sync.WaitGroup
	judge.Go(func() {
		for r := range queue {
			if err := h.judge(r); err != nil {
				h.mu.Lock()
				h.err = errors.WithStack(firstError(h.err, err))
				h.mu.Unlock()
			}
			h.judges.Done()
		}
	})
	defer func() {
		close(queue)
		judge.Wait()
		if h.mu.Lock(); err == nil {
			err = h.err
		}
		h.mu.Unlock()
	}()
	for {
		now := time.Now() // one time for the choice and the wait: else a pause that ends between them would end the night
		ch, tonight, err := h.choose(now)
		if err != nil {
			return false, err
		}
		if ch == nil {
			h.judges.Wait() // a violation may still be found, and be repeated
			now = time.Now()
			if ch, tonight, err = h.choose(now); err != nil {
				return false, err
			}
		}
		if ctx.Err() != nil || h.failed() {
			return false, nil
		}
		if ch == nil {
			if waits, err := h.wait(ctx, tonight, now); err != nil || !waits {
				return ctx.Err() == nil, err
			}
			continue
		}
		if h.over(h.chooser.length(ch, tonight), len(tonight), time.Now()) {
			return true, nil
		}
		r, err := h.record(ctx, ch, tonight)
		if err != nil {
			return false, err
		}
		if r.State == recorded {
			h.judges.Add(1)
			queue <- r
		}
	}
}

func firstError(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *hunter) failed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err != nil
}

// waitStep bounds how much of a pause is missing in the time that the night has lasted, if the hunt is killed.
const waitStep = time.Minute

// wait waits, at most for a step, until a target that pauses may be tried again. It reports false if nothing is to be done then,
// or the night is over before. now is the time for which nothing was chosen. It ends at once if ctx ends.
func (h *hunter) wait(ctx context.Context, tonight []*Run, now time.Time) (bool, error) {
	names, until := h.chooser.waiting(tonight, now)
	if len(names) == 0 {
		return false, nil
	}
	later, _, err := h.choose(now.Add(2 * pauses[len(pauses)-1])) // when no target pauses
	if err != nil || later == nil {
		return false, err
	}
	length := h.chooser.length(later, tonight)
	switch {
	case h.over(length, len(tonight), now):
		h.note("the night is over: no further run fits")
		return false, nil
	case h.over(length, len(tonight), until):
		h.note("the night is over: no run fits between the pause of %s and its end", strings.Join(names, ", "))
		return false, nil
	}
	if !until.Equal(h.told) {
		h.note("nothing else is to be done; waiting until %s for %s", until.Format(clockTime), strings.Join(names, ", "))
		h.told = until
	}
	if err := h.State.spend(h.night.ID, h.spent()); err != nil {
		return false, err
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(until.Sub(now), waitStep)):
	}
	return true, nil
}

// choose chooses the run that is next at a time, nil if there is none. tonight are the runs that the night has.
func (h *hunter) choose(at time.Time) (ch *choice, tonight []*Run, err error) {
	if tonight, err = h.State.ofNight(h.night.ID); err != nil {
		return nil, nil, err
	}
	servers, err := h.State.servers()
	if err != nil {
		return nil, nil, err
	}
	return h.chooser.nextAt(tonight, servers, at), tonight, nil
}

// over reports whether the night is over: another run of a length, which would begin at a time, does not fit.
func (h *hunter) over(length time.Duration, n int, at time.Time) bool {
	b := &h.Plan.Budget
	end := b.deadline(h.night.Began, time.Now(), h.spent())
	return b.Runs > 0 && n >= b.Runs || !end.IsZero() && at.Add(length).After(end)
}

// record records a run. The index knows of it before it begins, and of an error that ends the hunt, if it can be written.
func (h *hunter) record(ctx context.Context, ch *choice, tonight []*Run) (r *Run, err error) {
	c := ch.cell
	r = &Run{
		Night: h.night.ID, Cell: c.ID(), Target: c.Target.Name, Isolation: c.Isolation, Workload: c.Workload.Name, Fault: c.Fault, Digest: c.digest(), Version: h.Version,
		Settings: h.chooser.settings(ch, tonight), Why: ch.why, Began: time.Now(),
	}
	if ch.repeats != nil {
		r.Repeats = ch.repeats.ID
	}
	if err := h.State.add(r); err != nil {
		return nil, err
	}
	defer func(r *Run) {
		if err != nil && r.State == recording {
			r.Message = err.Error()
			_ = h.State.set(r) // else cutOff does not know why
		}
	}(r)
	r.Folder = fmt.Sprintf("%s/%d/%05d-%s", runsFolder, r.Night, r.ID, c.slug())
	if err := h.State.place(r); err != nil {
		return nil, err
	}
	dir := h.folder(r)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, errors.WithStack(err)
	}
	h.Tell(Event{Begun: r})
	x, err := h.program.record(ctx, c, r.Settings, dir)
	if err != nil {
		return nil, err
	}
	r.Took, r.Code = time.Since(r.Began), x.code
	run, lerr := results.Load(dir)
	switch {
	case lerr != nil || !results.HasHistory(dir, run):
		r.State, r.Message = failed, x.last
		if ctx.Err() != nil {
			r.State, r.Message, r.Early = lost, "interrupted before anything was recorded", "interrupted"
		}
	case run.Config.Ended == results.NotYet: // the process was killed, or could not write the end
		if run.Config.Ended = results.Killed; x.code != -1 && ctx.Err() == nil {
			run.Config.Ended, run.Config.Cause = results.Stuck, x.last
		}
		if err := results.SaveConfig(dir, &run.Config); err != nil {
			return nil, err
		}
		fallthrough
	default:
		r.State, r.Early = recorded, run.Config.Early()
	}
	if r.State == recorded && x.code != 0 {
		r.Message = x.last
	}
	if err := firstError(h.State.set(r), h.State.spend(h.night.ID, h.spent())); err != nil {
		return nil, err
	}
	if r.State != recorded {
		h.done(r)
	}
	return r, nil
}

// judge judges a recorded run and enters its verdicts.
func (h *hunter) judge(r *Run) error {
	dir, began := h.folder(r), time.Now()
	check := h.Plan.checkTime()
	x, err := h.program.judge(h.hard, check, dir)
	if err != nil {
		return err
	}
	if h.hard.Err() != nil && !results.Judged(dir) {
		return nil // it stays recorded, and is judged when the hunt goes on
	}
	r.Took += time.Since(began)
	message := r.Message
	if results.Judged(dir) {
		err = r.collect(dir)
	} else {
		err = errors.Errorf("it was not judged: %s", x.last)
	}
	if r.State = judged; err != nil {
		r.State, r.Message, r.Code = failed, err.Error(), x.code
		if err := h.State.set(r); err != nil {
			return err
		}
		h.done(r)
		return nil
	}
	r.Message = message
	if err := h.State.enter(r); err != nil {
		return err
	}
	if err := h.State.tidy(r, h.Plan.Keep); err != nil {
		h.note("%s: cannot remove what is not kept: %v", r.Folder, err)
	}
	h.done(r)
	return nil
}

// done tells of a run that was entered.
func (h *hunter) done(r *Run) {
	cell := (&chooser{cells: h.Cells}).cell(r.Cell)
	e := Event{Done: r}
	if cell != nil {
		e.Judged = h.Plan.judgeRun(cell, r)
	}
	h.Tell(e)
	if r.State == failed {
		tonight, err := h.State.begunIn(h.night.ID)
		if a := failing(tonight)[r.Target]; err == nil && a != nil && a.last.ID == r.ID {
			h.note("%s", h.Plan.Budget.told(r.Target, a))
		}
	}
}
