package results_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

func sample(t *testing.T) *results.Run {
	t.Helper()
	r := &results.Run{
		Config: results.Config{
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Driver: "postgres", Server: "PostgreSQL <15>", Isolation: "repeatable read", Promises: "si", PromisedBy: "the manual",
			Workload: "mini", Params: map[string]string{"think": "0"}, Sessions: 2, Txns: 5, Keys: 3, Dist: "uniform", Seed: 42,
			Levels: []string{"si", "ser"}, Ended: "complete", Repeat: "isohound run --seed 42", History: "history.jsonl.zst",
		},
		Stats: generator.Stats{Seconds: 1, Committed: 1234567, Aborted: 2, AbortsByCause: map[string]int64{"40001 serialization failure": 2}, IntervalSeconds: 0.25},
	}
	for n := range 8 {
		r.Stats.Intervals = append(r.Stats.Intervals, generator.IntervalStats{Committed: int64(100 + n), LatencyMS: generator.Quantiles{P50: 1, P90: 2, P99: float64(3 + n)}})
	}
	for text, levels := range map[string][]level.Level{
		"s1 T1: r(x,0) w(x,1)\ns2 T2: r(x,0) w(x,2)": {level.SI, level.SER},
	} {
		h := dsl.MustParse(text)
		for _, l := range levels {
			res, err := checker.Check(context.Background(), h, l, checker.Options{Certify: true})
			if err != nil {
				t.Fatal(err)
			}
			o := results.NewOutcome("history.jsonl.zst", h, res)
			o.Explain(h, explanation(t, h, res))
			r.Config.Weigh(&o)
			r.Outcomes = append(r.Outcomes, o)
		}
	}
	return r
}

func explanation(t *testing.T, h *history.History, r *verdict.Result) *counterexample.Explanation {
	t.Helper()
	judge := func(ctx context.Context, lvl level.Level, _ checker.Options) (*verdict.Result, error) {
		return checker.Check(ctx, h, lvl, checker.Options{Certify: true})
	}
	x, err := counterexample.NewExplainer(h, judge).Explain(context.Background(), r, counterexample.Wishes{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestSaveAndDraw: the report drawn from the saved files is the same as the original report.
func TestSaveAndDraw(t *testing.T) {
	dir := t.TempDir()
	run := sample(t)
	run.Stats.Faults = []generator.Fault{{From: 1, To: 2.5, What: "kill for 1s"}, {From: 3, To: 3, What: "cut"}}
	report, err := results.Save(dir, run, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(report); err != nil {
		t.Fatal(err)
	}
	r, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := results.Draw(dir, r, pages.Draw); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(report)
	if err != nil || string(again) != string(first) {
		t.Errorf("the report differs when it is drawn again (%v)", err)
	}
	page := string(first)
	for _, want := range []string{
		"LostUpdate", "violates si, ser", "Snapshot isolation is promised and does not hold; serializability does not hold and is not promised.",
		"<h1>Violated: breaks the promise</h1>", "<strong>violated, not promised</strong>", "Repeatable read promises snapshot isolation (the manual).", "T1 (session 1) and T2 (session 2) both read x = 0", `isohound run <span class="flag">--seed</span> 42`, "1,234,567",
		"40001 serialization failure", "PostgreSQL &lt;15&gt;", `data-shows="graph"`, `data-shows="timeline"`, "violates si-noso and psi, and so every stronger level", "Nothing of it can be left out", "figure.zoom", `class="chart"`, "r(x,0)", "seed 42",
		"<li>1.0 to 2.5 s: kill for 1s</li>", "<li>3.0 s: cut</li>", ">fault</text>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	// Self-contained: nothing is fetched.
	if m := regexp.MustCompile(`(src|href|url)\s*[=(]\s*["']?(https?:|//|file:)`).FindString(page); m != "" {
		t.Errorf("the report refers to something outside: %s", m)
	}
	if strings.Count(page, `class="anomaly"`) != 1 {
		t.Error("one anomaly of two levels is shown twice")
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 7 {
		t.Errorf("files %v", left)
	}
}

func TestJUnit(t *testing.T) {
	b, err := results.JUnit(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests      int `xml:"tests,attr"`
		Failures   int `xml:"failures,attr"`
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
		Cases []struct {
			Name    string `xml:"name,attr"`
			Failure struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b, &suite); err != nil {
		t.Fatal(err)
	}
	if one, two := suite.Cases[0].Failure.Message, suite.Cases[1].Failure.Message; !strings.HasSuffix(one, "si is promised") || !strings.HasSuffix(two, "ser is not promised") {
		t.Errorf("%q, %q", one, two)
	}
	if suite.Tests != 2 || suite.Failures != 2 || suite.Cases[0].Failure.Type != "LostUpdate" || !strings.Contains(suite.Cases[0].Failure.Text, "repeat: isohound") {
		t.Errorf("%+v", suite)
	}
	if len(suite.Properties) != 7 || suite.Properties[6].Value != "si" || suite.Properties[0].Value != "PostgreSQL <15>" || suite.Properties[3].Value != "42" {
		t.Errorf("%+v", suite.Properties)
	}
}

// TestJUnitOfBadRuns: a run that ended early, or a level that was not judged, never counts as
// passed.
func TestJUnitOfBadRuns(t *testing.T) {
	r := sample(t)
	r.Config.Ended = generator.ServerLost
	r.Outcomes = r.Outcomes[:0]
	b, err := results.JUnit(r)
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests  int `xml:"tests,attr"`
		Errors int `xml:"errors,attr"`
		Cases  []struct {
			Name  string    `xml:"name,attr"`
			Error *struct{} `xml:"error"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b, &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 3 || suite.Errors != 3 || len(suite.Cases) != 3 || suite.Cases[0].Name != "run" || suite.Cases[2].Error == nil {
		t.Errorf("%s", b)
	}
}

// TestMostAborts: the summary and the JUnit file say why most transactions aborted, if most did, and what ended a run early.
func TestMostAborts(t *testing.T) {
	r := sample(t)
	r.Config.Ended, r.Config.Cause = generator.ServerLost, "cannot connect: nobody listens"
	r.Stats.Seconds, r.Stats.Committed, r.Stats.Unknown, r.Stats.Aborted = 2, 10, 0, 100
	r.Stats.AbortsByCause = map[string]int64{"25006 the endpoint only reads": 98, "40001 serialization failure": 2}
	told := func() (n int) {
		b, err := results.JUnit(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(b), results.RunSummary(r, false)} {
			if !strings.Contains(text, "server lost (cannot connect: nobody listens)") {
				t.Errorf("the cause is missing: %s", text)
			}
			if strings.Contains(text, "most aborts by 25006 the endpoint only reads (98 of 100)") {
				n++
			}
		}
		return n
	}
	if told() != 2 {
		t.Error("the most frequent cause of aborts is not told")
	}
	if r.Stats.Committed = 1000; told() != 0 {
		t.Error("it is told although most transactions committed")
	}
}

// TestDamagedFolder: nonsense in a run's folder is an error, no panic.
func TestDamagedFolder(t *testing.T) {
	for name, text := range map[string]string{
		"config.json":  `{}`,
		"verdict.json": `[{"verdict":"violated"}]`,
		"stats.json":   `{"interval_seconds":0,"intervals":[{},{},{},{}]}`,
	} {
		dir := t.TempDir()
		if _, err := results.Save(dir, sample(t), pages.Draw); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := results.Load(dir)
		if err == nil {
			_, err = results.Draw(dir, r, pages.Draw)
		}
		if (err == nil) != (name == "stats.json") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestControlCharacters: control characters in keys must not reach a terminal.
func TestControlCharacters(t *testing.T) {
	h := dsl.MustParse("s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)")
	h.Symbols = evilNames(h.Symbols)
	res, err := checker.Check(context.Background(), h, level.SI, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(results.NewOutcome("h", h, res))
	text := strings.ReplaceAll(string(b), `\\u001b`, "") // a backslash and what follows is no control character
	if err != nil || len(res.Anomalies) == 0 || strings.Contains(text, "u001b") || !strings.Contains(text, `x1b`) {
		t.Errorf("%v: %s", err, b)
	}
}

// evilNames returns symbols like s with an escape sequence as the name of the
// first key.
func evilNames(s *history.Symbols) *history.Symbols {
	out := history.NewSymbols()
	out.DefaultInitial = s.DefaultInitial
	out.Key("\x1b[31mx")
	for i := range s.SessionCount() {
		out.Session(s.SessionName(int32(i)))
	}
	return out
}

// TestCutOff: a run without verdicts can still be drawn.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	c := sample(t).Config
	if err := results.SaveConfig(dir, &c); err != nil {
		t.Fatal(err)
	}
	r, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	path, err := results.Draw(dir, r, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	if page, _ := os.ReadFile(path); !strings.Contains(string(page), "recorded and not checked") {
		t.Error("the report does not say that nothing was checked")
	}
	if _, err := results.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not the folder of a run") {
		t.Errorf("%v", err)
	}
}

// TestLargeCounterexample: the report shows some of a large counterexample's
// transactions and says how many more there are.
func TestLargeCounterexample(t *testing.T) {
	var b strings.Builder
	for n := range 100 {
		fmt.Fprintf(&b, "s%d T%d: r(x,0)\n", n, n)
	}
	h := dsl.MustParse(b.String())
	a := verdict.Anomaly{Kind: verdict.Contradiction, Names: []string{"Contradiction"}, Count: 1}
	for i := range h.Txns {
		a.Txns = append(a.Txns, int32(i))
		a.Ops = append(a.Ops, verdict.OpRef{Txn: int32(i)})
	}
	r := sample(t)
	r.Outcomes = []results.Outcome{results.NewOutcome("history.jsonl.zst", h, &verdict.Result{Level: level.SER, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}})}
	if n := len(r.Outcomes[0].Anomalies[0].Transactions); n != 100 {
		t.Errorf("the outcome has %d transactions", n)
	}
	path, err := results.Save(t.TempDir(), r, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	page, _ := os.ReadFile(path)
	if !strings.Contains(string(page), "… and 76 more") || !strings.Contains(string(page), ">T23<") || strings.Contains(string(page), ">T24<") {
		t.Error("not the first 24 of 100 transactions, or it is not said how many more there are")
	}
}

// TestInvariants: a violated invariant is a failure if a serial level was to be checked, and is
// reported in any case. Where no serial level is promised, it is said that the invariant is not.
func TestInvariants(t *testing.T) {
	for lvl, failures := range map[string]int{"ser": 1, "sser": 1, "si": 0} {
		r := sample(t)
		r.Config.Levels, r.Outcomes = []string{lvl}, nil
		r.Invariants = []generator.InvariantResult{{Name: "sum", Text: "the sum is 0", Problem: "it is 7"}, {Name: "count", Text: "there are 3"}}
		dir := t.TempDir()
		page, err := results.Save(dir, r, pages.Draw)
		if err != nil {
			t.Fatal(err)
		}
		html, err := os.ReadFile(page)
		if err != nil || !strings.Contains(string(html), "does not hold, and is not promised, since no serial level is: it is 7") || strings.Contains(string(html), "<h1>Violated") != (failures > 0) {
			t.Errorf("%s: %v\n%s", lvl, err, html)
		}
		junit, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
		if err != nil || strings.Count(string(junit), "invariant sum") != failures {
			t.Errorf("%s: %v\n%s", lvl, err, junit)
		}
		if again, err := results.Load(dir); err != nil || len(again.Invariants) != 2 || again.Invariants[0] != r.Invariants[0] {
			t.Errorf("%s: %+v, %v", lvl, again, err)
		}
	}
}

// TestUncheckedInvariant: an invariant that could not be checked is told in the summary, and is an error if a serial level was
// to be checked.
func TestUncheckedInvariant(t *testing.T) {
	for lvl, errs := range map[string]int{"ser": 1, "si": 0} {
		r := sample(t)
		r.Config.Levels, r.Outcomes = []string{lvl}, nil
		r.Invariants = []generator.InvariantResult{{Name: "sum", Text: "the sum is 0", Error: "call timed out"}}
		junit, err := results.JUnit(r)
		if err != nil || strings.Count(string(junit), `<error type="not checked" message="could not be checked: call timed out">`) != errs {
			t.Errorf("%s: %v\n%s", lvl, err, junit)
		}
		if text := results.RunSummary(r, false); !strings.Contains(text, "The invariant **sum** could not be checked: call timed out") {
			t.Error(text)
		}
	}
}

// TestSameAnomaly: an anomaly with two counterexamples, at the level that was asked and at a weaker one, is told once.
func TestSameAnomaly(t *testing.T) {
	h := dsl.MustParse("s1 T1: r(x,0) w(y,1)\ns2 T2: r(y,0) w(x,1)\n")
	r, err := checker.Check(context.Background(), h, level.SER, checker.Options{Certify: true})
	if err != nil || r.Verdict != verdict.Violated {
		t.Fatalf("%+v, %v", r, err)
	}
	x := explanation(t, h, r)
	again := *x.Counterexamples[0]
	again.Anomaly.Count, again.Weakest = 3, level.SER
	x.Counterexamples = append(x.Counterexamples, &again)
	o := results.NewOutcome("h", h, r)
	o.Explain(h, x)
	if len(o.Anomalies) != 1 || o.Anomalies[0].Count != 3 || o.Anomalies[0].Counterexample == nil {
		t.Errorf("%d anomalies: %+v", len(o.Anomalies), o.Anomalies)
	}
}

// TestExplanation: the written files of a counterexample have the same verdict, and unusual
// names stay the same.
func TestExplanation(t *testing.T) {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	x, y := sym.Key(`a "b" (c), <d>`), sym.Key("y\n\x00")
	b := history.NewBuilder(history.Header{Seed: 3}, sym, 0)
	for i, keys := range [][2]history.Key{{x, y}, {y, x}} {
		if err := b.Add(&history.Record{ID: int64(i), Session: int64(i), Begin: 1, End: 9, Status: history.Committed, Ops: []history.Op{
			{Kind: history.Read, Key: keys[0]}, {Kind: history.Write, Key: keys[1], Value: sym.Int(1)}}}); err != nil {
			t.Fatal(err)
		}
	}
	h := b.Done(true, nil)
	r, err := checker.Check(context.Background(), h, level.SER, checker.Options{Certify: true})
	if err != nil || r.Verdict != verdict.Violated {
		t.Fatalf("%+v, %v", r, err)
	}
	o := results.NewOutcome("h", h, r)
	o.Explain(h, explanation(t, h, r))
	if want := []string{"ser-noso"}; !slices.Equal(o.Standing.Not, want) || !slices.Equal(o.Standing.AlsoNot, []string{"ser", "sser"}) || !slices.Equal(o.Standing.Holds, []string{"strong-si"}) {
		t.Errorf("%+v", o.Standing)
	}
	dir := t.TempDir()
	if err := results.WriteExplanation(dir, &o.Anomalies[0], "words\n"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"minimal.txt", "minimal.jsonl"} {
		f, err := file.Open(filepath.Join(dir, name), file.Auto, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := history.Load(context.Background(), f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		if r, err := checker.Check(context.Background(), again, level.SER, checker.Options{Certify: true}); err != nil || r.Verdict != verdict.Violated {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for _, name := range []string{"graph.svg", "timeline.svg", "graph.dot", "explanation.txt"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
