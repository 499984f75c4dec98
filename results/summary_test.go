package results_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/results"
)

// TestRunSummary: a summary has the verdicts, the anomaly once, the command and the files;
// special characters of Markdown are escaped.
func TestRunSummary(t *testing.T) {
	r := sample(t)
	r.Config.Isolation = "a|b *c* <d>"
	text := results.RunSummary(r, true)
	for _, want := range []string{
		`### isohound: violated: breaks the promise on PostgreSQL \<15>, a\|b \*c\* \<d>`, "serializability does not hold and is not promised.",
		"| si | **violated: breaks the promise** | LostUpdate | verified | 2 |", "**LostUpdate** violates si, ser", "> T1 (session 1) and T2 (session 2) both read x = 0",
		"```sh\nisohound run --seed 42\n```", "`repro/`", "`elle.json`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Count(text, "both read x = 0") != 1 {
		t.Errorf("an anomaly of two levels is told twice:\n%s", text)
	}
	if text := results.RunSummary(r, false); strings.Contains(text, "repro/") {
		t.Errorf("a folder that is not there:\n%s", text)
	}
}

// TestCheckSummary: many histories make a page of bounded length.
func TestCheckSummary(t *testing.T) {
	var all []results.Outcome
	for n := range 1000 {
		o := judged(t, "s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)", level.SI)[0]
		o.Path = filepath.Join("runs", strings.Repeat("x", 20), string(rune('a'+n%26)), "h"+string(rune('0'+n/26)))
		all = append(all, o)
	}
	text := results.CheckSummary(all, []error{errors.New("bad.txt:1: expected a colon")})
	if !strings.Contains(text, "### isohound check: 1000 violated, 1 not judged") || !strings.Contains(text, "… and 800 more") || !strings.Contains(text, "more anomalies") ||
		!strings.Contains(text, "- bad.txt:1: expected a colon") || len(text) > 100<<10 {
		t.Errorf("%d bytes:\n%.2000s", len(text), text)
	}
	path := filepath.Join(t.TempDir(), "summary")
	for range 2 {
		if err := results.AppendSummary(path, "text"); err != nil {
			t.Fatal(err)
		}
	}
	if b, _ := os.ReadFile(path); string(b) != "text\ntext\n" {
		t.Errorf("%q", b)
	}
}
