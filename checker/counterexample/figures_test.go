package counterexample_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// figure is a history of a paper with its expected results.
type figure struct {
	name, text, anomaly string
	minimal             []string
	expect              map[level.Level]string
}

func figures(t *testing.T, pattern string) []figure {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	var out []figure
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f := figure{name: filepath.Base(file), text: string(text), expect: map[level.Level]string{}}
		for _, line := range strings.Split(f.text, "\n") {
			word, rest, _ := strings.Cut(strings.TrimPrefix(line, "# "), " ")
			switch {
			case !strings.HasPrefix(line, "# "):
			case word == "anomaly":
				f.anomaly = rest
			case word == "minimal":
				f.minimal = strings.Fields(rest)
			case word == "expect":
				for _, pair := range strings.Fields(rest) {
					name, want, _ := strings.Cut(pair, "=")
					lvl, err := level.Parse(name)
					if err != nil {
						t.Fatal(err)
					}
					f.expect[lvl] = want
				}
			}
		}
		out = append(out, f)
	}
	return out
}

// TestFigures checks the verdicts on the histories of the papers' figures, by every engine and by
// the trial of every execution. The comments of the files have the expected results. The
// counterexamples must be those of the comments, closed and minimal, whatever else is in the
// history.
func TestFigures(t *testing.T) {
	list := figures(t, "../../scenarios/figures/*.txt")
	if violated := slices.DeleteFunc(slices.Clone(list), func(f figure) bool { return f.anomaly == "" }); len(list) < 25 || len(violated) < 14 {
		t.Errorf("%d figures, %d with an anomaly", len(list), len(violated))
	}
	for _, f := range list {
		t.Run(f.name, func(t *testing.T) {
			if len(f.expect) == 0 || !strings.Contains(f.text, "paper, ") || (f.anomaly == "") != (len(f.minimal) == 0) {
				t.Error("the comments lack an expectation or a source")
			}
			for lvl, want := range f.expect {
				h := parse(t, f.text)
				if lvl != level.LIN && allowed(t, h, lvl) != (want == "satisfied") {
					t.Errorf("%s: the trial of every execution does not say %s", lvl, want)
				}
				for _, engine := range checker.Engines {
					if lvl == level.LIN && engine != checker.Auto || engine == checker.Linear && !mini(h, lvl) {
						continue
					}
					judge(t, f, h, lvl, engine, want)
					if lvl != level.LIN {
						judge(t, f, parse(t, f.text+noise(h)), lvl, engine, want)
					}
				}
			}
		})
	}
}

// TestFigure5 checks the counterexamples of the MTC paper's 14 anomalies.
func TestFigure5(t *testing.T) {
	for _, f := range figures(t, "../../scenarios/figure5/*.txt") {
		for lvl, want := range f.expect {
			h := parse(t, f.text)
			for _, engine := range checker.Engines {
				judge(t, f, h, lvl, engine, want)
				judge(t, f, parse(t, f.text+noise(h)), lvl, engine, want)
			}
		}
	}
}

// parse reads a history and judges its scans.
func parse(t *testing.T, text string) *history.History {
	t.Helper()
	h, _, err := scans.Expand(t.Context(), dsl.MustParse(text), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if h.Scans != nil && h.Scans.Judged != h.Scans.Scans {
		t.Fatalf("%s\n%s", h.Scans.Reason, text)
	}
	return h
}

func mini(h *history.History, lvl level.Level) bool {
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: checker.Linear})
	return err == nil && r.Verdict != verdict.Unknown
}

// noise are transactions that read and write other keys, before and after, in
// sessions of their own.
func noise(h *history.History) string {
	initial := "0"
	if h.DefaultInitial == history.Absent {
		initial = "nil"
	}
	span := func(from, to int) string {
		if !h.Timed() {
			return ""
		}
		return fmt.Sprintf(" [%d,%d]", from, to)
	}
	return fmt.Sprintf("\ns91 T91%s: r(n1,%s) w(n1,1)\ns92 T92%s: r(n1,1) r(n2,%s)\ns91 T93%s: r(n2,%s) w(n2,7)\ns92 T94%s: r(n2,7) r(n1,1)\n",
		span(0, 2), initial, span(3, 4), initial, span(5, 9), initial, span(10, 11))
}

func judge(t *testing.T, f figure, h *history.History, lvl level.Level, engine checker.Engine, want string) {
	t.Helper()
	if engine == checker.Weak && !lvl.Weak() || engine == checker.PSI && lvl != level.PSI || engine == checker.Replay && !h.HasClaims() {
		return
	}
	where := fmt.Sprintf("%s, %s, %s", f.name, lvl, engine)
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{Engine: engine})
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if r.Verdict.String() != want {
		t.Fatalf("%s: %s %s, want %s", where, r.Verdict, r.Reason, want)
	}
	if r.Verdict != verdict.Violated {
		return
	}
	judge := func(ctx context.Context, l level.Level, _ checker.Options) (*verdict.Result, error) {
		return checker.Check(ctx, h, l, checker.Options{Certify: true})
	}
	x, err := counterexample.NewExplainer(h, judge).Explain(context.Background(), r, counterexample.Wishes{})
	if err != nil || len(x.Counterexamples) == 0 {
		t.Fatalf("%s: %v, %v", where, x, err)
	}
	for _, c := range x.Counterexamples {
		check(t, h, lvl, &c.Anomaly, where)
	}
	c := x.Counterexamples[0]
	if !slices.Contains(c.Anomaly.Names, f.anomaly) {
		t.Errorf("%s: named %v, want %s\n%s", where, c.Anomaly.Names, f.anomaly, c.Anomaly.Text)
	}
	var got []string
	for i := range c.History.Txns {
		got = append(got, fmt.Sprintf("T%d", c.History.Txns[i].ID))
	}
	slices.Sort(got)
	if f.minimal != nil && !slices.Equal(got, f.minimal) {
		t.Errorf("%s: of the transactions %v, want %v\n%s", where, got, f.minimal, dsl.Format(c.History))
	}
}
