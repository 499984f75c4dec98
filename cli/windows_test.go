package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// TestWindows: a run in windows is judged as it goes, and its folder can be judged again.
func TestWindows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--sessions", "8", "--txns", "300", "--seed", "1", "--cut-every", "500txns", "--check", "ser,rc", "--out", dir, "--json", "--no-progress")
	all := c.outcomes(t)
	if c.code != 0 || len(all) != 2 {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	n := all[0].Windows.Total()
	for _, o := range all {
		if o.Verdict != verdict.Satisfied || !o.Certified || n < 3 || o.Windows.Satisfied != n {
			t.Errorf("%+v", o)
		}
	}
	if all[1].FollowsFrom != "ser" || !strings.Contains(c.msg, "windows; the sessions stood still for") {
		t.Errorf("%+v\n%s", all[1], c.msg)
	}
	lines, err := os.ReadFile(filepath.Join(dir, results.WindowVerdicts))
	if err != nil || strings.Count(string(lines), "\n") != 2*n {
		t.Errorf("%v: %d windows, but verdicts\n%s", err, n, lines)
	}
	files, err := results.WindowFiles(dir)
	if err != nil || len(files) != n {
		t.Fatal(err, files)
	}
	again := isohound(t, "check", dir, "--level", "ser", "--json").outcomes(t)
	if len(again) != 1 || again[0].Txns != all[0].Txns || again[0].Windows.Satisfied != n || len(again[0].Notes) > 0 {
		t.Errorf("%+v", again)
	}
	for _, f := range files { // each alone
		if c := isohound(t, "check", f, "--level", "ser"); c.code != 0 {
			t.Errorf("%s%s", c.out, c.msg)
		}
	}

	second, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	again = isohound(t, "check", dir, "--level", "ser", "--json").outcomes(t)
	if len(again) != 1 || again[0].Verdict != verdict.Satisfied || len(again[0].Notes) != 1 || again[0].Notes[0] != "window 2 is not there" {
		t.Errorf("%+v", again)
	}
	if err := os.WriteFile(files[1], append(second, 0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0), 0o644); err != nil { // an empty frame that zstd skips
		t.Fatal(err)
	}
	if c := isohound(t, "check", dir, "--level", "ser"); c.code != 65 || !strings.Contains(c.msg, "window 2 was changed") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}

// TestWindowsViolated: a violated window ends the run, and is reported like a run.
func TestWindowsViolated(t *testing.T) {
	lossy := []string{"run", "--driver", "sim", "--dsn", "sim://?off=durability", "--sessions", "8", "--txns", "1000", "--seed", "1", "--cut-every", "300txns", "--check", "ser,ra", "--json", "--no-progress"}
	dir := filepath.Join(t.TempDir(), "stop")
	c := isohound(t, append(lossy, "--out", dir)...)
	all := c.outcomes(t)
	if c.code != 1 || len(all) != 2 || all[0].Verdict != verdict.Violated || len(all[0].Anomalies) == 0 || all[1].Verdict != verdict.Violated {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if all[0].Windows.Total() >= 16 || !strings.Contains(c.msg, "the run ended early: violation found") {
		t.Errorf("%+v\n%s", all[0].Windows, c.msg)
	}
	for _, f := range []string{"report.html", "repro/README.md", "repro/000001.jsonl.zst", "repro/minimal.txt"} {
		if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
			t.Error(err)
		}
	}

	dir = filepath.Join(t.TempDir(), "go on")
	c = isohound(t, append(lossy, "--out", dir, "--on-violation", "continue", "--keep", "violated")...)
	all = c.outcomes(t)
	files, err := results.WindowFiles(dir)
	if err != nil || len(all) != 2 || all[0].Windows.Violated < 10 || len(files) < all[0].Windows.Violated {
		t.Fatalf("%v, %+v, %d files: %s", err, all, len(files), c.msg)
	}
	violatedPages(t, dir, all[0].Windows)
	wanted := func() string { return contentOf(t, filepath.Join(dir, "report.html")) }
	before := wanted()
	for _, page := range pagesOf(t, dir) { // report draws them again
		if err := os.Remove(page); err != nil {
			t.Fatal(err)
		}
	}
	if c := isohound(t, "report", dir); c.code != 0 || wanted() != before {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	violatedPages(t, dir, all[0].Windows)
	for _, page := range pagesOf(t, dir) { // check does, too, when it is asked to
		if err := os.Remove(page); err != nil {
			t.Fatal(err)
		}
	}
	if c := isohound(t, "check", dir, "--level", "ser,ra", "-q"); c.code != 1 || len(pagesOf(t, dir)) > 0 {
		t.Errorf("exit code %d, pages %q: %s", c.code, pagesOf(t, dir), c.msg)
	}
	if c := isohound(t, "check", dir, "--level", "ser,ra", "--pages", "-q"); c.code != 1 {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	violatedPages(t, dir, all[0].Windows)
	if c := isohound(t, "check", files[0], "--level", "ser", "--pages"); c.code != 64 || !strings.Contains(c.msg, "is not the folder of a run in windows") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func pagesOf(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, results.WindowsFolder, "*.html"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// violatedPages: each of the first violated windows has a page with its explanation, to which the report links, and
// no other window has one.
func violatedPages(t *testing.T, dir string, w *results.Windows) {
	t.Helper()
	report := contentOf(t, filepath.Join(dir, "report.html"))
	pages := map[int]bool{}
	err := results.EachWindow(dir, func(n, _ int, o *results.Outcome) error {
		if o.Verdict != verdict.Violated || pages[n] || len(pages) == results.WindowPages {
			return nil
		}
		pages[n] = true
		if len(o.Anomalies) == 0 || o.Anomalies[0].Counterexample == nil {
			t.Fatalf("window %d is not explained: %+v", n, o)
		}
		name := fmt.Sprintf("windows/%06d.html", n)
		page := contentOf(t, filepath.Join(dir, name))
		if !strings.Contains(report, `<a href="`+name+`">`) || !strings.Contains(page, o.Anomalies[0].Name) || !strings.Contains(page, "<svg") ||
			!strings.Contains(page, fmt.Sprintf(`<a href="%06d.jsonl.zst">`, n)) {
			t.Errorf("window %d: %d bytes of a page", n, len(page))
		}
		return nil
	})
	if err != nil || len(pages) != min(w.Violated, results.WindowPages) || len(pagesOf(t, dir)) != len(pages) {
		t.Errorf("%v: pages of windows %v, %d files, %+v", err, pages, len(pagesOf(t, dir)), w)
	}
	if more := w.Violated - len(pages); (more > 0) != strings.Contains(report, fmt.Sprintf("%d more are violated", more)) || !strings.Contains(report, `<svg class="timeline"`) {
		t.Errorf("%d more", more)
	}
}

// TestWindowsKeep: windows that are satisfied are removed, except the latest.
func TestWindowsKeep(t *testing.T) {
	for keep, want := range map[string]int{"violated": 1, "2": 2} {
		dir := filepath.Join(t.TempDir(), "run")
		c := isohound(t, "run", "--sessions", "8", "--txns", "300", "--rate", "2500", "--seed", "1", "--cut-every", "400txns", "--check", "ser", "--out", dir, "--keep", keep, "--no-progress")
		if files, err := results.WindowFiles(dir); c.code != 0 || err != nil || len(files) != want {
			t.Errorf("--keep %s: exit code %d, %v, %v: %s%s", keep, c.code, err, files, c.out, c.msg)
		}
		if c := isohound(t, "check", dir, "--level", "ser"); c.code != 0 || !strings.Contains(c.out, "not there") {
			t.Errorf("--keep %s: exit code %d: %s%s", keep, c.code, c.out, c.msg)
		}
	}
}

func TestWindowsUsage(t *testing.T) {
	for flag, value := range map[string]string{"--cut-every": "0s", "--keep": "none", "--on-violation": "ignore", "--judge-share": "0%"} {
		if c := isohound(t, "run", flag, value); c.code != 64 || !strings.Contains(c.msg, flag+" "+value+": expected") {
			t.Errorf("exit code %d: %s", c.code, c.msg)
		}
	}
}

// TestFinalReadFlag: a run ends with a final read unless it is left out, and lost commits have a name.
func TestFinalReadFlag(t *testing.T) {
	lossy := []string{"run", "--driver", "sim", "--dsn", "sim://?off=durability", "--sessions", "8", "--txns", "20", "--keys", "5000", "--seed", "1", "--check", "ser", "--json", "--no-progress"}
	c := isohound(t, append(lossy, "--out", filepath.Join(t.TempDir(), "with"))...)
	if all := c.outcomes(t); len(all) != 1 || !strings.Contains(c.out, `"LostWrite"`) || !strings.Contains(c.out, "belongs to the final read") {
		t.Errorf("%s%s", c.out, c.msg)
	}
	dir := filepath.Join(t.TempDir(), "without")
	c = isohound(t, append(lossy, "--final-read=false", "--out", dir)...)
	if all := c.outcomes(t); len(all) != 1 || strings.Contains(c.out, "LostWrite") || strings.Contains(c.msg, "final read") {
		t.Errorf("%s%s", c.out, c.msg)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "config.json")); err != nil || !strings.Contains(string(b), "--final-read=false") {
		t.Errorf("%v: %s", err, b)
	}
}

// TestWindowsReport: the report lists the windows, those with one verdict together.
func TestWindowsReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--sessions", "8", "--txns", "300", "--seed", "1", "--cut-every", "500txns", "--check", "ser", "--out", dir, "--json", "--no-progress")
	w := c.outcomes(t)[0].Windows
	if len(w.Spans) != 1 || w.Spans[0].From != 1 || w.Spans[0].To != w.Total() || w.Spans[0].Txns != c.outcomes(t)[0].Txns {
		t.Errorf("%+v", w)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "Windows at ser") || !strings.Contains(string(page), "1 to "+strconv.Itoa(w.Total())) {
		t.Errorf("%v, %d bytes", err, len(page))
	}
}

// TestWindowsInterrupted: a signal ends the recording; what was recorded is judged.
func TestWindowsInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	program, _, wait := begin(t, "run", "--sessions", "8", "--duration", "1m", "--cut-every", "200ms", "--check", "ser", "--out", dir, "--json", "--no-progress")
	waitForSize(t, filepath.Join(dir, results.WindowVerdicts), 1)
	if err := program.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c := wait()
	files, err := results.WindowFiles(dir)
	if all := c.outcomes(t); err != nil || c.code != 130 || len(all) != 1 || all[0].Verdict != verdict.Satisfied || all[0].Windows.Total() != len(files) {
		t.Errorf("exit code %d, %d windows on disk: %s%s", c.code, len(files), c.out, c.msg)
	}
}
