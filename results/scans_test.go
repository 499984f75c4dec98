package results_test

import (
	"context"
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

// bookings are histories in which a scan did not find a row. The scans of the first one return rows,
// too.
var bookings = []struct {
	name, lines string
	// statements are in all texts of the report, question and label in the labels of the picture.
	statements      []string
	question, label string
}{
	{"Phantom", `{"initial":[["bookings(4,1)","2,16"]]}
{"txn":1,"session":1,"status":"committed","ops":[["w","bookings(4,91)","3,5"],["w","bookings(5,1)","1,6"]]}
{"txn":2,"session":2,"status":"committed","ops":[["r","bookings(4,1)","2,16"],["r","bookings(5,1)","1,6"]],"preds":[{"kind":"read","table":"bookings","where":[["slot","=",4]],"ops":[0,1]}]}
`, []string{`not found: bookings(4,91)`}, "scan bookings where slot = 4", "not found: bookings(4,91)"},
	{"PredicateWriteSkew", `{"txn":1,"session":1,"status":"committed","ops":[["w","bookings(4,91)","3,5"]],"preds":[{"kind":"update","table":"bookings","where":[["amount",">",2]],"ops":[0,0]}]}
{"txn":2,"session":2,"status":"committed","ops":[["w","bookings(4,92)","3,6"]],"preds":[{"kind":"update","table":"bookings","where":[["amount",">",2]],"ops":[0,0]}]}
`, []string{`update bookings where amount > 2 -> nothing; not found: bookings(4,92)`, `update bookings where amount > 2 -> nothing; not found: bookings(4,91)`}, "update bookings where amount > 2", "not found: bookings(4,91)"},
	{"PredicateWriteSkew", `{"txn":1,"session":1,"status":"committed","ops":[["w","bookings(4,91)","3,5"]],"preds":[{"kind":"delete","table":"bookings","where":[["amount",">",2]],"ops":[0,0]}]}
{"txn":2,"session":2,"status":"committed","ops":[["w","bookings(4,92)","3,6"]],"preds":[{"kind":"count","table":"bookings","where":[["amount",">",2]],"ops":[0,0]}]}
`, []string{`delete bookings where amount > 2 -> nothing; not found: bookings(4,92)`, `count bookings where amount > 2 -> 0; not counted: bookings(4,91)`}, "count bookings where amount > 2", "not counted: bookings(4,91)"},
}

// bookingsRun judges one of these histories.
func bookingsRun(t *testing.T, lines string) *results.Run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.jsonl")
	text := `{"isohound":1,"schema":[{"name":"bookings","key":[{"name":"slot","type":"int"},{"name":"id","type":"int"}],"groups":[{"columns":[{"name":"amount","type":"int"},{"name":"stamp","type":"int"}]}]}],"initial":null}` +
		"\n" + lines + `{"closed":{"reason":"complete","txns":2}}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := file.Load(context.Background(), path, file.Auto, nil)
	if err != nil {
		t.Fatal(err)
	}
	if h, _, err = scans.Expand(t.Context(), h, scans.EagerOps); err != nil {
		t.Fatal(err)
	}
	res, err := checker.Check(t.Context(), h, level.SER, checker.Options{Certify: true})
	if err != nil {
		t.Fatal(err)
	}
	o := results.NewOutcome(path, h, res)
	o.Explain(h, explanation(t, h, res))
	r := sample(t)
	r.Config.Weigh(&o)
	r.Outcomes = []results.Outcome{o}
	return r
}

// TestScansInReports checks that every text about a counterexample shows a scan as a statement, with
// its conditions and the row that it did not find, and no read of that row.
func TestScansInReports(t *testing.T) {
	for _, tc := range bookings {
		name := tc.name
		dir := t.TempDir()
		r := bookingsRun(t, tc.lines)
		if err := os.WriteFile(filepath.Join(dir, r.Config.History), []byte("all of it"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := results.SaveRepro(dir, r, &results.Repro{}); err != nil {
			t.Fatal(err)
		}
		report, err := results.Save(dir, r, pages.Draw)
		if err != nil {
			t.Fatal(err)
		}
		a := &r.Outcomes[0].Anomalies[0]
		if a.Name != name {
			t.Fatalf("%s is called %s", name, a.Name)
		}
		why := t.TempDir()
		if err := results.WriteExplanation(why, a, "words"); err != nil {
			t.Fatal(err)
		}
		read := func(parts ...string) string {
			b, err := os.ReadFile(filepath.Join(parts...))
			if err != nil {
				t.Error(err)
			}
			return html.UnescapeString(string(b))
		}
		var lines []string
		for _, txn := range a.Transactions {
			lines = append(lines, results.TxnLines(txn, "--json")...)
		}
		texts := map[string]string{
			"report.html": read(report), "repro/README.md": read(dir, results.ReproFolder, "README.md"), "repro/report.html": read(dir, results.ReproFolder, "report.html"),
			"summary.md": read(dir, "summary.md"), "lines": strings.Join(lines, "\n"), "graph.dot": read(why, "graph.dot"),
		}
		for what, text := range texts {
			for _, want := range append(tc.statements, tc.question+" -> ") {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %s lacks %q:\n%s", name, what, want, text)
				}
			}
			if m := regexp.MustCompile(`[rn]\("?bookings\(4,9[12]\)[^)]*\)`).FindString(text); m != "" {
				t.Errorf("%s, %s has the read %s, which no statement made", name, what, m)
			}
		}
		labels := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(read(why, "graph.svg"), " ")
		for _, want := range append(strings.Fields("PRW "+tc.question), tc.label) {
			if !strings.Contains(labels, want) {
				t.Errorf("%s, graph.svg lacks %q:\n%s", name, want, labels)
			}
		}
		// The report is the same when it is drawn again from the saved files.
		saved, err := results.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := results.Draw(dir, saved, pages.Draw); err != nil {
			t.Fatal(err)
		}
		if read(report) != texts["report.html"] || read(dir, "summary.md") != texts["summary.md"] {
			t.Errorf("%s: the report differs when it is drawn again", name)
		}
	}
}

// TestScansBeside checks that a transaction which a counterexample needs for its write alone lists no
// rows that its scan did not find.
func TestScansBeside(t *testing.T) {
	r := bookingsRun(t, `{"txn":1,"session":1,"status":"committed","ops":[["w","bookings(4,91)","3,5"]],"preds":[{"kind":"read","table":"bookings","where":[["slot","=",4]],"ops":[0,0]}]}
{"txn":2,"session":2,"status":"committed","ops":[["r","bookings(4,91)","3,5"],["r","bookings(4,91)",null]]}
`)
	var lines []string
	for _, txn := range r.Outcomes[0].Anomalies[0].Transactions {
		if txn.ID == 1 {
			lines = results.TxnLines(txn, "--json")
		}
	}
	if len(lines) != 2 || !strings.HasSuffix(lines[0], " scan bookings where slot = 4 -> nothing") || !strings.HasSuffix(lines[1], ` w(bookings(4,91),"3,5")`) {
		t.Errorf("%q", lines)
	}
}

// TestScansInExports checks that what is written of a counterexample with scans is read back with
// the same verdict, and that what only has reads and writes says which statements they stand for.
func TestScansInExports(t *testing.T) {
	for _, tc := range bookings {
		name := tc.name
		r := bookingsRun(t, tc.lines)
		a := &r.Outcomes[0].Anomalies[0]
		dir := t.TempDir()
		if err := results.WriteExplanation(dir, a, "words"); err != nil {
			t.Fatal(err)
		}
		for _, written := range []string{"minimal.txt", "minimal.jsonl"} {
			h, err := file.Load(t.Context(), filepath.Join(dir, written), file.Auto, nil)
			if err != nil {
				t.Fatal(err)
			}
			if h.HasPredicates() != (written == "minimal.jsonl") {
				t.Errorf("%s, %s: predicates %v", name, written, h.HasPredicates())
			}
			if got, want := operations(h), operations(a.Counterexample.Sub); got != want {
				t.Errorf("%s, %s has the operations\n%swant\n%s", name, written, got, want)
			}
			if h, _, err = scans.Expand(t.Context(), h, scans.EagerOps); err != nil {
				t.Fatal(err)
			}
			if res, err := checker.Check(t.Context(), h, level.SER, checker.Options{Certify: true}); err != nil || res.Verdict != verdict.Violated {
				t.Errorf("%s, %s: %+v, %v", name, written, res, err)
			}
		}
		text := a.Counterexample.History
		if !strings.Contains(text, "\n# T2: "+tc.question+" -> ") {
			t.Errorf("%s: no statement in %s", name, text)
		}
		b, err := results.Elle(r.Outcomes)
		if err != nil {
			t.Fatal(err)
		}
		var got results.ElleResult
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		for _, list := range got.Anomalies {
			for n, step := range list[0].Steps {
				op := list[0].Cycle[n]
				if step["type"] == "wr" {
					op = list[0].Cycle[n+1]
				}
				found := false
				for _, item := range op.Value {
					found = found || item[0] == "r" && item[1] == step["key"]
				}
				if !found {
					t.Errorf("%s: the step %v of Elle's is not an operation of %v", name, step, op)
				}
			}
		}
	}
}

// operations lists the operations of a history, a line for each transaction.
func operations(h *history.History) string {
	var b strings.Builder
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			b.WriteString(dsl.Op(h, op) + " ")
		}
		b.WriteString("\n")
	}
	return b.String()
}
