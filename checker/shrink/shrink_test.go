package shrink_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestClose checks that for each kept read all writers of its value are kept, or all transactions
// from which it can have read.
func TestClose(t *testing.T) {
	h := dsl.MustParse(`s1 T1: r(x,1) r(y,0)
s2 T2: w(x,1) w(z,1)
s3 T3: w(x,1) w(x,2)
s4 T4: w(x,1) abort
s5 T5: r(y,0) w(x,1) w(y,3) unknown
s6 T6: r(z,1) w(y,5)
`)
	for _, tc := range []struct {
		rules shrink.Rules
		want  string
	}{
		{shrink.Rules{Level: level.SER}, "[{0 [0]} {1 [0]} {2 [0 1]} {3 [0]} {4 [1]}]"},
		{shrink.Rules{Level: level.SER, Possible: true}, "[{0 [0]} {1 [0]} {4 [0 1 2]}]"},
	} {
		p := shrink.New(h, tc.rules)
		p.Add(0, 0)
		p.Close()
		if got := shown(p.Parts()); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.rules, got, tc.want)
		}
	}
	p := shrink.New(h, shrink.Rules{Level: level.SER, Possible: true})
	p.Add(0, 0)
	p.Close()
	if !p.Fill() || !p.Has(0, 1) || p.HasTxn(5) {
		t.Errorf("filled: %v", p.Parts())
	}
	if !p.Widen() || !p.Has(1, 1) {
		t.Errorf("widened: %v", p.Parts())
	}
}

// TestLightweight checks that at level lin an insertion needs the writers of absence, a failure
// needs the transactions that overwrote the value that it did not find, and transactions are kept
// completely.
func TestLightweight(t *testing.T) {
	h := dsl.MustParse(`initial nil
s1 T1: w(x,1)
s2 T2: r(x,1) w(x,2)
s3 T3: n(x,1)
s4 T4: r(x,2) w(x,3)
`)
	p := shrink.New(h, shrink.Rules{Level: level.LIN})
	p.Add(2)
	p.Close()
	if got := shown(p.Parts()); got != "[{0 [0]} {1 [0 1]} {2 [0]}]" {
		t.Error(got)
	}
}

// TestRepeatedReads checks that a read that needs no write stays only with the read or the write that says what it
// returns.
func TestRepeatedReads(t *testing.T) {
	h := dsl.MustParse("s1 T1: w(x,1)\ns2 T2: w(x,1)\ns3 T3: r(x,1) r(x,1) w(x,2) r(x,2) r(x,2)\n")
	p := shrink.New(h, shrink.Rules{Level: level.SER, Possible: true})
	p.Add(2, 1, 4)
	p.Close()
	if got := shown(p.Parts()); got != "[{0 [0]} {1 [0]} {2 [0 1 2 4]}]" {
		t.Error(got)
	}
	less := p.Clone()
	less.Drop(1, 0)
	if got := shown(less.Parts()); got != "[{0 [0]} {2 [2 4]}]" {
		t.Error(got)
	}
	less.Drop(2, 2)
	if got := shown(less.Parts()); got != "[{0 [0]}]" {
		t.Error(got)
	}
}

// TestMinimize checks that random histories that violate a level are shrunk to parts that the
// certifier accepts as counterexamples, and from which nothing more can be removed.
func TestMinimize(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 7))
	shrunk, left := 0, 0
	for range randhist.Count(t, 5_000) {
		h := randhist.Of(rng, 3, 3+rng.IntN(4), 5)
		lvl := []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO}[rng.IntN(4)]
		violates := func(_ context.Context, sub *history.History) (shrink.Judgement, error) {
			allowed, decided := certify.Judge(sub, lvl, 100_000)
			return shrink.Judgement{Violated: decided && !allowed}, nil
		}
		if j, _ := violates(t.Context(), h); !j.Violated || !h.Closed {
			continue
		}
		p := shrink.New(h, shrink.Rules{Level: lvl, Possible: true})
		addPossible(p, h)
		p.Close()
		first, _ := violates(t.Context(), h.Sub(p.Parts()))
		if !first.Violated {
			continue // the violation needs a read of its own transaction's write
		}
		if err := p.Minimize(t.Context(), violates, first); err != nil {
			t.Fatal(err)
		}
		a := verdict.Anomaly{Kind: verdict.Contradiction}
		for _, part := range p.Parts() {
			a.Txns = append(a.Txns, part.Txn)
			for _, j := range part.Ops {
				a.Ops = append(a.Ops, verdict.OpRef{Txn: part.Txn, Op: j})
			}
		}
		if err := certify.Result(t.Context(), h, &verdict.Result{Level: lvl, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}}); err != nil {
			t.Fatalf("seed %d, %s: %v: %+v\n%s", seed, lvl, err, p.Parts(), dsl.Format(h))
		}
		shrunk++
		left += len(a.Ops)
		before := shown(p.Parts())
		if err := p.Minimize(t.Context(), violates, first); err != nil || shown(p.Parts()) != before {
			t.Errorf("seed %d, %s: %s is made smaller when it is tried again: %v\n%s", seed, lvl, before, p.Parts(), dsl.Format(h))
		}
	}
	t.Logf("%d parts, %d operations", shrunk, left)
	if shrunk < 100 && !randhist.Few(t) {
		t.Error("too few")
	}
}

// addPossible keeps what can matter to other transactions: of the committed ones the reads of
// others' writes and the last writes, of those of unknown outcome everything.
func addPossible(p *shrink.Part, h *history.History) {
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Status == history.Unknown {
			p.AddAll(int32(i))
		}
		if t.Status != history.Committed {
			continue
		}
		first, last := map[history.Key]int{}, map[history.Key]int{}
		for j, op := range h.Ops(t) {
			if _, known := first[op.Key]; !known {
				first[op.Key] = j
			}
			if op.Kind == history.Write {
				last[op.Key] = j
			}
		}
		for j, op := range h.Ops(t) {
			if op.Kind == history.Read && first[op.Key] == j || op.Kind == history.Write && last[op.Key] == j {
				p.Add(int32(i), j)
			}
		}
	}
}

// TestMinimizeStops checks that what was removed before the context ended stays removed.
func TestMinimizeStops(t *testing.T) {
	h := dsl.MustParse("s1: w(a,1)\ns2: w(b,1)\ns3: w(c,1)\ns4: w(x,1)\ns4: r(x,0)\n")
	p := shrink.New(h, shrink.Rules{Level: level.SER})
	for i := range h.Txns {
		p.AddAll(int32(i))
	}
	p.Close()
	enough := errors.New("enough")
	ctx, end := context.WithCancelCause(t.Context())
	trials := 0
	err := p.Minimize(ctx, func(_ context.Context, sub *history.History) (shrink.Judgement, error) {
		if trials++; trials == 4 {
			end(enough)
		}
		allowed, _ := certify.Judge(sub, level.SER, 1000)
		return shrink.Judgement{Violated: !allowed}, nil
	}, shrink.Judgement{Violated: true})
	if n := len(p.Parts()); !errors.Is(err, enough) || n == 2 || n == 5 || trials != 4 {
		t.Errorf("%d parts after %d trials: %v", n, trials, err)
	}
}

// TestEnough checks that the part on which a judgement rests is kept, and that the rest is removed
// without more trials. If that part is not enough after all, everything is tried.
func TestEnough(t *testing.T) {
	var text string
	for i := range 100 {
		text += fmt.Sprintf("s%d: w(k%d,1)\n", i, i)
	}
	h := dsl.MustParse(text + "s200 T101: w(x,1)\ns200 T102: r(x,0)\n")
	for _, tc := range []struct {
		name        string
		leap, right bool
		trials      int // at most
	}{{"leap", true, true, 10}, {"skip", false, true, 10}, {"a wrong leap", true, false, 1000}, {"a wrong skip", false, false, 1000}} {
		p := shrink.New(h, shrink.Rules{Level: level.SER})
		for i := range h.Txns {
			p.AddAll(int32(i))
		}
		p.Close()
		trials := 0
		judge := func(_ context.Context, sub *history.History) (shrink.Judgement, error) {
			trials++
			n := len(sub.Txns)
			enough := func() []history.Part {
				out := []history.Part{{Txn: int32(n - 2), Ops: []int{0}}, {Txn: int32(n - 1), Ops: []int{0}}}
				if !tc.right {
					return out[:1]
				}
				return out
			}
			return shrink.Judgement{Violated: n >= 2 && sub.Txns[n-2].ID == 101, Enough: enough, Leap: tc.leap}, nil
		}
		first, _ := judge(t.Context(), h)
		if err := p.Minimize(t.Context(), judge, first); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Txns()); got != "[100 101]" || trials > tc.trials {
			t.Errorf("%s: %v after %d trials", tc.name, got, trials)
		}
	}
}

// BenchmarkChain shrinks a violation by two transactions in a chain of others that all read from
// each other.
func BenchmarkChain(b *testing.B) {
	for _, n := range []int{1_000, 2_000, 4_000, 8_000} {
		sym := history.NewSymbols()
		sym.DefaultInitial = sym.Int(0)
		build := history.NewBuilder(history.Header{}, sym, n+2)
		add := func(id, session int, ops ...history.Op) {
			rec := history.Record{ID: int64(id), Session: int64(session), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed, Ops: ops}
			if err := build.Add(&rec); err != nil {
				b.Fatal(err)
			}
		}
		x, y := sym.Key("x"), sym.Key("y")
		for i := range n {
			add(i, i%20, history.Op{Kind: history.Read, Key: x, Value: sym.Int(int64(i))}, history.Op{Kind: history.Write, Key: x, Value: sym.Int(int64(i + 1))})
		}
		add(n, 20, history.Op{Kind: history.Write, Key: y, Value: sym.Int(1)})
		add(n+1, 20, history.Op{Kind: history.Read, Key: y, Value: sym.Int(0)})
		h := build.Done(true, nil)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				p := shrink.New(h, shrink.Rules{Level: level.SER})
				for i := range h.Txns {
					p.AddAll(int32(i))
				}
				p.Close()
				err := p.Minimize(b.Context(), func(_ context.Context, sub *history.History) (shrink.Judgement, error) {
					m := len(sub.Txns)
					return shrink.Judgement{Violated: m >= 2 && sub.Txns[m-1].ID == int64(n+1) && sub.Txns[m-2].ID == int64(n)}, nil
				}, shrink.Judgement{Violated: true})
				if err != nil || len(p.Txns()) != 2 {
					b.Fatal(p.Txns(), err)
				}
			}
		})
	}
}

// shown writes parts without choices.
func shown(parts []history.Part) string {
	text := ""
	for _, p := range parts {
		text += fmt.Sprintf(" {%d %v}", p.Txn, p.Ops)
	}
	return "[" + strings.TrimPrefix(text, " ") + "]"
}

// TestManyOperations: of two transactions of many operations, four matter. Operations are removed in groups, so that few
// judgements are needed.
func TestManyOperations(t *testing.T) {
	const n = 20_000
	var b strings.Builder
	for txn, form := range []string{"w(k%d,1) ", "r(k%d,1) "} {
		fmt.Fprintf(&b, "s%d: ", txn)
		for k := range n {
			if txn == 1 && k == 777 {
				form = "r(k%d,0) "
			} else if txn == 1 {
				form = "r(k%d,1) "
			}
			fmt.Fprintf(&b, form, k)
		}
		b.WriteString("\n")
	}
	h := dsl.MustParse(b.String())
	for _, tc := range []struct {
		leap bool
		most int // judgements
	}{{false, 200}, {true, 30}} {
		p := shrink.New(h, shrink.Rules{Level: level.SER})
		for t := range h.Txns {
			p.Add(int32(t))
			p.AddAll(int32(t))
		}
		p.Close()
		judged := 0
		judge := func(_ context.Context, sub *history.History) (j shrink.Judgement, err error) {
			judged++
			old, recent := -1, -1 // reads
			for i := range sub.Txns {
				for n, op := range sub.Ops(&sub.Txns[i]) {
					switch {
					case op.Kind != history.Read:
					case op.Value == sub.Initial(op.Key):
						old = n
					default:
						recent = n
					}
				}
			}
			if j.Violated = old >= 0 && recent >= 0; j.Violated && tc.leap {
				j.Leap = true
				j.Enough = func() []history.Part { return []history.Part{{Txn: 1, Ops: []int{min(old, recent), max(old, recent)}}} }
			}
			return j, nil
		}
		first, err := judge(t.Context(), h.Sub(p.Parts()))
		if err == nil {
			err = p.Minimize(t.Context(), judge, first)
		}
		if err != nil || p.Size() > 6 || judged > tc.most {
			t.Errorf("leap %v: %d left after %d judgements: %v", tc.leap, p.Size(), judged, err)
		}
	}
}
