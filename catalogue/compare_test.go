package catalogue

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
)

// TestCompare: a missing expected anomaly counts as much as an unexpected one; undecided
// verdicts are neither.
func TestCompare(t *testing.T) {
	yes, no := true, false
	si := func(v verdict.Verdict, names ...string) []Judged {
		return []Judged{{Level: "si", Engine: "linear", Verdict: v, Anomalies: names}}
	}
	lost := Expectation{Level: "si", Verdict: "violated", Anomaly: "LostUpdate"}
	clean := Expectation{Level: "si", Verdict: "satisfied"}
	for name, tc := range map[string]struct {
		expect     Expectation
		got        []Judged
		invariants []generator.InvariantResult
		want       Status
		says       string
	}{
		"found":                  {lost, si(verdict.Violated, "LongFork", "LostUpdate"), nil, Met, ""},
		"another one":            {lost, si(verdict.Violated, "LongFork"), nil, Unmet, "violated: LongFork"},
		"not found":              {lost, si(verdict.Satisfied), nil, Unmet, "satisfied"},
		"vacuous is not found":   {lost, si(verdict.Vacuous), nil, Undecided, "vacuous"},
		"unknown":                {lost, si(verdict.Unknown), nil, Undecided, "unknown"},
		"none":                   {lost, nil, nil, Undecided, "no verdict"},
		"clean":                  {clean, si(verdict.Satisfied), nil, Met, ""},
		"found in a control":     {clean, si(verdict.Violated, "LostUpdate"), nil, Unmet, "violated: LostUpdate"},
		"vacuous is not clean":   {clean, si(verdict.Vacuous), nil, Undecided, ""},
		"two opinions":           {lost, append(si(verdict.Violated, "LostUpdate"), Judged{Level: "si", Engine: "polygraph", Second: true, Verdict: verdict.Violated, Anomalies: []string{"G-single"}}), nil, Met, ""},
		"opinions differ":        {lost, append(si(verdict.Violated, "LostUpdate"), Judged{Level: "si", Engine: "polygraph", Second: true, Verdict: verdict.Satisfied}), nil, Unmet, "satisfied"},
		"unknown is expected":    {Expectation{Level: "si", Verdict: "unknown"}, si(verdict.Unknown), nil, Met, ""},
		"unknown was expected":   {Expectation{Level: "si", Verdict: "unknown"}, si(verdict.Violated), nil, Unmet, ""},
		"refuted":                {Expectation{Level: "si", Verdict: "violated", Refuted: List{"si-noso"}}, []Judged{{Level: "si", Verdict: verdict.Violated, Refuted: []string{"si-noso"}}}, nil, Met, ""},
		"refuted another":        {Expectation{Level: "si", Verdict: "violated", Refuted: List{"si-noso"}}, []Judged{{Level: "si", Verdict: verdict.Violated, Refuted: []string{"si"}}}, nil, Unmet, "refuting si"},
		"refuted was not told":   {Expectation{Level: "si", Verdict: "violated", Refuted: List{"si-noso"}}, si(verdict.Violated), nil, Undecided, "not told"},
		"invariant broken":       {Expectation{Invariant: "i", Holds: &no}, nil, []generator.InvariantResult{{Name: "i", Problem: "p"}}, Met, ""},
		"invariant holds":        {Expectation{Invariant: "i", Holds: &yes}, nil, []generator.InvariantResult{{Name: "i"}}, Met, ""},
		"invariant must break":   {Expectation{Invariant: "i", Holds: &no}, nil, []generator.InvariantResult{{Name: "i"}}, Unmet, "holds"},
		"invariant must hold":    {Expectation{Invariant: "i", Holds: &yes}, nil, []generator.InvariantResult{{Name: "i", Problem: "p"}}, Unmet, "broken: p"},
		"invariant not seen":     {Expectation{Invariant: "i", Holds: &no}, nil, nil, Undecided, "not looked at"},
		"invariant out of reach": {Expectation{Invariant: "i", Holds: &yes}, nil, []generator.InvariantResult{{Name: "i", Error: "gone"}}, Undecided, "gone"},
	} {
		findings := compare([]Expectation{tc.expect}, tc.got, tc.invariants)
		res := Result{Findings: findings, Expected: "as expected"}
		if got := sum(findings); got != tc.want || tc.says != "" && !strings.Contains(res.CameOut(), tc.says) {
			t.Errorf("%s: %s, want %s; %s", name, got, tc.want, res.CameOut())
		}
	}
	if sum(nil) != Undecided {
		t.Error("nothing looked at is a success")
	}
	both := compare([]Expectation{lost, {Level: "ser", Verdict: "satisfied"}}, append(si(verdict.Satisfied), Judged{Level: "ser", Verdict: verdict.Unknown}), nil)
	if sum(both) != Unmet {
		t.Error("undecided outweighs not met")
	}
}

// TestTable: anomalies that were shown, that a level prevented, that were not tried, and that
// were not as expected.
func TestTable(t *testing.T) {
	result := func(name, engine, level string, v verdict.Verdict, anomaly string, e Expectation, names ...string) Result {
		j := []Judged{{Level: level, Verdict: v, Anomalies: names}}
		f := compare([]Expectation{e}, j, nil)
		return Result{Name: name, Engine: engine, Isolation: "i", Judged: j, Findings: f, Status: sum(f), Dir: name, Report: name + "/report.html", Row: Row{Anomaly: anomaly}, Expected: e.outcome()}
	}
	r := &Results{Scenarios: []Result{
		result("clean", "A", "si", verdict.Satisfied, "", Expectation{Level: "si", Verdict: "satisfied"}),
		result("skew", "A", "ser", verdict.Violated, "", Expectation{Level: "ser", Verdict: "violated", Anomaly: "WriteSkew"}, "WriteSkew", "G2-item"),
		result("bad|control", "B", "ser", verdict.Violated, "", Expectation{Level: "ser", Verdict: "satisfied"}, "LostUpdate"),
		result("missing", "C", "si", verdict.Satisfied, "", Expectation{Level: "si", Verdict: "violated", Anomaly: "LongFork"}),
		{Name: "phantom", Engine: "D", Isolation: "i", Row: Row{Engine: "D at last", Anomaly: "phantom"}, Judged: []Judged{{Level: "ser", Verdict: verdict.Unknown}},
			Findings: []Finding{{What: "invariant bookings", Want: "broken", Got: "broken: 13", Status: Met}}, Status: Met, Dir: "phantom"},
		{Name: "history", Engine: "recorded history", Judged: []Judged{{Level: "ser", Verdict: verdict.Violated, Anomalies: []string{"LostUpdate"}}}, Status: Met},
	}}
	table := Tabulate(r)
	if len(table.Rows) != 4 || len(table.Columns) != 15 || table.Columns[14] != "phantom" {
		t.Fatalf("%+v", table)
	}
	for _, want := range []struct{ row, column, text string }{
		{"A, i", "lost update", "prevented"}, {"A, i", "write skew", "shown"}, {"A, i", "phantom", "not tried"}, {"A, i", "thin air read", "prevented"},
		{"B, i", "lost update", "shown, must not be"}, {"B, i", "write skew", "not tried"}, {"C, i", "long fork", "not shown, must be"}, {"C, i", "lost update", "prevented"},
		{"C, i", "write skew", "not tried"}, {"D at last", "phantom", "shown"}, {"D at last", "lost update", "not tried"},
	} {
		got := ""
		for _, row := range table.Rows {
			for n, c := range row.Cells {
				if row.Engine == want.row && table.Columns[n] == want.column {
					got = c.Text()
				}
			}
		}
		if got != want.text {
			t.Errorf("%s, %s: %q, want %q", want.row, want.column, got, want.text)
		}
	}
	text := Markdown(r)
	for _, want := range []string{"4 of 6 as expected, 2 NOT as expected", "[shown](skew/report.html)", "**shown, must not be**", `bad\|control`, "✗ NOT AS EXPECTED", "si was satisfied, expected violated: LongFork"} {
		if !strings.Contains(text, want) {
			t.Errorf("Markdown lacks %q:\n%s", want, text)
		}
	}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="skew/report.html">shown</a>`, `class="unexpected"`, "prefers-color-scheme: dark", `name="viewport"`, "bad|control"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("HTML lacks %q", want)
		}
	}
	for _, never := range []string{"http://", "https://", "<script", "@import"} {
		if strings.Contains(string(page), never) {
			t.Errorf("HTML has %q: it must load nothing", never)
		}
	}
	dir := t.TempDir()
	if _, err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	again, err := LoadResults(dir)
	if err != nil || !strings.Contains(Markdown(again), "[shown]("+dir+"/skew/report.html)") {
		t.Errorf("%v", err)
	}
}

// TestLinksOfTable: links lead to the runs, whatever the folder of the results is called.
func TestLinksOfTable(t *testing.T) {
	r := &Results{base: "a:b (1)#?%20&lt;/", Scenarios: []Result{
		{Name: "skew", Engine: "sim", Isolation: "si", Report: "skew/report.html", Judged: []Judged{{Level: "ser", Verdict: verdict.Violated, Anomalies: []string{"WriteSkew"}}}},
		{Name: "more", Engine: "sim", Isolation: "si", Dir: "more", Judged: []Judged{{Level: "ser", Verdict: verdict.Violated, Anomalies: []string{"WriteSkew"}}}},
	}}
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	const base = "./a:b%20%281%29%23%3F%2520%26lt;/"
	for text, links := range map[string][]string{
		string(page): {`<a href="` + base + `skew/report.html">shown</a>`, `<a href="` + base + `more/">2</a>`, `<a href="` + base + `skew/report.html">skew</a>`, `<a href="` + base + `more/">more</a>`},
		Markdown(r):  {"[shown](" + base + "skew/report.html)", "[2](" + base + "more/)", "[skew](" + base + "skew/report.html)", "[more](" + base + "more/)"},
	} {
		for _, want := range links {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in\n%s", want, text)
			}
		}
	}
}

// TestDamagedResults: an error of a damaged file names it, and says what is wrong and what to do.
func TestDamagedResults(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, resultsFile), []byte(`{"scenarios":{}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, resultsFile) + " is damaged: scenarios is an object, not a list; put back the file that the run of scenarios wrote"
	if _, err := LoadResults(dir); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
