//go:build linux

package cuda_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/cuda"
	"github.com/isohound/isohound/accel/cuda/cudatest"
	"github.com/pkg/errors"
)

func open(t *testing.T, cfg cuda.Config) *cuda.Backend {
	t.Helper()
	b, err := cuda.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// TestContract tests the PTX, which is what is shipped.
func TestContract(t *testing.T) {
	acceltest.Run(t, open(t, cuda.Config{Library: cudatest.NewPTX(t, "").Path}))
}

// TestAgain computes all rows anew at every insertion.
func TestAgain(t *testing.T) {
	b := open(t, cuda.Config{Library: cudatest.New(t, "").Path})
	b.Again()
	acceltest.Run(t, b)
	large(t, b, false)
}

// TestParts runs the kernels' source on graphs cut into many parts, and with squaring.
func TestParts(t *testing.T) {
	narrow := open(t, cuda.Config{Library: cudatest.New(t, "threads=96").Path})
	narrow.Narrow(5, 16, 1024)
	squaring := open(t, cuda.Config{Library: cudatest.New(t, "disorder=0").Path, Squaring: true})
	for seed := range acceltest.Graphs(150) {
		for _, b := range []*cuda.Backend{narrow, squaring} {
			r := rand.New(rand.NewPCG(uint64(seed), 9))
			g, edges := acceltest.Random(r, []int{4, 12, 40, 150}[seed%4])
			if !acceltest.Try(t, b, g, edges, r, 5) {
				t.Fatalf("with seed %d", seed)
			}
		}
	}
}

// TestDevice runs on a real GPU, if there is one, what the other tests run on a fake one.
func TestDevice(t *testing.T) {
	b, err := cuda.Open(cuda.Config{})
	if err != nil {
		t.Skip(err)
	}
	defer b.Close()
	t.Logf("%+v", b.Device())
	acceltest.Run(t, b)
	large(t, b, true)
	acceltest.Agree(t, b, bitset.Backend{}, 50000)
	b.Again()
	large(t, b, false)
}

func TestStopsAsking(t *testing.T) {
	b := open(t, cuda.Config{Library: cudatest.New(t, "").Path})
	g := accel.NewGraph(4, []accel.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}})
	c, err := b.Closure(t.Context(), g, accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n := b.Memory(g); c.Bytes() > n {
		t.Errorf("the closure takes %d bytes, and was to take at most %d", c.Bytes(), n)
	}
	told := 0
	edges := []accel.Edge{{From: 3, To: 0}, {From: 2, To: 0}, {From: 3, To: 1}}
	err = c.TwoCycles(t.Context(), edges, func(_, _ int32) bool { told++; return false })
	if err != nil || told != 1 {
		t.Errorf("told %d pairs after the first was enough: %v", told, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	out := make([]bool, 1)
	for name, err := range map[string]error{
		"Closing":   c.Closing(ctx, edges, []int32{0, 3}, out),
		"Among":     c.Among(ctx, &accel.Groups{Start: []int32{0, 2}, Members: []int32{0, 1}}),
		"TwoCycles": c.TwoCycles(ctx, edges, func(_, _ int32) bool { return true }),
		"Insert":    c.Insert(ctx, edges[:1]),
		"Closure":   second(b.Closure(ctx, g, accel.Options{})),
	} {
		if !errors.Is(err, enough) {
			t.Errorf("%s after the context's end: %v", name, err)
		}
	}
	if err := c.Closing(t.Context(), []accel.Edge{{From: 0, To: 4}}, []int32{0, 1}, out); err == nil {
		t.Error("an edge to a vertex that is not there was asked about")
	}
	if err := c.Among(t.Context(), &accel.Groups{Start: []int32{0, 1}, Members: []int32{-1}}); err == nil {
		t.Error("a source that is not there was asked about")
	}
	var m *accel.MemoryError
	if _, err := b.Closure(t.Context(), g, accel.Options{MaxMemory: b.Memory(g) - 1}); !errors.As(err, &m) {
		t.Errorf("too little memory: %v", err)
	}
}

func second(_ accel.Closure, err error) error { return err }

func TestManyAsk(t *testing.T) {
	b := open(t, cuda.Config{Library: cudatest.New(t, "").Path})
	r := rand.New(rand.NewPCG(5, 5))
	g, _ := shape{chains: 8, far: 100, sources: 100, vertices: 600}.graph(r)
	c, err := b.Closure(t.Context(), g, accel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := ask(t, c, g, rand.New(rand.NewPCG(6, 6)))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			got := ask(t, c, g, rand.New(rand.NewPCG(6, 6)))
			if !slices.Equal(got.among, want.among) || !slices.Equal(got.closing, want.closing) {
				t.Error("answers differ among those who ask at once")
			}
			for v := range g.Len() {
				if !c.Reaches(v, v) {
					t.Errorf("%d does not reach itself", v)
				}
			}
		})
	}
	wg.Wait()
}
