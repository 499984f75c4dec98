package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

func check(t *testing.T, h *history.History, lvl level.Level) *verdict.Result {
	t.Helper()
	r, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{Proof: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := certify.Result(t.Context(), h, r); err != nil {
		t.Fatalf("%s: proof of %s: %v\n%s", lvl, r.Verdict, err, describe(r))
	}
	return r
}

// TestRefusals checks that histories outside the fragment are refused, with the transaction and the
// reason.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		text string
		lvl  level.Level
		want string
	}{
		{"s1 T7: w(x,1)", level.SER, "transaction 7 (session 1) is not a mini-transaction: it writes x without having read it"},
		{"s1: r(x,0)\ns2 T8: r(x,0) r(y,0) r(z,0) w(z,1)", level.SI, "transaction 8 (session 2) is not a mini-transaction: it has more than two reads"},
		{"s1 T8: r(x,0) w(x,1) w(x,2) w(x,3)", level.SER, "more than two writes"},
		{"s1 T8: r(x,0) w(y,1)", level.SER, "writes y without having read it"},
		{"open\ns1 T8: n(x,5)", level.SER, "the history was cut off"},
		{"s1: r(x,0) w(x,1)\ns2: r(x,1) w(x,2)\ns3 T8: n(x,0) n(x,1) n(x,2)", level.SER, "several versions of x may explain that transaction 8 did not find others"},
		{"s1: r(x,0) w(x,1)\ns2 T8: r(x,1) w(x,1)", level.SER, "values are not unique: transaction 8 (session 2) writes 1 to x, which is also written by transaction 1"},
		{"s1 T8: r(x,5) w(x,0)", level.SER, "which is the key's initial value"},
		{"s1: r(x,0) w(x,1)", level.SSER, "needs the begin and end"},
		{"s1: r(x,0) w(x,1)", level.StrongSI, "needs the begin and end"},
		{"s1: r(x,0) w(x,1)", level.LIN, "needs the begin and end"},
		{"s1 T8 [0,1]: r(x,0) r(x,0)", level.LIN, "not a lightweight transaction: its two operations are not a read and a write"},
		{"s1 T8 [0,1]: r(x,0) w(y,1)", level.LIN, "not a lightweight transaction: it reads x and writes y"},
		{"s1 T8 [0,1]: r(x,0) w(x,1) w(x,2)", level.LIN, "it has 3 operations"},
		{"s1 T8 [0,1]: w(x,nil)", level.LIN, "it inserts absence into x"},
	} {
		_, err := linear.Engine{}.Judge(context.Background(), dsl.MustParse(tc.text), tc.lvl, engine.Options{})
		var na *engine.Refusal
		if !errors.As(err, &na) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q at %s: %v, want %q", tc.text, tc.lvl, err, tc.want)
		}
	}
	// Aborted transactions may have any form. An empty transaction has no effect.
	for _, text := range []string{"s1: w(x,1) w(y,2) w(z,3) abort\ns1: r(x,0) w(x,1)", "s1: commit\ns1: r(x,0)"} {
		if r := check(t, dsl.MustParse(text), level.SER); r.Verdict != verdict.Satisfied {
			t.Errorf("%q: %s", text, r.Verdict)
		}
	}
}

// TestUnknown checks that a transaction of unknown outcome counts if one that counts read from it.
func TestUnknown(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       verdict.Verdict
	}{
		{"not read: left out", "s1: r(x,0) w(x,1) unknown\ns2: r(x,0) w(x,2)", verdict.Satisfied},
		{"read: counts, and diverges", "s1: r(x,0) w(x,1) unknown\ns2: r(x,0) w(x,2)\ns3: r(x,1)", verdict.Violated},
		{"pulled in by one that was pulled in", "s1: r(x,0) w(x,1) unknown\ns2: r(x,1) r(y,0) w(y,1) unknown\ns3: r(y,1)\ns4: r(x,0) w(x,2)", verdict.Violated},
		{"read only by one that aborted", "s1: r(x,0) w(x,1) unknown\ns2: r(x,1) abort\ns4: r(x,0) w(x,2)", verdict.Satisfied},
		{"read only by an unknown that is not read", "s1: r(x,0) w(x,1) unknown\ns2: r(x,1) w(x,3) unknown\ns4: r(x,0) w(x,2)", verdict.Satisfied},
		{"its own reads bind", "s1: r(x,7) r(y,0) w(y,1) unknown\ns2: r(y,1)", verdict.Violated},
		{"no session order leaves it", "s1: r(x,0) w(x,1) unknown\ns1: r(x,0)\ns2: r(x,1)", verdict.Satisfied},
		{"session order enters it", "s1: r(x,2)\ns1: r(x,0) w(x,1) unknown\ns2: r(x,1) w(x,2)", verdict.Violated},
		{"session order passes over it", "s1: r(x,0) w(x,1)\ns1: r(y,0) w(y,1) unknown\ns1: r(x,0)\ns2: r(y,1)", verdict.Violated},
		{"aborted value also written by a committed one", "s1: r(x,0) w(x,1) abort\ns2: r(x,0) w(x,1)\ns3: r(x,1)", verdict.Satisfied},
	} {
		if r := check(t, dsl.MustParse(tc.text), level.SER); r.Verdict != tc.want {
			t.Errorf("%s: %s, want %s\n%s", tc.name, r.Verdict, tc.want, describe(r))
		}
	}
	// It ends at infinity: real-time edges lead to it, but none leaves it.
	for text, want := range map[string]verdict.Verdict{
		"s1 [0,1]: r(x,0) w(x,1) unknown\ns2 [5,6]: r(x,0)\ns3 [7,8]: r(x,1)": verdict.Satisfied,
		"s1 [5,6]: r(x,0) w(x,1) unknown\ns2 [2,3]: r(x,1)":                   verdict.Violated,
	} {
		if r := check(t, dsl.MustParse(text), level.SSER); r.Verdict != want {
			t.Errorf("%q: %s, want %s", text, r.Verdict, want)
		}
	}
}

// TestOpenHistory checks that in a history that was cut off, a value without a known writer is no
// anomaly, but other violations hold.
func TestOpenHistory(t *testing.T) {
	r := check(t, dsl.MustParse("open\ns1: r(x,5)"), level.SER)
	if r.Verdict != verdict.Unknown || !strings.Contains(r.Reason, "cut off") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	if r := check(t, dsl.MustParse("open\ns1: r(x,5)\ns2: r(y,0) w(y,1)\ns3: r(y,0) w(y,2)"), level.SER); r.Verdict != verdict.Violated {
		t.Errorf("a lost update beside it: %s", r.Verdict)
	}
	if r := check(t, dsl.MustParse("open\ns1: r(x,0) w(x,1)"), level.SER); r.Verdict != verdict.Satisfied {
		t.Errorf("nothing is missing: %s", r.Verdict)
	}
}

// TestLWTCorners has corner cases of level lin from an external review. Each verdict has a proof
// that holds.
func TestLWTCorners(t *testing.T) {
	many := "s0 T1 [0,1]: n(x,0)\n"
	for i := 1; i <= 20; i++ {
		many += fmt.Sprintf("s%d [%d,?]: r(x,0) w(x,%d) unknown\n", i, 10*i, i)
	}
	for _, tc := range []struct {
		text string
		want verdict.Verdict
	}{
		{"open\ns1 T1 [0,1]: r(x,555) w(x,1)", verdict.Unknown},                    // the writer may be missing
		{"s2 T1: r(x,0) w(x,nil) unknown\ns0 T2 [1,4]: w(x,1)", verdict.Satisfied}, // an insertion shows a deletion
		{"s1 T1 [0,1]:", verdict.Satisfied},                                        // touches nothing
		{many, verdict.Violated},                                                   // none of the unknown ones began in time
		{"open\ns0 T1 [0,3]: w(x,1)", verdict.Unknown},                             // a deletion may be missing
		{"open\ns0 T1 [0,2]: n(x,0)", verdict.Unknown},                             // what it failed on may be missing
		{"s1 T1 [0,0]: r(x,0) w(x,nil)\ns1 T2 [1,1]: w(x,1)", verdict.Satisfied},   // deletion, then insertion
		{"s1 T3 [8,8]: r(x,1) w(x,2) unknown\ns2 T1 [0,0]: w(x,1) unknown\ns2 T4 [12,12]: n(x,1)\ns3 T5 [16,16]: n(x,0)", verdict.Violated},
	} {
		if r := check(t, dsl.MustParse(tc.text), level.LIN); r.Verdict != tc.want {
			t.Errorf("%q: %s %s, want %s", tc.text, r.Verdict, r.Reason, tc.want)
		}
	}
}

// TestShortestOfClass checks that of two cycles of a class the shorter one is shown.
func TestShortestOfClass(t *testing.T) {
	r := check(t, dsl.MustParse("s0 T1: r(x,0) w(x,1)\ns0 T2: r(x,2)\ns0 T3: r(x,1) w(x,3)\ns0 T4: r(x,3) w(x,2)"), level.SER)
	for _, a := range r.Anomalies {
		if a.Shortest && len(a.Cycle) > 2 {
			t.Errorf("said to be shortest: %s", a.Text)
		}
	}
}

// TestAbsence checks keys that are created by insertion and removed by deletion or tombstone.
func TestAbsence(t *testing.T) {
	for text, want := range map[string]verdict.Verdict{
		"initial nil\ns1: r(x,nil) w(x,1)\ns2: r(x,1) w(x,2)\ns3: r(x,2)":                  verdict.Satisfied,
		"initial nil\ns1: r(x,nil) w(x,1)\ns2: r(x,nil) w(x,2)":                            verdict.Violated,
		"initial nil\ns1: r(x,nil) w(x,1)\ns1: r(x,nil)":                                   verdict.Violated,
		"s1: r(x,0) w(x,nil)\ns1: r(x,nil)":                                                verdict.Satisfied,
		"s1: r(x,0) w(x,nil)\ns1: r(x,0)":                                                  verdict.Violated,
		"s1: r(x,nil)":                                                                     verdict.Violated,
		"initial nil\ninitial y=0\ns1: r(x,nil) r(y,0) w(x,1)\ns2: r(y,0) r(x,nil) w(y,2)": verdict.Violated,
	} {
		if r := check(t, dsl.MustParse(text), level.SER); r.Verdict != want {
			t.Errorf("%q: %s, want %s\n%s", text, r.Verdict, want, describe(r))
		}
	}
}

// TestPlanted adds anomalies to large valid histories. Each must be found, and the shortest cycle
// must be as short as the added one. Without the anomaly the history stays satisfied.
func TestPlanted(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, tc := range []struct {
		name   string
		lvl    level.Level
		plant  string
		length int
		found  string
	}{
		{"write skew", level.SER, "s100 [B,E]: r(px,0) r(py,0) w(px,-1)\ns101 [B,E]: r(px,0) r(py,0) w(py,-2)", 2, "WriteSkew"},
		{"long fork", level.SI, "s100 [B,E]: r(px,0) w(px,-1)\ns101 [B,E]: r(py,0) w(py,-2)\ns102 [B,E]: r(px,-1) r(py,0)\ns103 [B,E]: r(px,0) r(py,-2)", 4, "LongFork"},
		{"long fork at ser", level.SER, "s100 [B,E]: r(px,0) w(px,-1)\ns101 [B,E]: r(py,0) w(py,-2)\ns102 [B,E]: r(px,-1) r(py,0)\ns103 [B,E]: r(px,0) r(py,-2)", 4, "LongFork"},
		{"causality", level.SI, "s100 [B,E]: r(px,0) w(px,-1)\ns101 [B,E]: r(px,-1) r(py,0) w(py,-2)\ns102 [B,E]: r(py,-2) r(px,0)", 3, "CausalityViolation"},
		{"stale session", level.SI, "s100 [B,M]: r(px,0) w(px,-1)\ns100 [N,E]: r(px,0)", 2, "SessionGuaranteeViolation"},
		{"stale in real time", level.SSER, "s100 [B,M]: r(px,0) w(px,-1)\ns101 [N,E]: r(px,0)", 2, "G-single-realtime"},
		{"stale snapshot", level.StrongSI, "s100 [B,M]: r(px,0) w(px,-1)\ns101 [N,E]: r(px,0)", 2, "G-single-realtime"},
		{"two sessions cross", level.SER, "s100 [B,E]: r(px,-3)\ns101 [B,E]: r(py,-4)\ns100 [E,E]: r(py,0) w(py,-4)\ns101 [E,E]: r(px,0) w(px,-3)", 4, "G1c-process"},
		{"three adjacent", level.SER, "s100 [B,E]: r(px,0) r(py,0) w(px,-1)\ns101 [B,E]: r(py,0) r(pz,0) w(py,-2)\ns102 [B,E]: r(pz,0) r(px,0) w(pz,-3)", 3, "G2-item"},
	} {
		for range 3 {
			h := synth.Mini(synth.MiniConfig{Sessions: 10, Txns: 3000, Keys: 40, Seed: rng.Uint64()})
			if r := check(t, h, tc.lvl); r.Verdict != verdict.Satisfied {
				t.Fatalf("%s: the history is %s before anything is planted", tc.name, r.Verdict)
			}
			h = plant(t, h, tc.plant)
			r := check(t, h, tc.lvl)
			if r.Verdict != verdict.Violated {
				t.Errorf("%s: %s", tc.name, r.Verdict)
				continue
			}
			a := r.Anomalies[0]
			if len(a.Cycle) != tc.length || !a.Shortest || !slices.Contains(a.Names, tc.found) {
				t.Errorf("%s: a cycle of %d (shortest %v) called %v, want %d, %s\n%s", tc.name, len(a.Cycle), a.Shortest, a.Names, tc.length, tc.found, describe(r))
			}
		}
	}
}

// plant appends transactions to the end of a history, on keys px, py, pz.
func plant(t *testing.T, h *history.History, text string) *history.History {
	t.Helper()
	last := h.Txns[len(h.Txns)-1].End
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns)+4)
	for i := range h.Txns {
		rec := h.Record(i)
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	// B and M, N and E: the begin and end of a first and of a second interval.
	text = strings.NewReplacer("[B", "[1", "M]", "2]", "[N", "[3", "E]", "4]", "[E", "[4").Replace(text)
	p := dsl.MustParse(text)
	for i := range p.Txns {
		rec := p.Record(i)
		rec.ID += 1 << 40
		rec.Begin, rec.End = rec.Begin+last, rec.End+last
		for n := range rec.Ops {
			rec.Ops[n].Key = h.Key(p.KeyName(rec.Ops[n].Key))
		}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	return b.Done(true, nil)
}

// TestFarApart checks that two transactions of a session with thousands between them can make a
// cycle of two, because session order is transitive.
func TestFarApart(t *testing.T) {
	var b strings.Builder
	b.WriteString("s1: r(x,0) w(x,1)\n")
	for range 5000 {
		b.WriteString("s1: r(y,0)\n")
	}
	b.WriteString("s1: r(x,0)\n")
	r := check(t, dsl.MustParse(b.String()), level.SI)
	if a := r.Anomalies[0]; len(a.Cycle) != 2 || !a.Shortest {
		t.Errorf("a cycle of %d, shortest %v", len(a.Cycle), a.Shortest)
	}
}

// TestCancel checks that a check ends soon after its context.
func TestCancel(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 10, Txns: 200_000, Keys: 100, Seed: 1})
	cause := errors.New("enough")
	for _, lvl := range (linear.Engine{}).Levels() {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		if _, err := (linear.Engine{}).Judge(ctx, h, lvl, engine.Options{}); lvl != level.LIN && !errors.Is(err, cause) {
			t.Errorf("%s: %v", lvl, err)
		}
	}
}

// TestSparseValues checks histories whose values are dense, sparse, or shared by keys. So versions
// are found by each form of the table, and across the change from one form to the other.
func TestSparseValues(t *testing.T) {
	for _, stride := range []int64{1, 7, 1 << 32, 1 << 40, -3} {
		sym := history.NewSymbols()
		sym.DefaultInitial = sym.Int(0)
		b := history.NewBuilder(history.Header{}, sym, 0)
		state := map[int]history.Value{}
		for i := range 3000 {
			k := i % 17
			next := sym.Int((int64(i) + 1) * stride)
			if i%5 == 0 && i > 100 {
				// The same value on another key is still unique.
				next = sym.Int((int64(i)) * stride)
				k = (i + 3) % 17
			}
			key := sym.Key(string(rune('a' + k)))
			rec := history.Record{ID: int64(i), Session: 1, Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed,
				Ops: []history.Op{{Kind: history.Read, Key: key, Value: state[k]}, {Kind: history.Write, Key: key, Value: next}}}
			state[k] = next
			if err := b.Add(&rec); err != nil {
				t.Fatal(err)
			}
		}
		h := b.Done(true, nil)
		r, err := linear.Engine{}.Judge(context.Background(), h, level.SER, engine.Options{Proof: true})
		if err != nil {
			t.Fatalf("stride %d: %v", stride, err)
		}
		if r.Verdict != verdict.Satisfied || certify.Result(t.Context(), h, r) != nil {
			t.Errorf("stride %d: %s", stride, r.Verdict)
		}
	}
}
