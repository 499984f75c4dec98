package generator_test

import (
	"context"
	"math/rand"
	"testing"
	"time"

	"github.com/isohound/isohound/generator"
)

// patient is a workload whose transactions wait for an hour each.
type patient struct{ workload }

func (p patient) Plan(worker int, r *rand.Rand) generator.Plan {
	return waits{p.workload.Plan(worker, r)}
}

type waits struct{ generator.Plan }

func (w waits) Next() generator.Program { return waiting{w.Plan.Next()} }

type waiting struct{ generator.Program }

func (waiting) Wait() time.Duration { return time.Hour }

// TestWaiter: the end of the run ends the wait of a transaction, which then does not begin. An
// open loop does not wait.
func TestWaiter(t *testing.T) {
	w := patient{workload{keys: []string{"x"}, f: increment}}
	o := drive(t, &fake{}, w, generator.Config{Sessions: 2, Duration: 50 * time.Millisecond}, &buffer{}, context.Background())
	if o.err != nil || o.reason != generator.DurationReached || len(o.h.Txns) != 0 {
		t.Errorf("%v, %s, %d transactions", o.err, o.reason, len(o.h.Txns))
	}
	o = drive(t, &fake{}, w, generator.Config{Sessions: 2, Txns: 5, Rate: 10_000}, &buffer{}, context.Background())
	if n := o.h.Count(); o.err != nil || n.Committed != 10 {
		t.Errorf("%v, %+v", o.err, n)
	}
}
