package polygraph_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
	"github.com/isohound/isohound/accel/choose"
)

// hidden is a backend whose closures the engine knows nothing of but what every
// closure does, as it is with a device.
type hidden struct {
	accel.Backend
	// dies, if set, says whether the device gets lost at a call.
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
			f(0, 1) // what is told by one that fails counts for nothing
		}
		return errLost
	}
	return h.Closure.TwoCycles(ctx, edges, f)
}

// backend is one of a machine that costs nothing to speak of.
func backend(open func(group int32) accel.Backend) choose.Backend {
	return choose.Backend{
		Name: open(1).Name(),
		Open: func(_ *accel.Graph, w *choose.Wishes) (accel.Backend, choose.Device, error) {
			return open(w.Group), choose.Device{}, nil
		},
		// The first of a list is taken: all others cost the same.
		Seconds: func(choose.Shape, choose.Device, int) float64 { return 0 },
	}
}

func with(backends ...choose.Backend) *choose.Machine {
	return &choose.Machine{Free: func() int64 { return math.MaxInt64 }, Workers: 2, Backends: backends}
}

var (
	onChains = backend(func(int32) accel.Backend { return chains.Backend{} })
	onBits   = backend(func(group int32) accel.Backend { return bitset.Backend{Group: group} })
	onHidden = backend(func(group int32) accel.Backend { return hidden{Backend: bitset.Backend{}} })
)

// dying is a machine with a device that gets lost at the n-th call of those that
// can say so.
func dying(n int) *choose.Machine {
	var calls atomic.Int64
	return with(backend(func(int32) accel.Backend {
		return hidden{chains.Backend{}, func() bool { return int(calls.Add(1)) == n }}
	}), onBits)
}

// randomMachine is one of those, the engine's own choice among them.
func randomMachine(rng *rand.Rand) (name string, m *choose.Machine) {
	switch rng.IntN(8) {
	case 0, 1:
		return "chains", with(onChains)
	case 2, 3:
		return "bitset", with(onBits)
	case 4, 5:
		return "hidden", with(onHidden)
	case 6:
		return "none", with()
	}
	return "dying", dying(1 + rng.IntN(6))
}
