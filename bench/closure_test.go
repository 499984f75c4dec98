package bench

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
)

// liar is a backend with some wrong answers.
type liar struct {
	bitset.Backend
	about string
}

type lying struct {
	accel.Closure
	about      string
	insertions int
}

func (l liar) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	c, err := l.Backend.Closure(ctx, g, opt)
	return &lying{Closure: c, about: l.about}, err
}

func (l *lying) Reaches(from, to int32) bool {
	return l.Closure.Reaches(from, to) != (l.about == "single")
}

func (l *lying) Closing(ctx context.Context, edges []accel.Edge, groups []int32, out []bool) error {
	err := l.Closure.Closing(ctx, edges, groups, out)
	if last := len(out) - 1; l.about == "edges" || l.about == "edges after insertions" && l.insertions > 0 {
		out[last] = !out[last]
	}
	return err
}

func (l *lying) Among(ctx context.Context, g *accel.Groups) error {
	err := l.Closure.Among(ctx, g)
	if l.about == "groups" {
		g.Bits[len(g.Bits)/2] ^= 2
	}
	return err
}

func (l *lying) TwoCycles(ctx context.Context, edges []accel.Edge, f func(i, j int32) bool) error {
	if l.about == "cycles" {
		f(0, 1)
	}
	return l.Closure.TwoCycles(ctx, edges, f)
}

func (l *lying) Insert(ctx context.Context, edges []accel.Edge) error {
	l.insertions++
	if l.about == "failure" {
		return errors.New("the abacus broke")
	}
	return l.Closure.Insert(ctx, edges)
}

func (l *lying) Changed(v int32) uint64 {
	if (l.about == "changes" && l.insertions == 1 || l.about == "small changes" && l.insertions == 2) && v == 7 {
		if l.Closure.Changed(v) == 0 {
			return 1
		}
		return 0
	}
	return l.Closure.Changed(v)
}

// acyclic makes a graph whose edges lead from lower to higher numbers.
func acyclic(n int32, seed uint64) *accel.Graph {
	rng := rand.New(rand.NewPCG(seed, 1))
	var edges []accel.Edge
	for v := int32(1); v < n; v++ {
		for range 2 {
			edges = append(edges, accel.Edge{From: v - 1 - rng.Int32N(min(v, 20)), To: v})
		}
	}
	return accel.NewGraph(n, edges)
}

// TestLies: every wrong answer is detected, and correct backends agree.
func TestLies(t *testing.T) {
	for about, want := range map[string]string{
		"": "", "single": "says of the edge", "edges": "a plain search says", "edges after insertions": "after insertions",
		"groups": "members of groups", "cycles": "cycles of two edges", "changes": "that an insertion changes", "small changes": "that an insertion of a few edges changes", "failure": "the abacus broke",
	} {
		g := acyclic(900, 3)
		c := &Closures{Seed: 5, Repeat: 1, Questions: 5000, Backends: []ClosureBackend{
			{Name: "chains", Backend: chains.Backend{}}, {Name: "liar", Backend: liar{about: about}}}}
		if err := c.graph(context.Background(), &KnownGraph{Graph: g}); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(append(c.Wrong, c.Failed()...), "\n")
		if len(c.Measurements) != 2 || (all == "") != (want == "") || !strings.Contains(all, want) {
			t.Errorf("a lie about %q: %s", about, all)
		}
	}
}

// TestTraffic: the traffic is a triangle of rows without intervals, windows with them, and four
// bytes for each chain.
func TestTraffic(t *testing.T) {
	g := accel.NewGraph(200, []accel.Edge{{From: 0, To: 199}, {From: 130, To: 131}})
	order := make([]int32, 200)
	for i := range order {
		order[i] = int32(i)
	}
	if got, want := bitTraffic(g, order), int64(8*(64*1+64*2+64*3+8*4+1+3)); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if got := chainTraffic(g, 3); got != 4*3*202 {
		t.Errorf("%d bytes", got)
	}
	for v := range int64(200) {
		g.Intervals = append(g.Intervals, accel.Interval{Begin: v, End: v})
	}
	if got := bitTraffic(g, order); got != 8*202 {
		t.Errorf("%d bytes", got)
	}
}

// TestTimePoints: time points give the same paths as intervals, and no others. Simple searches
// and the beginnings of graphs are checked too.
func TestTimePoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	timed := 0
	for range 300 {
		g, _ := acceltest.Random(rng, 30)
		rows, ok := acceltest.Warshall(g, nil)
		if !ok {
			continue
		}
		a := accel.NewAdjacency(g)
		order, err := a.Order()
		if err != nil {
			t.Fatal(err)
		}
		for v := range g.Len() {
			for u, yes := range reaching(a, v).from {
				if yes != rows[v][u] {
					t.Fatalf("%d reaches %d: %v", u, v, yes)
				}
			}
		}
		part := order[:(len(order)+1)/2]
		b, ok := acceltest.Warshall(beginning(g, part), nil)
		if !ok {
			t.Fatal("a beginning has a cycle")
		}
		for j := range part {
			for i := range part {
				if b[j][i] != rows[part[j]][part[i]] {
					t.Fatal("a beginning differs")
				}
			}
		}
		if g.Intervals == nil {
			continue
		}
		timed++
		points, ok := acceltest.Warshall(timePoints(g), nil)
		for v := range rows {
			for u := range rows {
				if !ok || points[v][u] != rows[v][u] {
					t.Fatalf("%d reaches %d by points: %v", u, v, ok && points[v][u])
				}
			}
		}
	}
	if timed < 50 {
		t.Errorf("only %d graphs with intervals", timed)
	}
}

// TestBandwidth: all three loops are measured, and end when the context does.
func TestBandwidth(t *testing.T) {
	b, err := MeasureBandwidth(context.Background(), 1<<22)
	if err != nil || b.Read <= 0 || b.Copy <= 0 || b.Unite <= 0 || b.Best() < b.Unite || b.Bytes > 1<<22 {
		t.Errorf("%+v, %v", b, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := MeasureBandwidth(ctx, 1<<22); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTableNumbers: figures have no exponents, and a reason that several backends share is said once.
func TestTableNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.0000123: "0.0000123", 0.25: "0.25", 12.345: "12.3", 2020.4: "2020", 123456: "123000"} {
		if got := plain(x); got != want {
			t.Errorf("%v: %s, not %s", x, got, want)
		}
	}
	var c Closures
	for _, name := range []string{"cuda", "cuda-squaring", "cuda"} {
		c.Measurements = append(c.Measurements, ClosureMeasurement{Backend: name, Status: StatusUnavailable, Reason: "no GPU"})
	}
	c.Measurements = append(c.Measurements, ClosureMeasurement{Backend: "chains", Status: StatusDone, Share: 20.2})
	var b strings.Builder
	if err := c.Table(&b); err != nil || !strings.Contains(b.String(), "\ncuda and cuda-squaring, unavailable: no GPU\n") || strings.Count(b.String(), "no GPU") != 1 || !strings.Contains(b.String(), "2020 %") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
