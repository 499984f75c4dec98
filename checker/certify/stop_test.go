package certify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

var errEnough = errors.New("enough")

// impatient is a context that ends after it was checked a number of times.
type impatient struct {
	context.Context
	end  context.CancelCauseFunc
	left int
}

func newImpatient(t *testing.T, questions int) *impatient {
	ctx, end := context.WithCancelCause(t.Context())
	return &impatient{ctx, end, questions}
}

func (c *impatient) Err() error {
	if c.left--; c.left < 0 {
		c.end(errEnough)
	}
	return c.Context.Err()
}

// TestStops checks that the end of the context ends every verification, at the start and half-way.
func TestStops(t *testing.T) {
	wide := wideHistory(200_000)
	// Each read of the last transaction is from a different moment. Only trying very many
	// executions shows that this is impossible.
	var puzzle strings.Builder
	for k := range 14 {
		fmt.Fprintf(&puzzle, "s%d: w(x%d,1)\ns%d: r(x%d,1) w(x%d,2)\n", 2*k, k, 2*k+1, k, (k+1)%14)
	}
	puzzle.WriteString("s99: r(x0,0) r(x1,2) r(x2,0) r(x3,2) r(y,1)\ns98: w(y,1) r(y,1) r(z,1)\ns97: w(z,1) r(y,1) r(x0,2)\n")
	hard := dsl.MustParse(puzzle.String())
	all := verdict.Anomaly{Kind: verdict.Contradiction}
	for i := range hard.Txns {
		all.Txns = append(all.Txns, int32(i))
		for n := range hard.Ops(&hard.Txns[i]) {
			all.Ops = append(all.Ops, verdict.OpRef{Txn: int32(i), Op: n})
		}
	}
	thin := verdict.Anomaly{Kind: verdict.ThinAirRead, Txns: []int32{0}, Ops: []verdict.OpRef{{Txn: 0, Op: 0}}}
	stale := dsl.MustParse("s1: w(x,1)\ns1: r(x,0)\n")
	proof := &verdict.Refutation{Steps: []verdict.Step{step(verdict.HasSource, 1, 0, 0), step(verdict.NothingBetween, 1, initial, 0), cycle(1, 2), end}}
	for _, tc := range []struct {
		name   string
		verify func(ctx context.Context) error
		// questions is how often the verification must at least check its context.
		questions int
	}{
		{"serial witness", func(ctx context.Context) error {
			return certify.Result(ctx, wide, &verdict.Result{Level: level.SER, Verdict: verdict.Satisfied, Witness: &verdict.Witness{Order: []int32{0, 1, 2}}})
		}, 3},
		{"points", func(ctx context.Context) error {
			return certify.Result(ctx, wide, &verdict.Result{Level: level.SI, Verdict: verdict.Satisfied, Witness: &verdict.Witness{Points: []int32{0, 1, 2, 3, 4, 5}}})
		}, 3},
		{"single read", func(ctx context.Context) error {
			return certify.Result(ctx, wide, &verdict.Result{Level: level.SER, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{thin}})
		}, 3},
		{"trial of executions", func(ctx context.Context) error {
			return certify.Result(ctx, hard, &verdict.Result{Level: level.SER, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{all}})
		}, 2},
		{"refutation", func(ctx context.Context) error { return certify.Replay(ctx, stale, level.SER, proof) }, 1},
	} {
		for n := range tc.questions {
			if err := tc.verify(newImpatient(t, n)); !errors.Is(err, errEnough) {
				t.Errorf("%s: a context that ends at question %d is not heard: %v", tc.name, n+1, err)
			}
		}
	}
}

// wideHistory has a transaction that writes many keys, one that reads them, and one that does both.
func wideHistory(keys int) *history.History {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	var writes, reads, both []history.Op
	for k := range keys {
		key := sym.Key(fmt.Sprint("k", k))
		writes = append(writes, history.Op{Kind: history.Write, Key: key, Value: sym.Int(1)})
		reads = append(reads, history.Op{Kind: history.Read, Key: key, Value: sym.Int(1)})
		both = append(both, history.Op{Kind: history.Read, Key: key, Value: sym.Int(1)}, history.Op{Kind: history.Write, Key: key, Value: sym.Int(2)},
			history.Op{Kind: history.Read, Key: key, Value: sym.Int(2)})
	}
	b := history.NewBuilder(history.Header{}, sym, 3)
	for i, ops := range [][]history.Op{writes, reads, both} {
		rec := history.Record{ID: int64(i), Session: int64(i), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed, Ops: ops}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// BenchmarkWide certifies histories of three very long transactions.
func BenchmarkWide(b *testing.B) {
	for _, keys := range []int{100_000, 200_000, 400_000, 800_000} {
		h := wideHistory(keys)
		for name, r := range map[string]*verdict.Result{
			"serial":    {Level: level.SER, Verdict: verdict.Satisfied, Witness: &verdict.Witness{Order: []int32{0, 1, 2}}},
			"snapshots": {Level: level.SI, Verdict: verdict.Satisfied, Witness: &verdict.Witness{Points: []int32{0, 1, 2, 3, 4, 5}}},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, keys), func(b *testing.B) {
				for b.Loop() {
					if err := certify.Result(b.Context(), h, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestStopInsideEdge checks that the end of the context is the error also where one of several ways to show an edge of a weak
// level is cut off.
func TestStopInsideEdge(t *testing.T) {
	const n = 2_000 // its verification asks about 190 times
	var b strings.Builder
	b.WriteString("s1:")
	for i := range n {
		fmt.Fprintf(&b, " w(x,%d)", i+1)
	}
	b.WriteString("\ns2:")
	for i := range n - 1 {
		fmt.Fprintf(&b, " n(x,%d)", i+1)
	}
	fmt.Fprintf(&b, " r(x,%d) r(x,0)\n", n)
	h := dsl.MustParse(b.String())
	r, err := checker.Check(t.Context(), h, level.RC, checker.Options{})
	if err != nil || r.Verdict != verdict.Violated {
		t.Fatal(r, err)
	}
	stopped := 0
	for questions := 0; questions < 256; questions += 8 {
		switch err := certify.Result(newImpatient(t, questions), h, r); {
		case errors.Is(err, errEnough):
			stopped++
		case err != nil:
			t.Error(questions, err)
		}
	}
	if stopped == 0 {
		t.Error("never stopped")
	}
}
