package checker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// TestLimits checks that running out of time or memory gives unknown, and that a cancelled context
// gives an error.
func TestLimits(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 10, Txns: 300_000, Keys: 100, Seed: 1})
	r, err := checker.Check(context.Background(), h, level.SER, checker.Options{Timeout: time.Nanosecond})
	if err != nil || r.Verdict != verdict.Unknown || !strings.Contains(r.Reason, "time") {
		t.Errorf("no time: %v, %v", r, err)
	}
	// The process holds more than this already.
	r, err = checker.Check(context.Background(), h, level.SER, checker.Options{Memory: budget.Limit{Bytes: 1 << 20}})
	if err != nil || r.Verdict != verdict.Unknown || !strings.Contains(r.Reason, "memory") {
		t.Errorf("no memory: %v, %v", r, err)
	}
	r, err = checker.Check(context.Background(), h, level.SER, checker.Options{Timeout: time.Minute, Memory: budget.Limit{Bytes: 8 << 30}, Certify: true})
	if err != nil || r.Verdict != verdict.Satisfied || !r.Certified || r.Took <= 0 || len(r.Stages) < 3 {
		t.Errorf("enough of both: %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("stop")
	cancel(cause)
	if _, err := checker.Check(ctx, h, level.SER, checker.Options{}); !errors.Is(err, cause) {
		t.Errorf("stopped: %v", err)
	}
}

// TestNotApplicable checks that a history that no engine can judge is unknown, never violated.
func TestNotApplicable(t *testing.T) {
	r, err := checker.Check(context.Background(), dsl.MustParse("s1 T3: w(x,1)"), level.SER, checker.Options{Engine: checker.Linear, Certify: true})
	if err != nil || r.Verdict != verdict.Unknown || r.Certified || !strings.Contains(r.Reason, "transaction 3") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestParseEngine(t *testing.T) {
	for _, name := range []string{"auto", "linear", "polygraph"} {
		if e, err := checker.ParseEngine(name); err != nil || string(e) != name {
			t.Error(e, err)
		}
	}
	if _, err := checker.ParseEngine("warp"); err == nil {
		t.Error("an engine that does not exist")
	}
}

func TestVacuous(t *testing.T) {
	good := synth.Mini(synth.MiniConfig{Sessions: 5, Txns: 400, Keys: 20, Seed: 1})
	for _, tc := range []struct {
		name string
		h    *history.History
		want string
	}{
		{"a real run", good, ""},
		{"few commits", synth.Mini(synth.MiniConfig{Sessions: 5, Txns: 30, Keys: 20, Seed: 1}), "only 30 transactions committed"},
		{"one session", synth.Mini(synth.MiniConfig{Sessions: 1, Txns: 400, Keys: 20, Seed: 1}), "overlapped"},
		{"one after another", serial(good), "overlapped"},
		{"no common clock: nobody knows what overlapped", severalClocks(serial(good)), ""},
		{"keys of one's own", apart(good), "touched a key that another session wrote"},
		{"all aborted", aborted(good), "only 0 transactions committed"},
	} {
		got := checker.Vacuous(tc.h)
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// serial lets each transaction end before the next one begins.
func serial(h *history.History) *history.History {
	now := int64(0)
	return change(h, func(_ *history.History, r *history.Record) {
		r.Begin, r.End = now+1, now+2
		now += 3
	})
}

// severalClocks is h with times that order only transactions of one session.
func severalClocks(h *history.History) *history.History {
	out := *h
	out.NoCommonClock = true
	return &out
}

// TestNoCommonClock: times of several clocks prove nothing about real time, neither to an engine nor to the verification.
func TestNoCommonClock(t *testing.T) {
	h := dsl.MustParse("no_common_clock\ns1 T1 [1000,2000]: w(x,1)\ns2 T2 [10,20]: r(x,1)")
	for _, lvl := range []level.Level{level.SSER, level.StrongSI} {
		if r, err := checker.Check(t.Context(), h, lvl, checker.Options{}); err != nil || r.Verdict != verdict.Unknown {
			t.Errorf("%s: %+v, %v", lvl, r, err)
		}
	}
	satisfied := &verdict.Result{Level: level.SSER, Verdict: verdict.Satisfied, Witness: &verdict.Witness{Order: []int32{0, 1}}}
	one := dsl.MustParse("s1 T1 [1000,2000]: w(x,1)\ns2 T2 [10,20]: r(x,1)")
	violated, err := checker.Check(t.Context(), one, level.SSER, checker.Options{})
	if err != nil || violated.Verdict != verdict.Violated {
		t.Fatal(violated, err)
	}
	if err := certify.Result(t.Context(), one, violated); err != nil {
		t.Error(err)
	}
	for _, r := range []*verdict.Result{satisfied, violated} {
		if certify.Result(t.Context(), h, r) == nil {
			t.Errorf("%s is verified", r.Verdict)
		}
	}
}

// apart gives each session keys of its own.
func apart(h *history.History) *history.History {
	return change(h, func(h *history.History, r *history.Record) {
		for n, op := range r.Ops {
			r.Ops[n].Key = h.Key(h.KeyName(op.Key) + string(rune('a'+r.Session)))
		}
	})
}

func aborted(h *history.History) *history.History {
	return change(h, func(_ *history.History, r *history.Record) { r.Status = history.Aborted })
}

func change(h *history.History, f func(*history.History, *history.Record)) *history.History {
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Ops = append([]history.Op(nil), rec.Ops...)
		f(h, &rec)
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// TestVerdictOnly checks that every engine gives the same verdict without its explanation.
func TestVerdictOnly(t *testing.T) {
	for _, text := range []string{
		"s1: r(x,0) w(x,1)\ns2: r(x,1) w(x,2)",
		"s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)",
		"s1: r(x,0) r(y,0) w(x,1)\ns2: r(x,0) r(y,0) w(y,1)",
		"s1: r(x,7)",
	} {
		h := dsl.MustParse(text)
		for _, e := range checker.Engines {
			want, err := checker.Check(context.Background(), h, level.SER, checker.Options{Engine: e})
			if err != nil {
				t.Fatal(err)
			}
			for _, certify := range []bool{false, true} {
				got, err := checker.Check(context.Background(), h, level.SER, checker.Options{Engine: e, VerdictOnly: true, Certify: certify})
				if err != nil {
					t.Fatal(err)
				}
				if !certify && (got.Verdict != want.Verdict || got.Anomalies != nil || got.Witness != nil) {
					t.Errorf("%s, %s: %+v, want %s", text, e, got, want.Verdict)
				}
				if certify && got.Certified == (got.Verdict == verdict.Unknown) {
					t.Errorf("%s, %s: a verdict that is to be certified: %+v", text, e, got)
				}
			}
		}
	}
}

// TestPipeline checks that options of the polygraph engine are refused with other engines.
func TestPipeline(t *testing.T) {
	for _, e := range checker.Engines {
		_, engine, perr := checker.ParsePipeline("paper", e)
		_, aerr := checker.ParseAccel("bitset", e)
		fits := e == checker.Auto || e == checker.Polygraph
		if (perr == nil) != fits || (aerr == nil) != fits || fits && engine != checker.Polygraph {
			t.Errorf("%s: %s, %v, %v", e, engine, perr, aerr)
		}
	}
}
