package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results"
)

// judging is the work on one history. Each level is judged once.
type judging struct {
	app   *app
	c     *checking
	h     *history.History
	show  *checkProgress
	parse time.Duration
	done  map[level.Level]*verdict.Result
}

// at judges the history at a level, within a limit that counts the reading; 0 is
// none.
func (j *judging) at(ctx context.Context, lvl level.Level, limit time.Duration) (*verdict.Result, error) {
	if r := j.done[lvl]; r != nil {
		return r, nil
	}
	opt := checker.Options{Engine: j.c.engine, Certify: j.c.certify, Pipeline: j.c.pipeline, Progress: j.show.stage, Accel: j.c.accel, Warn: j.warn}
	if limit > 0 {
		opt.Timeout = max(limit-j.parse, time.Millisecond)
	}
	r, err := checker.Check(ctx, j.h, lvl, opt)
	if err == nil {
		j.done[lvl] = r
	}
	return r, err
}

// explain adds to the outcome of r, a violated verdict, its counterexamples and
// where the history stands among the levels, of which asked are judged anyway.
func (j *judging) explain(ctx context.Context, r *verdict.Result, asked []level.Level, o *results.Outcome) error {
	j.show.stage("explain")
	known := checker.Known{}
	for l, done := range j.done {
		known[l] = done.Verdict
	}
	isAsked := map[level.Level]bool{}
	for _, l := range asked {
		isAsked[l] = true
	}
	x, err := counterexample.Explain(ctx, j.h, r, counterexample.Wishes{
		Timeout: j.c.explain, Known: known, Asked: asked,
		Judge: func(ctx context.Context, lvl level.Level) (*verdict.Result, error) {
			if isAsked[lvl] {
				return j.at(ctx, lvl, j.c.timeout)
			}
			return checker.Check(ctx, j.h, lvl, checker.Options{Certify: j.c.certify, Progress: j.show.stage, Accel: j.c.accel})
		},
	})
	if err == nil {
		o.Explain(j.h, x)
	}
	return err
}

// warn tells of what was asked for and cannot be had, once.
func (j *judging) warn(line string) {
	if _, told := j.app.warned.LoadOrStore(line, true); !told {
		j.show.pause()
		fmt.Fprintf(j.app.msg, "isohound: %s\n", line)
	}
}

// broken tells of a proof that does not hold, and reports whether err is that.
func (j *judging) broken(err error, path string) bool {
	var proof *checker.ProofError
	if !errors.As(err, &proof) {
		return false
	}
	j.app.found(exitInternal)
	j.show.pause()
	fmt.Fprintf(j.app.msg, "isohound: %s: %v\n", path, err)
	return true
}
