package results_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

// TestIndex: every run at every level has a row, at any depth below the folder. A run inside
// another run's folder has none. Broken and unfinished runs are listed.
func TestIndex(t *testing.T) {
	top := t.TempDir()
	save := func(name string, change func(*results.Run)) string {
		dir := filepath.Join(top, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		r := sample(t)
		change(r)
		if _, err := results.Save(dir, r, pages.Draw); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	save("a", func(*results.Run) {})
	save("a/repro", func(*results.Run) {})
	save("deep/er/b (1)", func(r *results.Run) { r.Config.Driver, r.Outcomes = "badger", r.Outcomes[:1] })
	save("invariant", func(r *results.Run) {
		r.Config.Driver, r.Outcomes, r.Config.Levels = "etcd", r.Outcomes[1:], []string{"ser"}
		r.Invariants = []generator.InvariantResult{{Name: "sum", Problem: "it is 7"}}
	})
	save("cut", func(r *results.Run) { r.Config.Driver, r.Outcomes, r.Config.Ended = "mongo", nil, results.NotYet })
	if err := os.MkdirAll(filepath.Join(top, "torn"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "torn", "config.json"), []byte(`{"driver":`), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := results.NewIndex([]string{top, filepath.Join(top, "a"), t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range x.Rows {
		got = append(got, strings.Join([]string{r.Driver, r.Level, r.Verdict, r.Anomaly}, "|"))
	}
	want := []string{
		"||broken|", "||broken|", "badger|si|violated|LostUpdate", "etcd|ser|violated|LostUpdate", "etcd|invariant|violated|sum: it is 7",
		"mongo|si, ser|unfinished|", "postgres|si|violated|LostUpdate", "postgres|ser|violated|LostUpdate",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if x.Total() != "6 runs: 3 violated (1 not promised), 2 broken, 1 unfinished" || x.Empty() {
		t.Errorf("%s", x.Total())
	}
	if p := strings.Join(x.Problems(), "\n"); strings.Count(p, "\n") != 2 || !strings.Contains(p, "torn: ") || !strings.Contains(p, "the run goes on, or was cut off") {
		t.Errorf("%s", p)
	}
	md := string(x.Markdown(top))
	for _, want := range []string{"### isohound: 6 runs: 3 violated", "| verdict | anomaly or reason | commits |", "(deep/er/b%20%281%29/report.html)", "| **violated: breaks the promise** | LostUpdate | 1,234,567 |", "| **violated, not promised** | sum: it is 7 |"} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	b, err := x.JSON(top)
	if err != nil {
		t.Fatal(err)
	}
	var back results.Index
	if err := json.Unmarshal(b, &back); err != nil || len(back.Rows) != 8 || back.Rows[2].Report != "deep/er/b (1)/report.html" || back.Rows[2].Commits != 1234567 {
		t.Errorf("%v: %s", err, b)
	}
}

// TestIndexLinks: links lead to the reports, whatever the folders of the runs are called.
func TestIndexLinks(t *testing.T) {
	top := t.TempDir()
	links := map[string]string{"a b (1)": "a%20b%20%281%29", "c#d": "c%23d", "e?f": "e%3Ff", "g%20h": "g%2520h", "i:j": "./i:j", "k&lt;": "k%26lt;"}
	for name := range links {
		if err := os.Mkdir(filepath.Join(top, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := results.Save(filepath.Join(top, name), sample(t), pages.Draw); err != nil {
			t.Fatal(err)
		}
	}
	x, err := results.NewIndex([]string{top})
	if err != nil {
		t.Fatal(err)
	}
	html, err := x.HTML(top, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	md := string(x.Markdown(top))
	for name, want := range links {
		if want += "/report.html"; !strings.Contains(string(html), `<a href="`+want+`">`) || !strings.Contains(md, "]("+want+")") {
			t.Errorf("%s: no link to %s in\n%s", name, want, md)
		}
	}
}

// TestIndexEndedEarly: a run that was interrupted is no plain satisfied run in an index.
func TestIndexEndedEarly(t *testing.T) {
	dir := t.TempDir()
	r := sample(t)
	r.Config.Ended = generator.Interrupted
	for n := range r.Outcomes {
		r.Outcomes[n].Verdict, r.Outcomes[n].Anomalies = verdict.Satisfied, nil
	}
	if _, err := results.Save(dir, r, pages.Draw); err != nil {
		t.Fatal(err)
	}
	x, err := results.NewIndex([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	html, err := x.HTML(dir, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{x.Rows[0].Words(), x.Total(), string(x.Markdown(dir)), string(html)} {
		if !strings.Contains(text, "ended early") {
			t.Errorf("%s", text)
		}
	}
}
