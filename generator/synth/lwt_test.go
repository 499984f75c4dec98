package synth_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// lwtConfig draws sizes from few short sessions to many, and any concurrency.
func lwtConfig(seed uint64) synth.LWTConfig {
	sessions := 2 + int(seed%7)
	return synth.LWTConfig{
		Sessions: sessions, TxnsPerSession: 20 + int(seed%5)*10, Keys: 1 + int(seed%4),
		Concurrent: 1 + int(seed)%sessions, Failures: int(seed%3) * 20, Seed: seed,
	}
}

func lin(t *testing.T, h *history.History) *verdict.Result {
	t.Helper()
	r, err := checker.Check(context.Background(), h, level.LIN, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLWT: without a defect, histories are linearizable, with the requested sessions,
// transactions and concurrency.
func TestLWT(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(200) {
		cfg := lwtConfig(seed)
		h := synth.LWT(cfg)
		if r := lin(t, h); r.Verdict != verdict.Satisfied || !r.Certified {
			t.Fatalf("%+v: %s %s\n%s", cfg, r.Verdict, r.Reason, dsl.Format(h))
		}
		if h.SessionCount() != cfg.Sessions || h.KeyCount() != cfg.Keys {
			t.Errorf("%+v: %d sessions, %d keys", cfg, h.SessionCount(), h.KeyCount())
		}
		for s, txns := range h.BySession() {
			if len(txns) != cfg.TxnsPerSession {
				t.Errorf("%+v: session %d has %d transactions", cfg, s, len(txns))
			}
		}
		for i := range h.Txns {
			for _, op := range h.Ops(&h.Txns[i]) {
				kinds[op.Kind.String()]++
			}
			if n := overlaps(h, i); n > cfg.Concurrent || n < min(cfg.Concurrent, len(h.Txns)%cfg.Concurrent) {
				t.Errorf("%+v: transaction %d runs beside %d", cfg, i, n)
			}
		}
	}
	if kinds["r"] < 1000 || kinds["w"] < 1000 || kinds["n"] < 500 {
		t.Errorf("%v", kinds)
	}
}

// overlaps counts the transactions that overlap with that at i, including itself.
func overlaps(h *history.History, i int) int {
	n := 0
	for j := range h.Txns {
		if h.Txns[j].Begin <= h.Txns[i].End && h.Txns[j].End >= h.Txns[i].Begin {
			n++
		}
	}
	return n
}

// TestLWTDefects: each defect is found as a violation of its kind, in histories of many sizes,
// and as the only one.
func TestLWTDefects(t *testing.T) {
	want := map[synth.Defect]string{
		synth.StaleRead:    "G-single-realtime",
		synth.LostUpdate:   "LostUpdate",
		synth.ThinAirRead:  "ThinAirRead",
		synth.AbortedRead:  "AbortedRead",
		synth.DoubleInsert: "DoubleInsert",
		synth.Inversion:    "G0-realtime",
		synth.FalseFailure: "ImpossibleFailure",
	}
	for _, d := range synth.LWTDefects {
		t.Run(string(d.Name), func(t *testing.T) {
			for seed := range uint64(300) {
				cfg := lwtConfig(seed)
				h, err := synth.DefectiveLWT(cfg, d.Name)
				if err != nil {
					t.Fatalf("%+v: %v", cfg, err)
				}
				r := lin(t, h)
				if r.Verdict != verdict.Violated || !r.Certified {
					t.Fatalf("%+v: %s %s\n%s", cfg, r.Verdict, r.Reason, dsl.Format(h))
				}
				for _, a := range r.Anomalies {
					// An impossible failure may leave later failures without a possible position
					// too.
					once := a.Count == 1 || d.Name == synth.FalseFailure
					if a.Names[0] != want[d.Name] || !once {
						t.Errorf("%+v: %s, %d times\n%s", cfg, a.Names[0], a.Count, a.Text)
					}
				}
			}
		})
	}
}

// TestDefectiveSeed: a seed gives one history, and another seed another.
func TestDefectiveSeed(t *testing.T) {
	text := func(seed uint64) string {
		h, err := synth.DefectiveLWT(synth.LWTConfig{Sessions: 4, TxnsPerSession: 20, Keys: 2, Concurrent: 3, Failures: 20, Seed: seed}, synth.Inversion)
		if err != nil {
			t.Fatal(err)
		}
		return dsl.Format(h)
	}
	if text(1) != text(1) || text(1) == text(2) {
		t.Error("a history does not depend on its seed alone")
	}
}

// TestTooShort: a history without an opportunity for the defect is an error, and not silently
// valid.
func TestTooShort(t *testing.T) {
	for _, d := range synth.LWTDefects {
		for total := 1; total < 12; total++ {
			cfg := synth.LWTConfig{Sessions: total, TxnsPerSession: 1, Keys: 2, Concurrent: 1 + total/2, Seed: uint64(total)}
			h, err := synth.DefectiveLWT(cfg, d.Name)
			if err != nil {
				continue
			}
			if r := lin(t, h); r.Verdict != verdict.Violated {
				t.Errorf("%s, %+v: %s\n%s", d.Name, cfg, r.Verdict, dsl.Format(h))
			}
		}
		if _, err := synth.DefectiveLWT(synth.LWTConfig{Sessions: 1, TxnsPerSession: 1, Keys: 1, Concurrent: 1}, d.Name); err == nil {
			t.Errorf("%s has an occasion in one transaction", d.Name)
		}
	}
}

func TestParseDefect(t *testing.T) {
	for _, d := range synth.LWTDefects {
		if got, err := synth.ParseDefect(string(d.Name)); err != nil || got != d.Name || d.Help == "" {
			t.Errorf("%s: %s, %v", d.Name, got, err)
		}
	}
	if d, err := synth.ParseDefect("none"); err != nil || d != synth.None {
		t.Error(d, err)
	}
	if _, err := synth.ParseDefect("x"); err == nil || fmt.Sprint(err) == "" {
		t.Error("a defect that does not exist is accepted")
	}
}
