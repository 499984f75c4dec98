package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

const (
	skew = "s1 T270 [1000000,9000000]: r(k78,0) r(k79,0) w(k78,391)\ns2 T238 [2000000,8000000]: r(k78,0) r(k79,0) w(k79,361)\n"
	lost = "s1 T15 [0,5]: r(x,0) w(x,1)\ns2 T17 [1,7]: r(x,0) w(x,2)\n"
	fork = "s1: r(x,0) w(x,1)\ns2: r(y,0) w(y,1)\ns3: r(x,1) r(y,0)\ns4: r(y,1) r(x,0)\n"
	// phantom: T2 sees one of T1's keys, and not the other one.
	phantom = "initial z=12\ns1 T1: w(x,11) w(y,1)\ns2 T2: p(v>10; z=12) r(y,1)\n"
	fine    = "s1 [0,5]: r(x,0) w(x,1)\ns2 [6,7]: r(x,1) w(x,2)\n"
)

// ring is a cycle of n transactions, on keys with long names.
func ring(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "s%d: r(warehouse-district-%d,0) r(warehouse-district-%d,0) w(warehouse-district-%d,%d)\n", i+1, i, (i+1)%n, i, 100000+i)
	}
	return b.String()
}

// scanRing is a cycle of n transactions, each of which inserts a row that the next one does not find,
// with conditions of some length.
func scanRing(n int) string {
	lines := []string{`{"isohound":1,"initial":null,"schema":[{"name":"order_line","key":[{"name":"ol_w_id","type":"int"},{"name":"ol_d_id","type":"int"},{"name":"ol_o_id","type":"int"},{"name":"ol_number","type":"int"}],"groups":[{"columns":[{"name":"ol_i_id","type":"int"},{"name":"ol_dist_info","type":"text"}]}]}]}`}
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"txn":%d,"session":%d,"dbtxn":%d,"begin":%d,"end":%d,"status":"committed","ops":[["w","order_line(1,2,%d,4)","7,'information'"]],"preds":[{"kind":"read","table":"order_line","where":[["ol_w_id","=",1],["ol_d_id","=",2],["ol_o_id","=",%d],["ol_i_id","<",100]],"ops":[0,0]}]}`,
			2000+i, i+1, 70000+i, 1000*i, 90000+1000*i, 3000+i, 3000+(i+1)%n))
	}
	return strings.Join(append(lines, fmt.Sprintf(`{"closed":{"reason":"complete","txns":%d}}`, n)), "\n") + "\n"
}

// parse reads a history in the notation or in the native format, and adds what its scans imply.
func parse(t *testing.T, text string) *history.History {
	t.Helper()
	h := (*history.History)(nil)
	if strings.HasPrefix(text, "{") {
		r, err := native.NewReader(strings.NewReader(text), "h", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if h, err = history.Load(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	} else {
		h = dsl.MustParse(text)
	}
	h, _, err := scans.Expand(t.Context(), h, scans.EagerOps)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// run makes the folder of a run that recorded a history.
func run(t *testing.T, folder, text string, levels []level.Level, change func(*results.Run)) string {
	t.Helper()
	dir := filepath.Join(folder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &results.Run{
		Config: results.Config{
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Version: "v0.0.0-20260102030405-0123456789ab", Driver: "postgres",
			Server: "PostgreSQL 15.18", Isolation: "repeatable read", Workload: "mini",
			Promises: "si", PromisedBy: "https://www.postgresql.org/docs/current/transaction-iso.html",
			Params:   map[string]string{"birth": "0", "death": "tombstone", "pairs": "50%", "rollback": "1%", "shapes": "all", "think": "0"},
			Sessions: 20, Txns: 500, Keys: 100, Dist: "uniform", Seed: 1422722551, Ended: generator.Complete, History: "history.jsonl",
			Repeat: "isohound run --driver postgres --dsn 'postgres://me:xxxxx@127.0.0.1/test' --isolation 'repeatable read' --workload mini -p birth=0 --sessions 20 --seed 1422722551 --check si,ser",
		},
		Stats: generator.Stats{
			Seconds: 2, Committed: 98998, Aborted: 1002, AbortRate: 0.01, CommitsPerSec: 80742, IntervalSeconds: 0.02,
			AbortsByCause: map[string]int64{"rolled back by the workload": 1000, "40001 could not serialize access due to read/write dependencies among transactions": 2},
			LatencyMS:     generator.Quantiles{P50: 0.178, P90: 0.339, P99: 0.651, Max: 8.639},
		},
		Outcomes: []results.Outcome{},
	}
	for n := range 60 {
		r.Stats.Intervals = append(r.Stats.Intervals, generator.IntervalStats{Committed: int64(1600 + 13*n%300), Aborted: int64(n % 7), LatencyMS: generator.Quantiles{P50: 0.2, P90: 0.4, P99: 0.5 + float64(n%9)}})
	}
	h := parse(t, text)
	repro := &results.Repro{Command: "run --driver postgres --check si", DSN: []string{"postgres://me:xxxxx@127.0.0.1/test"}}
	for _, l := range levels {
		res, err := checker.Check(context.Background(), h, l, checker.Options{Certify: true})
		if err != nil {
			t.Fatal(err)
		}
		o := results.NewOutcome(filepath.Join(dir, r.Config.History), h, res)
		if res.Verdict == verdict.Violated {
			judge := func(ctx context.Context, l level.Level, _ checker.Options) (*verdict.Result, error) {
				return checker.Check(ctx, h, l, checker.Options{Certify: true})
			}
			x, err := counterexample.NewExplainer(h, judge).Explain(context.Background(), res, counterexample.Wishes{})
			if err != nil {
				t.Fatal(err)
			}
			o.Explain(h, x)
		}
		r.Config.Weigh(&o)
		r.Config.Levels = append(r.Config.Levels, o.Level)
		r.Outcomes = append(r.Outcomes, o)
	}
	if err := os.WriteFile(filepath.Join(dir, r.Config.History), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	if r.Violated() {
		if _, err := results.SaveRepro(dir, r, repro); err != nil {
			t.Fatal(err)
		}
	}
	path, err := results.Save(dir, r, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReports: reports look right in every view, and have their sections in a useful order.
func TestReports(t *testing.T) {
	b := Start(t)
	folder := t.TempDir()
	both := []level.Level{level.SI, level.SER}
	order := "verdict anomaly repeat rates latencies aborts parameters"
	for name, tc := range map[string]struct {
		text, sections string
		levels         []level.Level
		pictures       int
		few            bool // views
		change         func(*results.Run)
	}{
		"skew":      {text: skew, levels: both, sections: order, pictures: 4},
		"lost":      {text: lost, levels: both, sections: order, few: true, pictures: 4},
		"fork":      {text: fork, levels: both, sections: order, few: true, pictures: 4},
		"phantom":   {text: phantom, levels: both, sections: order, few: true, pictures: 4},
		"scan ring": {text: scanRing(5), levels: []level.Level{level.SER}, sections: order, few: true, pictures: 4},
		"ring":      {text: ring(6), levels: []level.Level{level.SER}, sections: order, pictures: 4},
		"snapshots": {text: lost, levels: both, sections: order, pictures: 4, change: func(r *results.Run) {
			for _, o := range r.Outcomes {
				for _, a := range o.Anomalies {
					for n := range a.Transactions {
						a.Transactions[n].Visible = "100:400:100" + strings.Repeat(",101", 300)
					}
				}
			}
		}},
		"satisfied": {text: fine, levels: both, sections: "verdict repeat rates latencies aborts parameters", few: true, pictures: 2},
		"unchecked": {text: fine, sections: "verdict repeat rates latencies aborts parameters", few: true, pictures: 2, change: func(r *results.Run) { r.Config.Ended = generator.ServerLost }},
		"broken": {text: fine, levels: []level.Level{level.SER}, sections: "verdict repeat rates latencies parameters notes", change: func(r *results.Run) {
			r.Invariants = []generator.InvariantResult{{Name: "sum", Text: "the sum over all accounts is what it was at first", Problem: "it is 7, not 0"},
				{Name: "count", Text: "there are 3 doctors"}, {Name: "lines", Text: "every order has its lines", Error: "the connection was lost"}}
			r.Config.Notes = []string{"innodb_flush_log_at_trx_commit is 2: a crash of the machine may lose commits"}
			r.Config.Nodes = []string{"postgres://a.example.org:5432/averylongdatabasename", "postgres://b.example.org:5432/averylongdatabasename"}
			r.Stats = generator.Stats{Seconds: 1, Committed: 5}
		}},
	} {
		path := run(t, filepath.Join(folder, name), tc.text, tc.levels, tc.change)
		views := Views
		if tc.few {
			views = []View{Views[0], Views[3]}
		}
		for _, v := range views {
			seen := b.Look(t, path, v)
			if got := strings.Join(seen.Sections, " "); got != tc.sections {
				t.Errorf("%s at %s: sections %s, want %s", name, v, got, tc.sections)
			}
			if len(seen.Pictures) != tc.pictures {
				t.Errorf("%s at %s: %d pictures, want %d", name, v, len(seen.Pictures), tc.pictures)
			}
		}
		if repro := filepath.Join(filepath.Dir(path), results.ReproFolder, "report.html"); tc.text != fine {
			b.Look(t, repro, Views[0])
		}
	}
}

// TestScanLabels: on a phone, too, the picture of a counterexample has labels that name the conditions
// of scans and the rows that they did not find, and the list of transactions has their statements.
func TestScanLabels(t *testing.T) {
	path := run(t, t.TempDir(), scanRing(2), []level.Level{level.SER}, nil)
	b := Start(t)
	for _, width := range []int64{1200, 400} {
		var labels, statements []string
		b.Look(t, path, View{Width: width},
			chromedp.Evaluate(`[...document.querySelectorAll("svg[data-shows=graph] text")].map((e) => e.textContent)`, &labels),
			chromedp.Evaluate(`[...document.querySelectorAll("code.statement")].map((e) => e.textContent)`, &statements))
		text := strings.Join(labels, " ")
		for _, want := range []string{"PRW scan order_line where ol_w_id = 1 and ol_d_id = 2 and ol_o_id = 3001 and ol_i_id < 100 not found: order_line(1,2,3001,4)", "not found: order_line(1,2,3000,4)"} {
			if !strings.Contains(text, want) {
				t.Errorf("at %d pixels, the labels lack %q: %s", width, want, text)
			}
		}
		want := "scan order_line where ol_w_id = 1 and ol_d_id = 2 and ol_o_id = 3001 and ol_i_id < 100 -> nothing; not found: order_line(1,2,3001,4)"
		if len(statements) != 2 || !slices.Contains(statements, want) {
			t.Errorf("at %d pixels: statements %q, want %q", width, statements, want)
		}
	}
}

// TestColours: on a page with a violation, satisfied and violated levels have different colours.
func TestColours(t *testing.T) {
	path := run(t, t.TempDir(), skew, []level.Level{level.SI, level.SER}, nil)
	var colours []string
	Start(t).Look(t, path, Views[0], chromedp.Evaluate(`["satisfied", "violated"].map((v) => getComputedStyle(document.querySelector("td." + v + " strong")).color)`, &colours))
	if len(colours) != 2 || colours[0] == colours[1] {
		t.Errorf("colours %q", colours)
	}
}

// TestIndex: the page of several runs looks right, sorts and filters, and is complete without
// scripts.
func TestIndex(t *testing.T) {
	b := Start(t)
	folder := t.TempDir()
	run(t, filepath.Join(folder, "20260102-030405-postgres"), skew, []level.Level{level.SI, level.SER}, nil)
	run(t, filepath.Join(folder, "nightly", "20260103-030405-mariadb"), lost, []level.Level{level.SI}, func(r *results.Run) {
		r.Config.Driver, r.Config.Server, r.Stats.Committed = "mariadb", "MariaDB 10.11.14-MariaDB-0+deb12u2 with a long name", 7
	})
	run(t, filepath.Join(folder, "unfinished"), fine, nil, func(r *results.Run) { r.Config.Ended = results.NotYet })
	broken := filepath.Join(folder, "torn")
	if err := os.Mkdir(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "config.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	x, err := results.NewIndex([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	html, err := x.HTML(folder, pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "index.html")
	if err := os.WriteFile(path, html, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, v := range Views {
		b.Look(t, path, v)
	}

	var verdicts, links []string
	var tools bool
	column := chromedp.Evaluate(`[...document.querySelectorAll("#runs tbody tr")].filter((r) => r.checkVisibility()).map((r) => r.dataset.verdict)`, &verdicts)
	b.Look(t, path, View{Width: 1200, NoScript: true}, column,
		chromedp.Evaluate(`!document.getElementById("tools").hidden`, &tools),
		chromedp.Evaluate(`[...document.querySelectorAll("#runs a")].map((a) => decodeURI(a.getAttribute("href")))`, &links))
	if len(verdicts) != 5 || tools {
		t.Errorf("without scripts: %q, and tools to sort %v", verdicts, tools)
	}
	for _, l := range links {
		if _, err := os.Stat(filepath.Join(folder, l)); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
	if len(links) != 4 {
		t.Errorf("links %q", links)
	}
	commits := chromedp.Evaluate(`[...document.querySelectorAll("#runs thead button")].find((b) => b.textContent === "commits").click()`, nil)
	var counts []string
	b.Look(t, path, View{Width: 1200}, commits, commits,
		chromedp.Evaluate(`[...document.querySelectorAll("#runs [data-label=commits]")].map((c) => c.textContent).filter(Boolean)`, &counts))
	if want := []string{"98,998", "98,998", "98,998", "7"}; !slices.Equal(counts, want) {
		t.Errorf("sorted by commits, downwards: %q, want %q", counts, want)
	}
	b.Look(t, path, View{Width: 1200}, chromedp.SetValue("#only", verdict.Violated.String()), chromedp.Evaluate(`only.dispatchEvent(new Event("input"))`, nil), column)
	if !slices.Equal(verdicts, []string{"violated", "violated"}) {
		t.Errorf("only what is violated: %q", verdicts)
	}
	b.Look(t, path, View{Width: 1200}, chromedp.SendKeys("#find", "mariadb lost"), column)
	if !slices.Equal(verdicts, []string{"violated"}) {
		t.Errorf("what has the words mariadb and lost: %q", verdicts)
	}
}
