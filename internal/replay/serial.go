package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand"
	"reflect"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/modeldb"
)

// Serial runs the plans of several workers on one session, one transaction of each worker in
// turn, and returns the bytes of the history. All invariants must hold afterwards.
func Serial(d drivers.Driver, dbCfg drivers.Config, w generator.Workload, workers, txns int, seed int64) ([]byte, error) {
	cfg := generator.Config{Sessions: 1, Txns: workers * txns, Seed: seed}
	return record(d, dbCfg, w, inTurn{w, workers, seed}, cfg)
}

// inTurn is a workload whose only worker runs the plans of several workers in turn.
type inTurn struct {
	generator.Workload
	workers int
	seed    int64
}

func (w inTurn) Plan(int, *rand.Rand) generator.Plan {
	p := &turns{}
	for n := range w.workers {
		p.plans = append(p.plans, w.Workload.Plan(n, generator.Stream(w.seed, n)))
	}
	return p
}

type turns struct {
	plans []generator.Plan
	next  int
}

func (p *turns) Next() generator.Program {
	p.next++
	return p.plans[(p.next-1)%len(p.plans)].Next()
}

// AgainstModel runs w serially on d and on a model, and reports differences between the
// histories. make makes a new workload for each of them. blind says that d does not report
// whether overwritten data existed.
func AgainstModel(d drivers.Driver, dbCfg drivers.Config, blind bool, make func() (generator.Workload, error), workers, txns int, seed int64) error {
	var raw [2][]byte
	for i, d := range []drivers.Driver{d, modeldb.Driver{Blind: blind}} {
		w, err := make()
		if err != nil {
			return err
		}
		if i == 1 {
			dbCfg = drivers.Config{Isolation: "serial"}
		}
		if raw[i], err = Serial(d, dbCfg, w, workers, txns, seed); err != nil {
			return errors.Wrap(err, d.Info().Name)
		}
	}
	if err := Same(raw[0], raw[1]); err != nil {
		return err
	}
	return telling(raw[1])
}

// telling returns an error for a history that tests nothing: no transaction reads what an
// earlier one wrote.
func telling(raw []byte) error {
	h, err := Load(raw)
	if err != nil {
		return err
	}
	written := map[history.Key]bool{}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.Read && written[op.Key] {
				return nil
			}
		}
		for _, op := range h.Ops(&h.Txns[i]) {
			written[op.Key] = written[op.Key] || op.Kind == history.Write
		}
	}
	return errors.Errorf("no transaction of %d reads what one before wrote", len(h.Txns))
}

// timings are the only fields that may differ between runs and between databases.
var timings = []string{"created", "begin", "end", "due", "dbtxn", "cause"}

// Same returns the first difference between two histories, apart from the fields in timings.
func Same(got, want []byte) error {
	a, b := json.NewDecoder(bytes.NewReader(got)), json.NewDecoder(bytes.NewReader(want))
	for line := 1; ; line++ {
		x, errX := next(a)
		y, errY := next(b)
		switch {
		case errX == io.EOF && errY == io.EOF:
			return nil
		case errX != nil || errY != nil:
			return errors.Errorf("line %d: %v, %v", line, errX, errY)
		case !reflect.DeepEqual(x, y):
			return errors.Errorf("line %d is\n%s\nand should be\n%s", line, text(x), text(y))
		}
	}
}

func next(d *json.Decoder) (map[string]any, error) {
	d.UseNumber()
	var line map[string]any
	err := d.Decode(&line)
	for _, name := range timings {
		delete(line, name)
	}
	return line, err
}

func text(line map[string]any) []byte {
	b, err := json.Marshal(line)
	if err != nil {
		return []byte(err.Error())
	}
	return b
}

// hold returns the first violated invariant.
func hold(ctx context.Context, db drivers.DB, w generator.Workload) error {
	for _, r := range generator.CheckInvariants(ctx, db, w) {
		if r.Problem != "" || r.Error != "" {
			return errors.Errorf("invariant %s does not hold: %s%s", r.Name, r.Problem, r.Error)
		}
	}
	return nil
}
