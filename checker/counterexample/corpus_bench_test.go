package counterexample_test

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

// BenchmarkExplain explains public histories that violate ser or si, as "check --level ser,si"
// does. It reports the median over the histories, of the time for the verdicts and of the time for
// the explanations.
func BenchmarkExplain(b *testing.B) {
	list := violated(b)
	for b.Loop() {
		var judging, explaining []time.Duration
		for _, h := range list {
			begun := time.Now()
			results := map[level.Level]*verdict.Result{}
			levels := []level.Level{level.SER, level.SI}
			for _, l := range levels {
				r, err := checker.Check(b.Context(), h, l, checker.Options{})
				if err != nil {
					b.Fatal(err)
				}
				results[l] = r
			}
			judged := time.Now()
			explainer := counterexample.NewExplainer(h, func(ctx context.Context, l level.Level, opt checker.Options) (*verdict.Result, error) {
				if r := results[l]; r != nil {
					return r, nil
				}
				return checker.Check(ctx, h, l, opt)
			})
			for _, l := range levels {
				if results[l].Verdict != verdict.Violated {
					continue
				}
				if _, err := explainer.Explain(b.Context(), results[l], counterexample.Wishes{Asked: levels}); err != nil {
					b.Fatal(err)
				}
			}
			judging, explaining = append(judging, judged.Sub(begun)), append(explaining, time.Since(judged))
		}
		slices.Sort(judging)
		slices.Sort(explaining)
		b.ReportMetric(judging[len(judging)/2].Seconds()*1e3, "judge-ms")
		b.ReportMetric(explaining[len(explaining)/2].Seconds()*1e3, "explain-ms")
	}
}

// violated loads the public histories of a few hundred transactions with a
// violation.
func violated(b testing.TB) []*history.History {
	const dir = "../../../shared/corpus"
	f, err := os.Open(filepath.Join(dir, "labels.tsv"))
	if err != nil {
		b.Skip("no public histories here:", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		b.Fatal(err)
	}
	var out []*history.History
	seen := map[string]bool{}
	for _, row := range rows {
		if row[3] != "violated" || row[1] != "dbcop" || seen[row[0]] {
			continue
		}
		seen[row[0]] = true
		h, err := file.Load(context.Background(), filepath.Join(dir, row[0]), file.Dbcop, nil)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}
