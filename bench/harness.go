package bench

import (
	"context"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

// Harness measures the cost of generating and recording: a workload runs with and without
// recording, in turns, so that other load affects both equally.
type Harness struct {
	Workload generator.Workload
	Config   generator.Config
	// Open opens a database; see OpenNothing. Driver is the name of its driver.
	Open   func(ctx context.Context) (drivers.DB, error)
	Driver string
	// Rounds is how often each is measured; Compressed records with zstd.
	Rounds     int
	Compressed bool
	Progress   func(HarnessRound)
}

// HarnessRound is one round.
type HarnessRound struct {
	// Finished transactions per second, whatever their outcome.
	Recorded   float64 `json:"recorded_per_second"`
	Unrecorded float64 `json:"unrecorded_per_second"`
	// Bytes of the history on disk.
	Bytes int64 `json:"bytes"`
}

// Cost is the share of the throughput that recording costs: the median over rounds. It is
// negative if recording was faster.
func Cost(rounds []HarnessRound) float64 {
	var costs []float64
	for _, r := range rounds {
		costs = append(costs, 1-r.Recorded/r.Unrecorded)
	}
	slices.Sort(costs)
	return (costs[(len(costs)-1)/2] + costs[len(costs)/2]) / 2
}

// Rate is the median of the rates with recording.
func Rate(rounds []HarnessRound) float64 {
	var rates []float64
	for _, r := range rounds {
		rates = append(rates, r.Recorded)
	}
	slices.Sort(rates)
	return (rates[(len(rates)-1)/2] + rates[len(rates)/2]) / 2
}

// Measure measures all rounds.
func (h *Harness) Measure(ctx context.Context) ([]HarnessRound, error) {
	dir, err := newFolder()
	if err != nil {
		return nil, err
	}
	defer dir.remove()
	var out []HarnessRound
	for n := range h.Rounds {
		var r HarnessRound
		// The order of the two alternates from round to round.
		for turn := range 2 {
			if (n+turn)%2 == 0 {
				r.Recorded, r.Bytes, err = h.recorded(ctx, filepath.Join(dir.path, "history"))
			} else {
				r.Unrecorded, err = h.run(ctx, nil)
			}
			if ctx.Err() != nil {
				return out, context.Cause(ctx)
			}
			if err != nil {
				return out, err
			}
		}
		out = append(out, r)
		if h.Progress != nil {
			h.Progress(r)
		}
	}
	return out, nil
}

func (h *Harness) recorded(ctx context.Context, path string) (rate float64, size int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, 0, errors.WithStack(err)
	}
	defer f.Close()
	if rate, err = h.run(ctx, f); err != nil {
		return 0, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return 0, 0, errors.WithStack(err)
	}
	return rate, st.Size(), nil
}

// run runs the workload once; without recording if w is nil.
func (h *Harness) run(ctx context.Context, w io.Writer) (rate float64, err error) {
	db, err := h.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		if cerr := db.Close(context.WithoutCancel(ctx)); err == nil {
			err = cerr
		}
	}()
	if err := db.Create(ctx, h.Workload.Initial()); err != nil {
		return 0, err
	}
	var log *native.Log
	if w != nil {
		if log, err = native.NewLog(w, h.Compressed); err != nil {
			return 0, err
		}
	}
	rec, err := generator.NewRecorder(log, history.Header{Seed: h.Config.Seed}, h.Workload)
	if err != nil {
		return 0, err
	}
	runner := generator.NewRunner(h.Config, db, h.Workload, rec)
	reason, err := runner.Run(ctx, ctx)
	var le *generator.LogError
	if err != nil && !errors.As(err, &le) {
		err = &drivers.UnreachableError{Driver: h.Driver, Err: err}
	}
	if err != nil {
		return 0, err
	}
	if reason != generator.Complete && reason != generator.DurationReached {
		return 0, errors.Errorf("the run ended early: %s", reason)
	}
	st := runner.Meter().Stats()
	return float64(st.Committed+st.Aborted+st.Unknown) / st.Seconds, nil
}

// noDB is a database that does nothing: every key exists and holds 0, and every transaction
// commits.
type noDB struct{}

func (noDB) Server() string                                         { return "nothing" }
func (noDB) Create(context.Context, iter.Seq2[string, int64]) error { return nil }
func (noDB) Connect(context.Context) (drivers.Session, error)       { return noSession{}, nil }
func (noDB) Close(context.Context) error                            { return nil }

type noSession struct{}

func (noSession) Begin(context.Context) (drivers.Tx, error) { return noTx{}, nil }
func (noSession) Close()                                    {}

// OpenNothing opens a database that does nothing.
func OpenNothing(context.Context) (drivers.DB, error) { return noDB{}, nil }

type noTx struct{}

func (noTx) Read(context.Context, string) (int64, bool, error)   { return 0, true, nil }
func (noTx) Insert(context.Context, string, int64) error         { return nil }
func (noTx) Update(context.Context, string, int64) (bool, error) { return true, nil }
func (noTx) Delete(context.Context, string) (bool, error)        { return true, nil }
func (noTx) Commit(context.Context) error                        { return nil }
func (noTx) Rollback(context.Context) error                      { return nil }
