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

// TestCorpus judges public histories whose verdicts are known, with proofs.
func TestCorpus(t *testing.T) {
	const dir = "../../shared/corpus"
	f, err := os.Open(filepath.Join(dir, "labels.tsv"))
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
	judged := 0
	for _, row := range rows[1:] {
		path, format, lvl, want := row[0], row[1], row[2], row[3]
		known, err := file.ParseFormat(format)
		if err != nil {
			continue
		}
		l, err := level.Parse(lvl)
		if err != nil {
			t.Fatal(err)
		}
		h, err := file.Load(context.Background(), filepath.Join(dir, path), known, nil)
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
	t.Logf("%d of %d verdicts judged", judged, len(rows)-1)
	if judged == 0 {
		t.Error("no history was judged")
	}
}
