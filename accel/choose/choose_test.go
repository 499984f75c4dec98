package choose_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
	"github.com/isohound/isohound/accel/choose"
)

func TestParse(t *testing.T) {
	for _, name := range []string{"auto", "chains", "bitset", "cuda"} {
		if c, err := choose.Parse(name); err != nil || string(c) != name {
			t.Errorf("%s: %v, %v", name, c, err)
		}
		if !strings.Contains(choose.Help(), "\n  "+name+" ") && !strings.HasPrefix(choose.Help(), "  "+name+" ") {
			t.Errorf("help says nothing of %s:\n%s", name, choose.Help())
		}
	}
	for _, name := range []string{"", "none", "gpu", "Auto"} {
		if _, err := choose.Parse(name); err == nil || !strings.Contains(err.Error(), "auto, chains, bitset, cuda") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestCostsGrow: a larger graph never costs less.
func TestCostsGrow(t *testing.T) {
	base := choose.Shape{Vertices: 1 << 10, Sources: 1 << 10, Edges: 1 << 12, Chains: 1 << 3}
	gpu := choose.Device{Name: "some", Bandwidth: 1e12}
	for _, b := range choose.Here().Backends {
		last := b.Seconds(base, gpu, 2)
		s := base
		for range 12 {
			s.Vertices, s.Sources, s.Edges, s.Chains = 2*s.Vertices, 2*s.Sources, 2*s.Edges, 2*s.Chains
			now := b.Seconds(s, gpu, 2)
			more := s
			more.Edges *= 2
			if now <= last || b.Seconds(more, gpu, 2) < now || b.Seconds(s, gpu, 16) > now {
				t.Errorf("%s at %+v: %g s after %g s", b.Name, s, now, last)
			}
			last = now
		}
	}
}

// TestAuto: chains is chosen for few chains, bitset for many.
func TestAuto(t *testing.T) {
	for _, tc := range []struct {
		txns, sessions int32
		few            int64
		want           string
	}{{2000, 10, 64, "chains"}, {2000, 1000, 64, "bitset"}, {4000, 2000, 0, "bitset"}, {64_000, 10, 0, "chains"}} {
		d := choose.Decide(sessions(tc.txns, tc.sessions), choose.Wishes{Few: tc.few, Machine: roomy(choose.Here().Backends[:2]...)})
		if d.Backend != tc.want || !strings.Contains(d.Reason, tc.want+" needs up to") {
			t.Errorf("%d transactions of %d sessions: %s, want %s: %s", tc.txns, tc.sessions, d.Backend, tc.want, d.Reason)
		}
	}
}

// sessions is a graph of sessions that occasionally see a transaction of another session.
func sessions(txns, count int32) *accel.Graph {
	cover := &accel.Cover{Chain: make([]int32, txns), Place: make([]int32, txns), Count: count}
	var edges []accel.Edge
	for v := range txns {
		cover.Chain[v], cover.Place[v] = v%count, v/count+1
		if v >= count {
			edges = append(edges, accel.Edge{From: v - count, To: v}, accel.Edge{From: v - 1, To: v})
		}
	}
	g := accel.NewGraph(txns, edges)
	g.Cover = cover
	return g
}

func roomy(backends ...choose.Backend) *choose.Machine {
	return &choose.Machine{Free: func() int64 { return math.MaxInt64 }, Workers: 2, Backends: backends}
}

// stand is a fake backend.
type stand struct {
	accel.Backend
	name   string
	memory int64
	err    error // of Closure
}

func (s stand) Name() string              { return s.name }
func (s stand) Memory(*accel.Graph) int64 { return s.memory }
func (s stand) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	if s.err != nil {
		return nil, s.err
	}
	opt.MaxMemory = 0 // the test sets the memory in s.memory
	return s.Backend.Closure(ctx, g, opt)
}

func offered(s stand, seconds float64, missing error) choose.Backend {
	return choose.Backend{
		Name: s.name,
		Open: func(*accel.Graph, *choose.Wishes) (accel.Backend, choose.Device, error) {
			return s, choose.Device{}, missing
		},
		Seconds: func(choose.Shape, choose.Device, int) float64 { return seconds },
	}
}

// TestOrder: the best available backend is chosen, and the next one when it fails.
func TestOrder(t *testing.T) {
	none := errors.New("there is no such device")
	lost := errors.New("the device is lost")
	fast := func(memory int64, err, missing error) choose.Backend {
		return offered(stand{bitset.Backend{}, "bitset", memory, err}, 1, missing)
	}
	slow := func(memory int64) choose.Backend {
		return offered(stand{chains.Backend{}, "chains", memory, nil}, 2, nil)
	}
	for _, tc := range []struct {
		name     string
		backends []choose.Backend
		wish     choose.Choice
		want     string
		reason   string
		warning  string
	}{
		{"the fastest", []choose.Backend{slow(100), fast(100, nil, nil)}, "", "bitset", "bitset needs up to 100 B and about 1 s; chains", ""},
		{"the one that fits", []choose.Backend{slow(100), fast(5000, nil, nil)}, "auto", "chains", "bitset needs up to 4.9 KiB, and the limit is 1000 B", ""},
		{"the one that is there", []choose.Backend{fast(100, nil, none), slow(100)}, "auto", "chains", "bitset is not available: there is no such device", ""},
		{"the one that works", []choose.Backend{fast(100, lost, nil), slow(100)}, "auto", "chains", "the device is lost", ""},
		{"the wish", []choose.Backend{fast(100, nil, nil), slow(100)}, "chains", "chains", "requested: chains", ""},
		{"a wish too large", []choose.Backend{fast(5000, nil, nil), slow(100)}, "bitset", "chains", "1 chain", "backend bitset needs up to 4.9 KiB, and the limit is 1000 B; chains is used instead"},
		{"a wish that is not there", []choose.Backend{fast(100, nil, none), slow(100)}, "bitset", "chains", "1 chain", "bitset is not available: there is no such device; chains is used instead"},
		{"a wish that fails", []choose.Backend{fast(100, lost, nil), slow(100)}, "bitset", "chains", "1 chain", "the device is lost; chains is used instead"},
		{"none", []choose.Backend{fast(5000, nil, nil), slow(5000)}, "", choose.None, "chains needs up to", "no backend can compute reachability"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var told []string
			w := choose.Wishes{Choice: tc.wish, Memory: 1000, Machine: roomy(tc.backends...), Warn: func(line string) { told = append(told, line) }}
			c, d, err := choose.Closure(t.Context(), sessions(4, 1), accel.Options{}, w)
			if err != nil || d.Backend != tc.want || (c == nil) != (tc.want == choose.None) {
				t.Fatalf("%v, %+v, %v", c, d, err)
			}
			if !strings.Contains(d.Reason, tc.reason) {
				t.Errorf("the reason is %q, want %q in it", d.Reason, tc.reason)
			}
			if all := strings.Join(told, "\n"); (tc.warning == "") != (all == "") || !strings.Contains(all, tc.warning) || len(told) > 1 {
				t.Errorf("warned of %q, want %q", all, tc.warning)
			}
		})
	}
}

// TestInstead: the smaller form of the graph is used if the graph itself does not fit.
func TestInstead(t *testing.T) {
	lean := sessions(3, 1)
	m := roomy(choose.Backend{
		Name: "chains",
		Open: func(g *accel.Graph, _ *choose.Wishes) (accel.Backend, choose.Device, error) {
			return stand{chains.Backend{}, "chains", int64(g.Len()) * 100, nil}, choose.Device{}, nil
		},
		Seconds: func(choose.Shape, choose.Device, int) float64 { return 1 },
	})
	for memory, vertices := range map[int64]int64{1000: 4, 350: 3} {
		made := 0
		w := choose.Wishes{Memory: memory, Machine: m, Instead: func() *accel.Graph { made++; return lean }}
		c, d, err := choose.Closure(t.Context(), sessions(4, 1), accel.Options{Order: []int32{0, 1, 2, 3}}, w)
		if err != nil || d.Shape.Vertices != vertices || c == nil || made > 1 {
			t.Errorf("with %d bytes: %v, %+v, %v, made %d times", memory, c, d, err, made)
		}
	}
}

// TestDevice: a device's own memory counts, and the device is not opened if a processor is
// faster than opening it.
func TestDevice(t *testing.T) {
	opened := 0
	device := func(need, free int64) choose.Backend {
		return choose.Backend{
			Name: "cuda", OpenSeconds: 0.5,
			Open: func(*accel.Graph, *choose.Wishes) (accel.Backend, choose.Device, error) {
				opened++
				return stand{bitset.Backend{}, "cuda", 10, nil}, choose.Device{Name: "some GPU", Need: need, Free: free, Bandwidth: 1e12}, nil
			},
			Seconds: func(choose.Shape, choose.Device, int) float64 { return 0.1 },
		}
	}
	for _, tc := range []struct {
		need, free int64
		chains     float64
		want       string
		opened     int
	}{{1 << 40, 1 << 41, 2, "cuda", 1}, {1 << 41, 1 << 40, 2, "chains", 1}, {10, 20, 0.4, "chains", 0}} {
		opened = 0
		m := roomy(offered(stand{chains.Backend{}, "chains", 100, nil}, tc.chains, nil), device(tc.need, tc.free))
		d := choose.Decide(sessions(4, 1), choose.Wishes{Memory: 1000, Machine: m})
		if d.Backend != tc.want || opened != tc.opened {
			t.Errorf("%+v: %s (%s), opened %d times", tc, d.Backend, d.Reason, opened)
		}
	}
}

// TestErrors: a cycle, or the end of the context, is no failure of a backend.
func TestErrors(t *testing.T) {
	g := accel.NewGraph(2, []accel.Edge{{From: 0, To: 1}, {From: 1, To: 0}})
	g.Cover = &accel.Cover{Chain: []int32{0, 1}, Place: []int32{1, 1}, Count: 2}
	var cycle *accel.CycleError
	if c, _, err := choose.Closure(t.Context(), g, accel.Options{}, choose.Wishes{}); c != nil || !errors.As(err, &cycle) {
		t.Errorf("of a cycle: %v, %v", c, err)
	}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	if c, _, err := choose.Closure(ctx, sessions(100, 2), accel.Options{}, choose.Wishes{}); c != nil || !errors.Is(err, over) {
		t.Errorf("after the end: %v, %v", c, err)
	}
}
