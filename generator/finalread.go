package generator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pkg/errors"
)

// FinalRead says how a run ended: with a read of every key and row that it wrote. This makes visible
// that a database lost a transaction after it had acknowledged the commit.
//
// The read comes after every other transaction, and the history shows it: each session writes a key
// of its own, its fence (history.Fence). One session then reads all fences, and after that what the
// run wrote, in transactions of at most 128 keys or rows. A session whose connection broke takes part
// through its worker's next connection: what it was told to be committed must be there. A transaction
// of unknown outcome is a session by itself, which does not.
type FinalRead struct {
	// Places is how many keys and rows were read, in Txns transactions. Left is how many were
	// written, but not read.
	Places int `json:"places"`
	Txns   int `json:"transactions"`
	Left   int `json:"left_out,omitempty"`
	// Seconds is how long all of it took.
	Seconds float64 `json:"seconds"`
	// Problem is why it was not done, or not completely; "" if it was.
	Problem string `json:"problem,omitempty"`
}

// FinalRead returns what is known of the final read after the run, or nil if there was none.
func (r *Runner) FinalRead() *FinalRead { return r.final }

// A transaction of the final read reads this many keys or rows at most.
const placesPerRead = 128

// finalRead ends the run. An error says that the history is not writable.
func (r *Runner) finalRead(ctx context.Context, reason string) error {
	begin := time.Now()
	f := &FinalRead{}
	r.final = f
	places, names := r.collect(f)
	var err error
	switch {
	case reason == HistoryLost || reason == ServerLost:
		err = errors.New(reason)
	case len(names) > 0:
		err = r.fenceAndRead(ctx, f, places, names)
	}
	f.Seconds = time.Since(begin).Seconds()
	f.Left += len(names) - f.Places
	if err != nil {
		f.Problem = err.Error()
	} else if f.Left > 0 {
		f.Problem = fmt.Sprintf("each session remembers %d keys and rows at most", maxWritten)
	}
	if errors.As(err, new(*LogError)) {
		return err
	}
	return nil
}

// collect returns what all workers wrote since the last cut, and the names in order.
func (r *Runner) collect(f *FinalRead) (written, []string) {
	all := written{}
	for _, w := range r.workers {
		for name, p := range w.written {
			all[name] = p
		}
		f.Left += w.lost
		w.written, w.lost = written{}, 0
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return all, names
}

// fenceAndRead lets all sessions write their fences, and one of them read everything.
func (r *Runner) fenceAndRead(ctx context.Context, f *FinalRead, places written, names []string) error {
	reader, session, unseen := r.passFences(ctx)
	if unseen != nil && !errors.Is(unseen, errUnseen) {
		return unseen
	}
	for len(names) > 0 {
		n := r.perRead(len(names))
		read := &reading{names: names[:n], places: places}
		var program Program = read
		if r.cfg.Lightweight {
			program = lightReading{read}
		}
		if err := reader.insist(ctx, session, program); err != nil {
			return errors.Wrap(err, "a read failed")
		}
		names = names[n:]
		f.Places += n
		f.Txns++
	}
	return unseen // what was read still comes after the other sessions
}

// perRead is how many of n places one transaction reads.
func (r *Runner) perRead(n int) int {
	if r.cfg.Lightweight {
		return 1
	}
	return min(n, placesPerRead)
}
