package checker_test

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history/file"
)

const corpus = "../../shared/corpus"

// rows reads a table of the corpus without its header.
func rows(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus, name))
	if err != nil {
		t.Skip("no public histories here:", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

// TestSuites judges the test histories of other checkers, with proofs.
func TestSuites(t *testing.T) {
	judged := 0
	for _, row := range rows(t, "suites.tsv") {
		path, format, lvl, want := filepath.Join(corpus, row[0]), row[1], row[2], row[3]
		l, err := level.Parse(lvl)
		if err != nil {
			t.Fatal(err)
		}
		engines := []checker.Engine{checker.Auto, checker.Weak}
		if l.Search() {
			engines = []checker.Engine{checker.Auto, checker.Polygraph, checker.Baseline}
		}
		for _, format := range []file.Format{file.Auto, file.Format(format)} {
			h, err := file.Load(context.Background(), path, format, nil)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, e := range engines {
				if e == checker.Baseline && len(h.Txns) > 100 {
					continue // it is slow
				}
				res, err := checker.Check(context.Background(), h, l, checker.Options{Engine: e, Certify: e != checker.Baseline})
				if err != nil {
					t.Fatal(err)
				}
				if got := res.Verdict.String(); got != want {
					t.Errorf("%s at %s, %s: %s (%s), want %s", path, lvl, e, got, res.Reason, want)
				}
			}
		}
		judged++
	}
	if judged < 55 {
		t.Errorf("only %d rows were judged", judged)
	}
}

// TestCorpus judges public histories whose verdicts are known, with proofs.
func TestCorpus(t *testing.T) {
	labels := rows(t, "labels.tsv")
	judged := 0
	for _, row := range labels {
		path, format, lvl, want := row[0], row[1], row[2], row[3]
		known, err := file.ParseFormat(format)
		if err != nil {
			continue
		}
		l, err := level.Parse(lvl)
		if err != nil {
			t.Fatal(err)
		}
		h, err := file.Load(context.Background(), filepath.Join(corpus, path), known, nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		res, err := checker.Check(context.Background(), h, l, checker.Options{Certify: true})
		if err != nil {
			t.Errorf("%s at %s: %v", path, lvl, err)
			continue
		}
		judged++
		for _, accel := range []choose.Choice{choose.Chains, choose.Bitset} {
			other, err := checker.Check(context.Background(), h, l, checker.Options{Engine: checker.Polygraph, Accel: accel})
			if err != nil || other.Verdict != res.Verdict && l != level.LIN {
				t.Errorf("%s at %s: with %s %+v, %v", path, lvl, accel, other, err)
			}
		}
		// The baseline engine is for small ones.
		if len(h.Txns) <= 1500 {
			second, err := checker.Check(context.Background(), h, l, checker.Options{Engine: checker.Baseline})
			if err != nil || second.Verdict != res.Verdict {
				t.Errorf("%s at %s: the baseline engine says %+v, %v", path, lvl, second, err)
			}
		}
		if got := res.Verdict.String(); got != strings.ToLower(want) || !res.Certified {
			t.Errorf("%s at %s: %s (certified %v, %s), want %s", path, lvl, got, res.Certified, res.Reason, want)
		}
	}
	t.Logf("%d of %d verdicts judged", judged, len(labels))
	if judged == 0 {
		t.Error("no history was judged")
	}
}
