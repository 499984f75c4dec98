package checker_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestFigure5 judges the 14 anomalies of the MTC paper's Figure 5 and similar histories without the
// anomaly. The comments of each file have the expected results.
func TestFigure5(t *testing.T) {
	files, err := filepath.Glob("../scenarios/figure5/*.txt")
	if err != nil || len(files) != 28 {
		t.Fatalf("found %d files, want 14 anomalies and 14 siblings (%v)", len(files), err)
	}
	expected(t, files)
}

// TestFound judges anomalies that were found in databases.
func TestFound(t *testing.T) {
	files, err := filepath.Glob("../scenarios/found/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files (%v)", len(files), err)
	}
	expected(t, files)
}

// TestRegressions judges histories on which a checker, ours or another, was once wrong, by every
// engine that can judge them.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob("../scenarios/regressions/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d files (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h, err := dsl.Parse(string(text), file)
			if err != nil {
				t.Fatal(err)
			}
			if h, _, err = scans.Expand(t.Context(), h, 1<<30); err != nil || h.Scans != nil && h.Scans.Judged != h.Scans.Scans {
				t.Fatalf("%+v, %v", h.Scans, err)
			}
			for _, pair := range strings.Fields(strings.Join(regexp.MustCompile(`(?m)^# expect (.*)$`).FindAllString(string(text), -1), " ")) {
				name, want, ok := strings.Cut(pair, "=")
				if !ok {
					continue // "# expect"
				}
				lvl, err := level.Parse(name)
				if err != nil {
					t.Fatal(err)
				}
				engines := []checker.Engine{checker.Auto}
				if lvl != level.LIN {
					engines = append(engines, checker.Polygraph, checker.Baseline)
				}
				for _, engine := range engines {
					// The baseline engine has no counterexample for a cycle.
					r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: engine, Certify: engine != checker.Baseline})
					if err != nil {
						t.Fatalf("%s, %s: %v", lvl, engine, err)
					}
					if r.Verdict.String() != want || engine != checker.Baseline && r.Verdict != verdict.Unknown && !r.Certified {
						t.Errorf("%s, %s: %s (certified %v, %s), want %s", lvl, engine, r.Verdict, r.Certified, r.Reason, want)
					}
				}
				if r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: checker.Linear, Certify: true}); err != nil || r.Verdict != verdict.Unknown && r.Verdict.String() != want {
					t.Errorf("%s, linear: %+v, %v, want %s or no verdict", lvl, r, err, want)
				}
			}
		})
	}
}

// expected judges histories whose comments have the expected results.
func expected(t *testing.T, files []string) {
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h, err := dsl.Parse(string(text), file)
			if err != nil {
				t.Fatal(err)
			}
			if h, _, err = scans.Expand(context.Background(), h, scans.EagerOps); err != nil {
				t.Fatal(err)
			}
			anomaly, checked := "", 0
			for _, line := range strings.Split(string(text), "\n") {
				if name, ok := strings.CutPrefix(line, "# anomaly "); ok {
					anomaly = name
				}
				expect, ok := strings.CutPrefix(line, "# expect ")
				if !ok {
					continue
				}
				for _, pair := range strings.Fields(expect) {
					name, want, _ := strings.Cut(pair, "=")
					lvl, err := level.Parse(name)
					if err != nil {
						t.Fatal(err)
					}
					checked++
					general, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: checker.Polygraph, Certify: true})
					if err != nil || general.Verdict.String() != want || !general.Certified {
						t.Errorf("%s, polygraph: %+v, %v, want %s", lvl, general, err, want)
					}
					r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true})
					if err != nil {
						t.Fatal(err)
					}
					if r.Verdict.String() != want || !r.Certified {
						t.Errorf("%s: %s (certified %v), want %s", lvl, r.Verdict, r.Certified, want)
					}
					if r.Verdict != verdict.Violated {
						continue
					}
					if got := r.Anomalies[0].Name(); got != anomaly {
						t.Errorf("%s: named %v, want %s\n%s", lvl, r.Anomalies[0].Names, anomaly, r.Anomalies[0].Text)
					}
					if !slices.ContainsFunc(r.Anomalies[0].Names, func(n string) bool { return n != anomaly }) && anomaly != "ThinAirRead" && anomaly != "G2-item" && anomaly != "G-single" {
						t.Errorf("%s: only one name, %v; Adya's or Elle's is missing", lvl, r.Anomalies[0].Names)
					}
				}
			}
			if checked != 3 {
				t.Errorf("%d expectations, want 3", checked)
			}
		})
	}
}
