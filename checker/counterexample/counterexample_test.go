package counterexample_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestEveryEngine checks that for everything that an engine finds in a random history there is a
// closed sub-history that violates the level by the trial of every execution, that has no violation
// if anything is left out, and whose levels are those of that trial.
func TestEveryEngine(t *testing.T) {
	n := randhist.Count(t, 10_000)
	seed := randhist.Seed(t, rand.Uint64())
	for _, lvl := range level.All() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			violated, anomalies := 0, 0
			for violated < n/20 {
				h := randhist.Of(rng, 3, 4+rng.IntN(3), 6)
				switch {
				case lvl == level.LIN:
					h = lightweight(rng)
				case rng.IntN(3) == 0:
					h = randhist.WithoutValues(rng, h)
				case rng.IntN(4) == 0:
					h = randhist.WithClassReads(rng, randhist.Mini(rng))
				}
				for _, engine := range checker.Engines {
					r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: engine})
					if err != nil {
						t.Fatalf("seed %d: %v\n%s", seed, err, dsl.Format(h))
					}
					if r.Verdict != verdict.Violated {
						continue
					}
					violated++
					for i := range r.Anomalies {
						anomalies++
						check(t, h, lvl, &r.Anomalies[i], fmt.Sprintf("seed %d, %s, %s", seed, lvl, r.Engine))
					}
				}
			}
			t.Logf("%d violations, %d anomalies", violated, anomalies)
		})
	}
}

func check(t *testing.T, h *history.History, lvl level.Level, a *verdict.Anomaly, where string) {
	t.Helper()
	c, err := counterexample.Of(context.Background(), h, lvl, a, counterexample.Options{Timeout: counterexample.MinimizeFor})
	if err != nil {
		t.Fatalf("%s: %v\n%s%+v", where, err, dsl.Format(h), a)
	}
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s: %s\n%sof\n%sfrom %+v", where, fmt.Sprintf(format, args...), dsl.Format(c.History), dsl.Format(h), a)
	}
	if !c.Minimal {
		fail("not minimal")
	}
	if allowed(t, c.History, lvl) {
		fail("no violation")
	}
	if why := open(h, c, lvl); why != "" {
		fail("not closed: %s", why)
	}
	if !lvl.Implies(c.Weakest) || lvl != level.LIN && len(level.Weakest(append(c.Not, c.Weakest))) > len(c.Not) {
		fail("minimal at %s, but the standing is %s", c.Weakest, c.Standing)
	}
	if s, serial := lvl.Snapshots(); serial && len(c.Anomaly.Cycle) > 0 && allowed(t, c.History, s) && !slices.Equal(c.Anomaly.Names, explain.Skews(c.Anomaly.Names)) {
		fail("%s allows it, and it is called %v", s, c.Anomaly.Names)
	}
	for what, smaller := range smallerThan(c.History, h, lvl) {
		if c.Weakest.RealTime() && !smaller.Timed() {
			continue // a part without times is judged without real time
		}
		if !allowed(t, smaller, c.Weakest) && (smaller.Closed || found(t, smaller, c.Weakest)) {
			if c.ForName && !named(t, smaller, lvl, c.Anomaly.Name()) {
				continue
			}
			fail("still a violation without %s", what)
		}
	}
	for _, l := range level.All() {
		if l == level.LIN || lvl == level.LIN || l.RealTime() && !c.History.Timed() {
			continue
		}
		if !c.History.Closed && slices.Contains(c.Undecided, l) { // a missing transaction may have written what was read
			continue
		}
		allowed := allowed(t, c.History, l)
		holds := slices.ContainsFunc(c.Holds, func(m level.Level) bool { return m.Implies(l) })
		not := slices.ContainsFunc(c.Not, func(m level.Level) bool { return l.Implies(m) })
		if allowed != holds || allowed == not {
			fail("%s: allowed %v, but the standing is %s", l, allowed, c.Standing)
		}
	}
}

// named reports whether a check gives an anomaly of a history the name, or nothing is found.
func named(t *testing.T, h *history.History, lvl level.Level, name string) bool {
	t.Helper()
	if !h.Timed() {
		lvl = lvl.WithoutRealTime()
	}
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Anomalies) == 0 || slices.ContainsFunc(r.Anomalies, func(a verdict.Anomaly) bool { return slices.Contains(a.Names, name) })
}

// found reports whether the checker calls a history violated. On a history that was cut off, the
// checker may leave more open than the trial of every execution: a transaction that wrote a value
// and overwrote it need not be the only one that wrote that value.
func found(t *testing.T, h *history.History, lvl level.Level) bool {
	t.Helper()
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict == verdict.Violated
}

// allowed tries every execution. In a history that was cut off, a missing transaction may have
// written a value that nobody is known to have written.
func allowed(t *testing.T, h *history.History, lvl level.Level) bool {
	t.Helper()
	if !h.Closed {
		h = randhist.Completed(h)
	}
	ok, decided := certify.Judge(h, lvl, 50_000_000)
	if !decided {
		t.Fatalf("the oracle gave up\n%s", dsl.Format(h))
	}
	return ok
}

// open returns what in a counterexample is not closed in h, or not from h.
func open(h *history.History, c *counterexample.Counterexample, lvl level.Level) string {
	sub := c.History
	has := func(id int64, kind history.OpKind, key, value string) bool {
		for i := range sub.Txns {
			if sub.Txns[i].ID != id {
				continue
			}
			for _, op := range sub.Ops(&sub.Txns[i]) {
				if op.Kind == kind && sub.KeyName(op.Key) == key && sub.ValueText(op.Value) == value {
					return true
				}
			}
		}
		return false
	}
	for n, i := range c.Txns {
		from, to := &h.Txns[i], &sub.Txns[n]
		if from.ID != to.ID || from.Begin != to.Begin || from.End != to.End || from.Status != to.Status || h.SessionName(from.Session) != sub.SessionName(to.Session) {
			return fmt.Sprintf("T%d has changed", from.ID)
		}
		next := 0
		for _, op := range sub.Ops(to) {
			for ; next < from.OpCount() && dsl.Op(h, h.Ops(from)[next]) != dsl.Op(sub, op); next++ {
			}
			if next++; next > from.OpCount() {
				return fmt.Sprintf("T%d has operations of its own", to.ID)
			}
			if op.Kind == history.Write || op.Kind == history.ReadNot && lvl == level.LIN {
				continue
			}
			key, value := sub.KeyName(op.Key), sub.ValueText(op.Value)
			for w := range h.Txns {
				for _, other := range h.Ops(&h.Txns[w]) {
					wrote := h.ValueText(other.Value)
					if other.Kind == history.Write && h.KeyName(other.Key) == key && (wrote == value) == (op.Kind == history.Read) && !has(h.Txns[w].ID, history.Write, key, wrote) {
						return fmt.Sprintf("T%d has %s, and T%d wrote %s", to.ID, dsl.Op(sub, op), h.Txns[w].ID, wrote)
					}
				}
			}
		}
	}
	return ""
}

// smallerThan yields the largest smaller closed sub-histories of h, a part of whole: each lacks one transaction or
// one operation, and what cannot be kept without it.
func smallerThan(h, whole *history.History, lvl level.Level) map[string]*history.History {
	out := map[string]*history.History{}
	for i := range h.Txns {
		out[fmt.Sprintf("T%d", h.Txns[i].ID)] = without(h, whole, lvl, i, -1)
		for j, op := range h.Ops(&h.Txns[i]) {
			if lvl != level.LIN {
				out[fmt.Sprintf("T%d %s", h.Txns[i].ID, dsl.Op(h, op))] = without(h, whole, lvl, i, j)
			}
		}
	}
	return out
}

func without(h, whole *history.History, lvl level.Level, txn, op int) *history.History {
	gone := map[[2]int]bool{}
	for j := range h.Ops(&h.Txns[txn]) {
		if op < 0 || j == op {
			gone[[2]int{txn, j}] = true
		}
	}
	for more := true; more; {
		more = false
		for w := range h.Txns {
			for j, written := range h.Ops(&h.Txns[w]) {
				if gone[[2]int{w, j}] && written.Kind == history.Read {
					for _, k := range doubted(h, whole, w, j) {
						more = more || !gone[[2]int{w, k}]
						gone[[2]int{w, k}] = true
					}
				}
				if !gone[[2]int{w, j}] || written.Kind != history.Write {
					continue
				}
				for r := range h.Txns {
					ops := h.Ops(&h.Txns[r])
					for k, read := range ops {
						found := history.Absent
						if j > 0 {
							found = h.Ops(&h.Txns[w])[j-1].Value
						}
						depends := read.Key == written.Key && (read.Kind == history.Read && read.Value == written.Value ||
							lvl == level.LIN && read.Kind == history.ReadNot && read.Value == found ||
							lvl != level.LIN && read.Kind == history.ReadNot && read.Value != written.Value ||
							lvl == level.LIN && len(ops) == 1 && read.Kind == history.Write && written.Value == history.Absent)
						if !depends || gone[[2]int{r, k}] {
							continue
						}
						more = true
						gone[[2]int{r, k}] = true
						for m := range ops {
							if lvl == level.LIN {
								gone[[2]int{r, m}] = true
							}
						}
					}
				}
			}
		}
	}
	b := history.NewBuilder(h.Header, h.Symbols, 0)
	for i := range h.Txns {
		rec := h.Record(i)
		all := rec.Ops
		rec.Ops, rec.Predicates = nil, nil // the operations that follow from predicates stay
		for j := range all {
			if !gone[[2]int{i, j}] {
				rec.Ops = append(rec.Ops, all[j])
			}
		}
		if len(rec.Ops) == 0 {
			continue
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(h.Closed, nil)
}

// doubted lists the writes of a transaction that are not kept without its read at j: the read shows that a missing
// transaction wrote the value before.
func doubted(h, whole *history.History, txn, j int) (writes []int) {
	ops := h.Ops(&h.Txns[txn])
	read := ops[j]
	first := slices.IndexFunc(ops, func(op history.Op) bool { return op == read })
	if h.Closed || h.Initial(read.Key) == read.Value || first != j || single.Writes(ops[:j], read.Key) {
		return nil
	}
	for i := range whole.Txns {
		other := whole.Ops(&whole.Txns[i])
		for k, op := range other {
			same := op.Kind == history.Write && whole.KeyName(op.Key) == h.KeyName(read.Key) && whole.ValueText(op.Value) == h.ValueText(read.Value)
			if same && whole.Txns[i].ID != h.Txns[txn].ID && whole.Txns[i].Status != history.Aborted && single.LastWrite(other, op.Key) == k {
				return nil
			}
		}
	}
	for k, op := range ops {
		if op.Kind == history.Write && op.Key == read.Key && op.Value == read.Value {
			writes = append(writes, k)
		}
	}
	return writes
}

// lightweight makes a small history of lightweight transactions on one key, some of them wrong.
func lightweight(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	x := sym.Key("x")
	if rng.IntN(2) == 0 {
		sym.DefaultInitial = sym.Int(0)
	}
	b := history.NewBuilder(history.Header{}, sym, 0)
	state, next, at := sym.Initial(x), int64(0), int64(0)
	old := []history.Value{state}
	for i := range 2 + rng.IntN(5) {
		at += rng.Int64N(4)
		rec := history.Record{ID: int64(i), Session: int64(i), Begin: at - rng.Int64N(4), End: at + rng.Int64N(4), Due: history.NoTime, Status: history.Committed}
		if rng.IntN(8) == 0 {
			rec.Status = history.Unknown
		}
		seen := state
		if rng.IntN(4) == 0 {
			seen = old[rng.IntN(len(old))]
		}
		next++
		switch p := rng.IntN(4); {
		case p == 0:
			rec.Ops = []history.Op{{Kind: history.Read, Key: x, Value: seen}}
		case p == 1:
			rec.Ops = []history.Op{{Kind: history.ReadNot, Key: x, Value: old[rng.IntN(len(old))]}}
		case seen == history.Absent:
			rec.Ops = []history.Op{{Kind: history.Write, Key: x, Value: sym.Int(next)}}
		default:
			rec.Ops = []history.Op{{Kind: history.Read, Key: x, Value: seen}, {Kind: history.Write, Key: x, Value: sym.Int(next)}}
		}
		if w := rec.Ops[len(rec.Ops)-1]; w.Kind == history.Write {
			state = w.Value
			old = append(old, state)
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// TestMentioned checks that the text of an anomaly names every transaction of its cycle and every
// key of its edges.
func TestMentioned(t *testing.T) {
	rng := rand.New(rand.NewPCG(randhist.Seed(t, rand.Uint64()), 5))
	for cycles := 0; cycles < 300; {
		h := randhist.Of(rng, 3, 4+rng.IntN(3), 6)
		for _, engine := range []checker.Engine{checker.Linear, checker.Polygraph} {
			lvl := []level.Level{level.SER, level.SI, level.SERNoSO}[rng.IntN(3)]
			r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: engine})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range r.Anomalies {
				for _, e := range a.Cycle {
					cycles++
					key := " " + h.KeyName(e.Key) + " "
					if e.Kind == verdict.SO {
						key = "session"
					}
					if name := fmt.Sprintf("T%d", h.Txns[e.From].ID); !strings.Contains(a.Text, name) || !strings.Contains(strings.NewReplacer(":", " ", ",", " ").Replace(a.Text), key) {
						t.Fatalf("%s or%sis not in %q\n%s", name, key, a.Text, dsl.Format(h))
					}
				}
			}
		}
	}
}

// TestCutOff is about a history that was cut off. T0's write of 2 can be left out only after the
// operations that show that T0 is impossible without it.
func TestCutOff(t *testing.T) {
	h := dsl.MustParse(`open
s3 T0 [-1,6]: r(k0,0) w(k0,2) r(k0,1) w(k0,1) r(k0,1) unknown
s3 T1 [6,7]: r(k0,2)
s3 T2 [7,7]: r(k0,0) w(k0,2)
s5 T3 [4,9]: w(k0,1) r(k0,1) w(k0,2) r(k0,2)
s0 T4 [5,11]: r(k0,1) w(k0,1) w(k0,2)
`)
	for _, engine := range checker.Engines {
		r, err := checker.Check(t.Context(), h, level.SER, checker.Options{Engine: engine})
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Anomalies {
			check(t, h, level.SER, &r.Anomalies[i], r.Engine)
		}
	}
}

// TestPartWithoutTimes checks that a violation of strict serializability is shown by a transaction that has no end.
func TestPartWithoutTimes(t *testing.T) {
	h := dsl.MustParse("open\ns1 T1 [1,2]: r(y,0)\ns1 T2 [3,?]: r(x,5) w(x,5) r(x,7) w(x,6)\n")
	for _, lvl := range []level.Level{level.SSER, level.StrongSI} {
		r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
		if err != nil || r.Verdict != verdict.Violated {
			t.Fatal(r, err)
		}
		c, err := counterexample.Of(t.Context(), h, lvl, &r.Anomalies[0], counterexample.Options{Timeout: counterexample.MinimizeFor})
		if err != nil || len(c.Txns) != 1 || c.Txns[0] != 1 {
			t.Errorf("%s: %+v, %v", lvl, c, err)
		}
	}
}

// TestHalfTimes: the end of one transaction before the begin of another is an order in real time. So a counterexample may
// have no transaction with both, and is a history all the same.
func TestHalfTimes(t *testing.T) {
	h := dsl.MustParse(`
		s2 T0 [?,2]: r(k2,0) w(k2,1)
		s1 T1 [3,7]: r(k0,0) w(k0,2)
		s1 T2 [8,?]: r(k1,0) w(k1,4) n(k2,1)`)
	for _, lvl := range []level.Level{level.SSER, level.StrongSI} {
		r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
		if err != nil || r.Verdict != verdict.Violated {
			t.Fatal(r, err)
		}
		c, err := counterexample.Of(t.Context(), h, lvl, &r.Anomalies[0], counterexample.Options{Timeout: counterexample.MinimizeFor})
		if err != nil || !slices.Equal(c.Txns, []int32{0, 2}) {
			t.Fatalf("%s: %+v, %v", lvl, c, err)
		}
		if r, err := checker.Check(t.Context(), c.History, lvl, checker.Options{Certify: true}); err != nil || r.Verdict != verdict.Violated {
			t.Errorf("%s: the counterexample is %+v, %v", lvl, r, err)
		}
	}
}
