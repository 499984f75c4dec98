package checker_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestFigure5 judges the 14 anomalies of the MTC paper's Figure 5 and their
// clean siblings. What must come out stands in the comments of each file.
func TestFigure5(t *testing.T) {
	files, err := filepath.Glob("../scenarios/figure5/*.txt")
	if err != nil || len(files) != 28 {
		t.Fatalf("found %d files, want 14 anomalies and 14 siblings (%v)", len(files), err)
	}
	expected(t, files)
}

// TestFound judges what was found in databases.
func TestFound(t *testing.T) {
	files, err := filepath.Glob("../scenarios/found/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files (%v)", len(files), err)
	}
	expected(t, files)
}

// expected judges histories whose comments say what must come out.
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
