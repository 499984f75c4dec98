package cli

import (
	"context"
	"math"
	"os"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/internal/memory"
	"github.com/isohound/isohound/results"
)

// checking are the options for judging a history.
type checking struct {
	levels []level.Level
	engine checker.Engine
	// versions says what to do with the order that the database claims.
	versions checker.Versions
	format   file.Format
	timeout  time.Duration
	// explain bounds the time for explaining a violation; 0 means no explanation.
	explain time.Duration
	// stand: a history that satisfies all levels is judged at the others, too, if the strongest that it satisfies is
	// weaker than snapshot isolation.
	stand  bool
	memory budget.Limit
	accel  choose.Choice
	// tellAccel: the text output reports how reachability was computed.
	tellAccel  bool
	certify    bool
	pipeline   polygraph.Config
	quiet      bool
	noProgress bool
	// expectViolated: the exit code is 0 if every level is violated, and 1 if one is satisfied.
	expectViolated bool
	// pages: of a run in windows, the first violated ones get their pages.
	pages bool
	// window: the history is a window of a run, whose outcome decides about the exit code. prepare is
	// called when it has been read.
	window  bool
	prepare func(*history.History) error
	// own returns what a window shows by itself at a level at which its violation proves nothing, or nil.
	own func(level.Level) *history.History
	// rounds is the size of rounds in transactions, 0 if the history is judged as a whole. fenceKey is the name of the key of
	// fences, "" if it was not given.
	rounds   int
	fenceKey string
	// first is how many transactions are judged, in the order of rounds; 0 is all.
	first int
}

// smallFile is the maximum size of a small file, in bytes.
const smallFile = 8 << 20

var errReadTimeout = errors.New("the time for checking ran out while the history was read")

// judge reads the history at path and judges it at each level. It calls tell with each outcome
// when it is final. finish, if set, is called with each outcome before tell, and with the
// history, which is nil if it could not be read completely.
func (a *app) judge(path string, c *checking, finish func(*history.History, *results.Outcome), tell func(results.Outcome) error) error {
	if c.prepare == nil {
		c, finish = a.alone(c, finish)
	}
	memory.ResetPeak()
	// Large histories are free of pointers: early garbage collections cost little and save a
	// third of the memory. For small ones, of which there may be thousands, they would take
	// longer than judging.
	percent, size := gcPercentSmall, sizeOf(path)
	if size > smallFile {
		percent = gcPercent
	}
	defer collect(percent, size)()
	show := a.showChecking(path, c)
	defer show.done()
	limit := c.memoryLimit()
	begun := time.Now()
	var ahead *certify.Ahead
	h, rest, err := a.read(path, c, limit, show, func(h *history.History, lvl level.Level) scans.Follower {
		ahead = certify.NewAhead(h, lvl)
		return ahead
	})
	parse := time.Since(begun)
	var mem *budget.MemoryError
	starved := errors.As(err, &mem) || errors.Is(err, errReadTimeout)
	if err != nil && !starved {
		return err
	}
	j := &judging{app: a, c: c, limit: limit, path: path, h: h, rest: rest, ahead: ahead, show: show, parse: parse, finish: finish, tell: tell, replaced: map[level.Level]*verdict.Result{}, own: map[level.Level]*history.History{}, outcomes: map[level.Level]*results.Outcome{}}
	if starved {
		return j.unread(err)
	}
	return j.all(a.work)
}

// compression is the assumed ratio of a history's length to the size of its compressed file.
const compression = 16

// sizeOf is the size of a history in bytes: of its file or of the files in its folder, estimated
// if compressed. It is the largest number for input without a size.
func sizeOf(path string) int64 {
	st, err := os.Stat(path)
	switch {
	case err == nil && st.Mode().IsRegular() && strings.HasSuffix(path, ".zst"):
		return st.Size() * compression
	case err == nil && st.Mode().IsRegular():
		return st.Size()
	case err != nil || !st.IsDir():
		return math.MaxInt64
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return math.MaxInt64
	}
	size := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}

// openHistory opens the history at path. Opening and reading it end with ctx.
func (a *app) openHistory(ctx context.Context, path string, format file.Format) (*file.File, error) {
	return file.OpenContext(ctx, path, format, a.in)
}

// mayGuess reports whether an execution that agrees with the scans may be guessed before any engine. It may
// take the place of the polygraph engine's own guess.
func (c *checking) mayGuess() bool {
	return (c.engine == checker.Auto || c.engine == checker.Polygraph) && c.pipeline == polygraph.Config{} && !c.tellAccel
}

// read loads the history within the limits. rest is what scans.Execute, which gets begin, or scans.Expand returns.
func (a *app) read(path string, c *checking, limit budget.Limit, show *checkProgress, begin func(*history.History, level.Level) scans.Follower) (h *history.History, rest *scans.Rest, err error) {
	ctx, stopWatch := budget.Memory(a.work, limit)
	defer stopWatch()
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, errReadTimeout)
		defer cancel()
	}
	h, rest, err = func() (*history.History, *scans.Rest, error) {
		f, err := a.openHistory(ctx, path, c.format)
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		if c.first > 0 {
			f.Interleave()
			f.Limit(c.first)
		}
		show.reading(f)
		h, err := history.Load(ctx, f)
		if err != nil {
			return nil, nil, err
		}
		if c.prepare != nil {
			if err := c.prepare(h); err != nil {
				return nil, nil, withCode(exitData, errors.Wrap(err, path))
			}
		}
		if c.versions == checker.Assume { // after prepare, which may settle outcomes
			h = h.AssumeOrder()
		}
		if len(h.AllOps()) >= scans.GuessOps && c.mayGuess() {
			if x, rest, err := scans.Execute(ctx, h, c.levels, begin); rest != nil || err != nil {
				return x, rest, err
			}
		}
		return scans.Expand(ctx, h, scans.Eager(c.levels...))
	}()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return h, rest, err
}
