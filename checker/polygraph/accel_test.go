package polygraph_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// hidden is a backend whose closures have only what every closure has, as on a GPU.
type hidden struct {
	accel.Backend
	// dies, if set, says whether the GPU is lost at a call.
	dies func() bool
}

func (h hidden) Name() string { return "hidden" }

var errLost = errors.New("the device is lost")

func (h hidden) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	if h.dies != nil && h.dies() {
		return nil, errLost
	}
	c, err := h.Backend.Closure(ctx, g, opt)
	if err != nil {
		return nil, err
	}
	return &hiddenClosure{Closure: c, dies: h.dies}, nil
}

type hiddenClosure struct {
	accel.Closure
	dies func() bool
}

func (h *hiddenClosure) Backend() string { return "hidden" }

func (h *hiddenClosure) Rows() accel.Rows { return nil }

func (h *hiddenClosure) Common([]int32, int32, func(from int32)) {}

func (h *hiddenClosure) lost() bool { return h.dies != nil && h.dies() }

func (h *hiddenClosure) Insert(ctx context.Context, edges []accel.Edge) error {
	if h.lost() {
		return errLost
	}
	return h.Closure.Insert(ctx, edges)
}

func (h *hiddenClosure) Closing(ctx context.Context, edges []accel.Edge, groups []int32, out []bool) error {
	if h.lost() {
		return errLost
	}
	return h.Closure.Closing(ctx, edges, groups, out)
}

func (h *hiddenClosure) Among(ctx context.Context, groups *accel.Groups) error {
	if h.lost() {
		return errLost
	}
	return h.Closure.Among(ctx, groups)
}

func (h *hiddenClosure) TwoCycles(ctx context.Context, edges []accel.Edge, f func(i, j int32) bool) error {
	if h.lost() {
		if len(edges) > 1 {
			f(0, 1) // calls to f by a call that then fails do not count
		}
		return errLost
	}
	return h.Closure.TwoCycles(ctx, edges, f)
}

// backend is the backend of a machine that is free to open.
func backend(open func() accel.Backend) choose.Backend {
	return choose.Backend{
		Name: open().Name(),
		Open: func(*accel.Graph, *choose.Wishes) (accel.Backend, choose.Device, error) {
			return open(), choose.Device{}, nil
		},
		// The first backend of a list is taken, because all cost the same.
		Seconds: func(choose.Shape, choose.Device, int) float64 { return 0 },
	}
}

func with(backends ...choose.Backend) *choose.Machine {
	return &choose.Machine{Free: func() int64 { return math.MaxInt64 }, Workers: 2, Backends: backends}
}

var (
	onChains = backend(func() accel.Backend { return chains.Backend{} })
	onBits   = backend(func() accel.Backend { return bitset.Backend{} })
	onHidden = backend(func() accel.Backend { return hidden{Backend: bitset.Backend{}} })
)

// dying is a machine with a GPU that is lost at the n-th call that can fail.
func dying(n int) *choose.Machine {
	var calls atomic.Int64
	return with(backend(func() accel.Backend {
		return hidden{chains.Backend{}, func() bool { return int(calls.Add(1)) == n }}
	}), onBits)
}

// timed is a backend that has room only for graphs with intervals.
type timed struct{ accel.Backend }

func (b timed) Memory(g *accel.Graph) int64 {
	if g.Intervals == nil {
		return math.MaxInt64
	}
	return 0
}

var onTimed = backend(func() accel.Backend { return timed{bitset.Backend{}} })

// randomMachine returns one of these machines, or the default one.
func randomMachine(rng *rand.Rand) (name string, m *choose.Machine) {
	switch rng.IntN(9) {
	case 0, 1:
		return "chains", with(onChains)
	case 2, 3:
		return "bitset", with(onBits)
	case 4, 5:
		return "hidden", with(onHidden)
	case 6:
		return "none", with()
	case 7:
		m := with(onTimed)
		m.Free = func() int64 { return 1 << 40 }
		return "timed", m
	}
	return "dying", dying(1 + rng.IntN(6))
}

// TestBackendsAgree checks that configurations give the same verdicts with every backend, on
// histories larger than the oracle's. The numbers of open reads and of edges do not depend on which
// matrix is used.
func TestBackendsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	all := everyConfig()
	count := map[verdict.Verdict]int{}
	used := map[string]int{}
	for n := range 40 {
		var h *history.History
		if n%2 == 0 { // with times
			h = synth.Mini(synth.MiniConfig{Sessions: 3 + n%40, Txns: 150, Keys: 4 + n%20, Seed: uint64(n), Snapshot: n%4 == 0})
			h = mutate(rng, h, n%3)
		} else {
			h = synth.General(synth.GeneralConfig{Sessions: 2 + n%50, Txns: 150, Ops: 2 + n%5, Keys: 40, Reads: 0.5,
				Duplicates: float64(n%3) / 3, Theta: 0.5, Values: 10, Snapshot: n%4 == 1, Seed: uint64(n)})
			h = randhist.Damage(rng, h, n%3)
		}
		for _, lvl := range (polygraph.Engine{}).Levels() {
			if lvl.RealTime() && !h.Timed() {
				continue
			}
			want, err := polygraph.Decide(t.Context(), h, lvl, polygraph.Engine{})
			if err != nil {
				t.Fatal(err)
			}
			count[want.Verdict]++
			for _, m := range []*choose.Machine{with(onChains), with(onBits), with(onHidden), with(onTimed), dying(1 + rng.IntN(4))} {
				cfg := polygraph.Config{}
				if rng.IntN(2) == 0 {
					cfg = all[rng.IntN(len(all))]
				}
				if cfg.Has(polygraph.Cycles) && !cfg.Has(polygraph.Pruning) {
					continue // too many uncertain edges for pairs
				}
				got, err := polygraph.Decide(t.Context(), h, lvl, polygraph.Engine{Config: cfg, Accel: polygraph.Acceleration{}.On(m)})
				if err != nil || got.Verdict != want.Verdict {
					t.Fatalf("history %d at %s, %s on %s: %v, %v; want %s", n, lvl, cfg, m.Backends[0].Name, got, err, want.Verdict)
				}
				if a := got.Accel; a != nil {
					used[a.Backend]++
				}
			}
		}
	}
	t.Logf("%v, %v", count, used)
	if count[verdict.Satisfied] < 30 || count[verdict.Violated] < 30 || used["chains"] < 50 || used["bitset"] < 50 || used["hidden"] < 20 {
		t.Errorf("one-sided: %v, %v", count, used)
	}
}

// TestHiddenPrunes checks that a GPU infers the same edges as the matrix on the CPU, except those
// from common predecessors of candidates.
func TestHiddenPrunes(t *testing.T) {
	h := synth.General(synth.GeneralConfig{Sessions: 100, Txns: 2000, Ops: 6, Keys: 500, Reads: 0.5, Duplicates: 0.5, Theta: 0.5, Values: 20, Seed: 3})
	for _, lvl := range []level.Level{level.SER, level.SI} {
		open := map[string]int{}
		for name, m := range map[string]*choose.Machine{"bitset": with(onBits), "hidden": with(onHidden), "none": with()} {
			r, err := polygraph.Engine{Accel: polygraph.Acceleration{}.On(m)}.Judge(t.Context(), h, lvl, engine.Options{})
			if err != nil || r.Verdict != verdict.Satisfied {
				t.Fatal(r, err)
			}
			open[name] = r.Search.OpenAfter
			if name != "none" && (r.Accel == nil || r.Accel.Backend != name || r.Accel.Vertices < 2000 || r.Accel.Edges < 2000 || r.Accel.Chains != 100 ||
				r.Accel.Bytes <= 0 || r.Accel.Reason == "") {
				t.Errorf("%s at %s: %+v", name, lvl, r.Accel)
			}
		}
		if open["hidden"] > open["bitset"]*3/2 || open["hidden"] >= open["none"] {
			t.Errorf("open reads at %s: %v", lvl, open)
		}
	}
}

// TestDeviceLost checks that if a GPU is lost at any moment, one line says so and another backend
// continues.
func TestDeviceLost(t *testing.T) {
	h := synth.General(synth.GeneralConfig{Sessions: 30, Txns: 400, Ops: 4, Keys: 100, Reads: 0.5, Duplicates: 0.5, Theta: 0.5, Values: 10, Seed: 5, Snapshot: true})
	for _, cfg := range []polygraph.Config{{}, polygraph.Paper(), polygraph.Paper().Without(polygraph.Pruning)} {
		if cfg.Has(polygraph.Cycles) && !cfg.Has(polygraph.Pruning) {
			h = synth.General(synth.GeneralConfig{Sessions: 4, Txns: 40, Ops: 4, Keys: 20, Reads: 0.5, Seed: 5, Snapshot: true})
		}
		lost := 0
		for n := 1; n < 40; n++ {
			var told []string
			e := polygraph.Engine{Config: cfg, Accel: polygraph.Acceleration{Warn: func(line string) { told = append(told, line) }}.On(dying(n))}
			r, err := e.Judge(t.Context(), h, level.SI, engine.Options{Proof: true})
			if err != nil || r.Verdict != verdict.Satisfied {
				t.Fatalf("%s, lost at call %d: %v, %v", cfg, n, r, err)
			}
			if err := certify.Result(t.Context(), h, r); err != nil {
				t.Fatalf("%s, lost at call %d: %v", cfg, n, err)
			}
			switch {
			case len(told) == 1 && strings.Contains(told[0], errLost.Error()) && r.Accel.Backend == "bitset":
				lost++
			case len(told) > 0 || r.Accel.Backend == "bitset" && n > 1:
				t.Errorf("%s, lost at call %d: told %q, and %s went on", cfg, n, told, r.Accel.Backend)
			}
		}
		if lost == 0 {
			t.Errorf("%s: nothing was lost", cfg)
		}
	}
}
