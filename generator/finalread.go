package generator

import (
	"context"
	"fmt"
	"maps"
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
	case reason == HistoryLost || reason == ServerLost || reason == TooManySessions || reason == Refused:
		err = errors.New(reason)
	case len(names) > 0:
		_, _, err = r.fenceAndRead(ctx, f, places, names)
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
	maps.Copy(all, r.kept)
	maps.Copy(all, r.doubtful)
	r.kept = nil
	for _, w := range r.workers {
		for name, p := range w.written {
			all[name] = p
		}
		f.Left += w.lost
		w.written, w.lost = written{}, 0
	}
	f.Left += r.cfg.Fleet.adopt(r.workers, all)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return all, names
}

// fenceAndRead lets all sessions write their fences, and one of them read everything. It returns that
// worker and its session.
func (r *Runner) fenceAndRead(ctx context.Context, f *FinalRead, places written, names []string) (*worker, int64, error) {
	reader, session, unseen := r.passFences(ctx)
	if unseen != nil && !errors.Is(unseen, errUnseen) {
		return nil, 0, unseen
	}
	// What transactions of unknown outcome wrote is read last and in one transaction: one of them may take
	// effect meanwhile, and then all that it wrote must be seen, or nothing.
	sure, unsure := r.divide(names)
	if len(unsure) > maxUnsure {
		return nil, 0, errors.Errorf("transactions of unknown outcome wrote more than %d keys and rows", maxUnsure)
	}
	chunks := slices.Collect(slices.Chunk(sure, placesPerRead))
	if len(unsure) > 0 {
		chunks = append(chunks, unsure)
	}
	if r.cfg.Lightweight {
		chunks = slices.Collect(slices.Chunk(names, 1))
	}
	for _, chunk := range chunks {
		read := &reading{names: chunk, places: places}
		var program Program = read
		if r.cfg.Lightweight {
			program = lightReading{read}
		}
		if err := reader.insist(ctx, session, program); err != nil {
			return nil, 0, errors.Wrap(err, "a read failed")
		}
		if r.rec.state != nil {
			r.rec.note(reader.a.ops)
		}
		f.Places += len(chunk)
		f.Txns++
	}
	return reader, session, unseen // what was read still comes after the other sessions
}

// maxUnsure bounds the keys and rows that are read in one transaction.
const maxUnsure = 10_000

// divide returns the names of places that no transaction of unknown outcome wrote, and the others.
func (r *Runner) divide(names []string) (sure, unsure []string) {
	for _, name := range names {
		if _, doubtful := r.doubtful[name]; doubtful {
			unsure = append(unsure, name)
		} else {
			sure = append(sure, name)
		}
	}
	return sure, unsure
}
