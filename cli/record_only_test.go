//go:build !front

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/results"
)

// TestRecordOnly: a run that was recorded only is judged by report, with all that a run writes; the exit code is that of the
// verdict. A second report only draws the pages again.
func TestRecordOnly(t *testing.T) {
	for _, c := range []struct {
		dsn  string
		code exitCode
	}{{"sim://", exitSatisfied}, {"sim://?off=first-committer-wins&rate=1", exitViolated}} {
		dir := filepath.Join(t.TempDir(), "run")
		done := isohound(t, "run", "--driver", "sim", "--dsn", c.dsn, "--isolation", "snapshot isolation", "--keys", "5", "--txns", "200", "--seed", "1", "--record-only", "--out", dir)
		if done.code != 0 || results.Judged(dir) || !strings.Contains(done.msg, "isohound report ") {
			t.Fatalf("exit code %d\n%s", done.code, done.msg)
		}
		done = isohound(t, "report", dir)
		if done.code != int(c.code) || !strings.Contains(done.out, "strong-si") {
			t.Errorf("%s: exit code %d\n%s%s", c.dsn, done.code, done.out, done.msg)
		}
		for _, name := range []string{"verdict.json", "junit.xml", "report.html", "summary.md", "stats.json"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, results.ReproFolder, "repeat.sh")); (err == nil) != (c.code == exitViolated) {
			t.Errorf("%s: the reproduction folder: %v", c.dsn, err)
		}
		if done = isohound(t, "report", dir); done.code != 0 || !strings.Contains(done.out, "report.html") {
			t.Errorf("again: exit code %d\n%s%s", done.code, done.out, done.msg)
		}
	}
	if done := isohound(t, "run", "--record-only", "--cut-every", "1s"); done.code != int(exitUsage) {
		t.Errorf("with windows: exit code %d\n%s", done.code, done.msg)
	}
}

// TestReportKilled: a run whose process was killed is judged to the last transaction that it recorded. It is not
// satisfied, wherever it is shown.
func TestReportKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := command(t, "run", "--driver", "badger", "--duration", "5m", "--no-progress", "--out", dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if st, err := os.Stat(filepath.Join(dir, "history.jsonl.zst")); err == nil && st.Size() > 100<<10 {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatal("nothing was recorded")
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	done := isohound(t, "report", dir)
	if done.code != int(exitInterrupted) || !strings.Contains(done.msg, "was cut off") {
		t.Fatalf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	junit, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if err != nil || !strings.Contains(string(junit), `type="incomplete"`) {
		t.Errorf("%v\n%s", err, junit)
	}
	x, err := results.NewIndex([]string{dir})
	if err != nil || len(x.Rows) != 1 || x.Rows[0].Early == "" {
		t.Errorf("%+v, %v", x, err)
	}
}

// TestUnread: a run whose history cannot be read within its limits is unknown, and its results are written.
func TestUnread(t *testing.T) {
	for _, limit := range [][]string{{"--check-timeout", "1ns"}, {"--max-memory", "1MiB"}} {
		dir := filepath.Join(t.TempDir(), "run")
		done := isohound(t, append([]string{"run", "--driver", "sim", "--txns", "200", "--out", dir}, limit...)...)
		if done.code != int(exitUnknown) || !results.Judged(dir) {
			t.Errorf("%v: exit code %d\n%s%s", limit, done.code, done.out, done.msg)
		}
		for _, name := range []string{"junit.xml", "report.html", "summary.md"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestUnreadWindows: windows that cannot be read within the limits are unknown, not empty.
func TestUnreadWindows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if done := isohound(t, "run", "--driver", "sim", "--isolation", "serializable", "--txns", "100", "--cut-every", "400txns", "--check", "ser", "--out", dir); done.code != 0 {
		t.Fatal(done.msg)
	}
	for _, limit := range [][]string{{"--timeout", "1ns"}, {"--max-memory", "1MiB"}} {
		done := isohound(t, append([]string{"check", dir, "--level", "ser", "--json"}, limit...)...)
		all := done.outcomes(t)
		if done.code != int(exitUnknown) || len(all) != 1 || all[0].Windows.Unknown < 3 || all[0].Windows.Empty > 0 {
			t.Errorf("%v: exit code %d\n%s%s", limit, done.code, done.out, done.msg)
		}
	}
}

// TestReportKilledWindows: report judges the windows that a run left whose process was killed. The exit code is that of the
// verdict, or 130. The run can go on nevertheless where its database allows that; see TestResume.
func TestReportKilledWindows(t *testing.T) {
	for _, c := range []struct {
		dsn  string
		code exitCode
		lost bool // the verdicts of the killed process are
		// explain is the time limit for explaining; with one, the process is killed when it has explained a window.
		explain string
	}{{"sim://", exitInterrupted, false, "0"}, {"sim://?off=first-committer-wins&rate=1", exitViolated, false, "0"}, {"sim://?off=first-committer-wins&rate=1", exitViolated, true, "0"},
		{"sim://?off=first-committer-wins&rate=1", exitViolated, false, "30s"}} {
		dir := filepath.Join(t.TempDir(), "run")
		run := command(t, "run", "--driver", "sim", "--dsn", c.dsn, "--isolation", "snapshot isolation", "--cut-every", "500txns", "--duration", "5m", "--keys", "20",
			"--on-violation", "continue", "--explain-timeout", c.explain, "--rate", "2000", "--no-progress", "--out", dir)
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			verdicts, _ := os.ReadFile(filepath.Join(dir, results.WindowVerdicts))
			explained := c.explain == "0" || strings.Contains(string(verdicts), `"native":`)
			if windows, err := results.WindowFiles(dir); err == nil && len(windows) > 3 && explained {
				break
			}
			if time.Since(begun) > 2*time.Minute {
				t.Fatal("nothing was recorded")
			}
		}
		if c.code == exitInterrupted { // while the run goes on, report only draws
			if done := isohound(t, "report", dir); done.code != 0 || !strings.Contains(done.msg, "goes on") || results.Judged(dir) {
				t.Errorf("exit code %d\n%s%s", done.code, done.out, done.msg)
			}
		}
		if err := run.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = run.Wait()
		moved := dir + "-moved" // the verdicts that were written name files in the old folder
		if err := os.Rename(dir, moved); err != nil {
			t.Fatal(err)
		}
		dir = moved
		if c.lost {
			if err := os.Truncate(filepath.Join(dir, results.WindowVerdicts), 0); err != nil {
				t.Fatal(err)
			}
		}
		left, err := results.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		left.Config.Loaders = c.lost // as if load generators could join
		if err := results.SaveConfig(dir, &left.Config); err != nil {
			t.Fatal(err)
		}
		done := isohound(t, "report", dir)
		if done.code != int(c.code) || !strings.Contains(done.msg, results.Killed) {
			t.Errorf("%s: exit code %d\n%s%s", c.dsn, done.code, done.out, done.msg)
		}
		summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
		if err != nil || strings.Contains(string(summary), "may have joined this run") != c.lost || !strings.Contains(string(summary), results.Killed) || strings.Contains(string(summary), "; 0 committed") {
			t.Errorf("%v\n%s", err, summary)
		}
		loaded, err := results.Load(dir)
		if err != nil || len(loaded.Outcomes) == 0 || loaded.Outcomes[0].Windows == nil || loaded.Outcomes[0].Windows.Total() < 3 || loaded.Config.Recorded() != "." {
			t.Errorf("%v, %+v", err, loaded)
		}
		if files, err := results.WindowFiles(dir); err != nil || loaded.Outcomes[0].Windows.Total() < len(files)-1 { // the last one may be empty
			t.Errorf("%v, %d windows: %+v", err, len(files), loaded.Outcomes[0].Windows)
		}
		if c.code == exitViolated {
			if done := isohound(t, "explain", dir, "--level", "si"); done.code != int(exitViolated) || !strings.Contains(done.out, "LostUpdate") {
				t.Errorf("explain: exit code %d\n%s%s", done.code, done.out, done.msg)
			}
		}
		if c.explain != "0" { // the reproduction has what the killed process found
			if done := isohound(t, "check", filepath.Join(dir, results.ReproFolder, "minimal.txt"), "--level", "si"); done.code != int(exitViolated) {
				t.Errorf("minimal.txt: exit code %d\n%s%s", done.code, done.out, done.msg)
			}
		}
	}
}

// TestLostVerdicts: where the end of the verdicts of a killed run is lost, the verdicts before it stay, also those of windows whose
// history was deleted. One that has neither is told.
func TestLostVerdicts(t *testing.T) {
	for _, keep := range []string{"violated", "all"} {
		dir := filepath.Join(t.TempDir(), "run")
		path := filepath.Join(dir, results.WindowVerdicts)
		before, judged := judgedKilled(t, dir, keep)
		// The verdict on the latest window for which there is the state of the checker is lost, and later ones.
		state, err := os.ReadFile(filepath.Join(dir, stateFile))
		if err != nil {
			t.Fatal(err)
		}
		var last judgeState
		if err := json.Unmarshal(state, &last); err != nil || last.Window < 3 || last.Window > judged {
			t.Fatalf("%v, %d of %d", err, last.Window, judged)
		}
		lines := bytes.SplitAfter(before, []byte("\n"))
		if err := os.WriteFile(path, bytes.Join(append(lines[:last.Window-1:last.Window-1], []byte(`{"path":`)), nil), 0o644); err != nil {
			t.Fatal(err)
		}
		c := isohound(t, "report", dir)
		loaded, err := results.Load(dir)
		if err != nil || c.code != int(exitInterrupted) || len(loaded.Outcomes) != 1 {
			t.Fatalf("exit code %d, %v: %s%s", c.code, err, c.out, c.msg)
		}
		w := loaded.Outcomes[0].Windows
		gone := fmt.Sprintf("window %d has neither a verdict nor a history", last.Window)
		if keep == "all" && (w.Satisfied < judged || strings.Contains(c.out, "neither") || !strings.Contains(c.msg, "windows are judged again from window 1 on")) ||
			keep != "all" && (w.Satisfied < last.Window-1 || !strings.Contains(c.out, gone) && !strings.Contains(c.msg, "judged again")) {
			t.Errorf("--keep %s, %d judged, state of window %d: %+v\n%s%s", keep, judged, last.Window, w, c.out, c.msg)
		}
	}
}

// judgedKilled kills a run in windows when more than 4 are judged. It returns the verdicts and how many there are.
func judgedKilled(t *testing.T, dir, keep string) ([]byte, int) {
	t.Helper()
	run := command(t, "run", "--driver", "sim", "--isolation", "serializable", "--cut-every", "200txns", "--duration", "5m", "--keep", keep, "--rate", "2000", "--no-progress", "--out", dir)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, results.WindowVerdicts)
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && bytes.Count(b, []byte("\n")) > 4 {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			run.Process.Kill()
			t.Fatal("nothing was judged")
		}
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before = before[:bytes.LastIndexByte(before, '\n')+1]
	return before, bytes.Count(before, []byte("\n"))
}

// TestLostState: where the state of the checker is lost, as by a power failure, the windows whose histories are there are judged again,
// and the verdicts on earlier ones stay.
func TestLostState(t *testing.T) {
	for n, keep := range []string{"violated", "all"} {
		dir := filepath.Join(t.TempDir(), "run")
		_, judged := judgedKilled(t, dir, keep)
		if err := os.WriteFile(filepath.Join(dir, stateFile), []byte([]string{"", "{}"}[n]), 0o644); err != nil {
			t.Fatal(err)
		}
		c := isohound(t, "report", dir)
		loaded, err := results.Load(dir)
		if err != nil || c.code != int(exitInterrupted) || len(loaded.Outcomes) != 1 {
			t.Fatalf("exit code %d, %v: %s%s", c.code, err, c.out, c.msg)
		}
		if w := loaded.Outcomes[0].Windows; w.Total() < judged || w.Violated > 0 || keep == "all" && w.Unknown > 0 || !strings.Contains(c.msg, stateFile+" cannot be read") || strings.Contains(c.msg, "window 1 on") != (keep == "all") {
			t.Errorf("--keep %s, %d judged: %+v\n%s%s", keep, judged, w, c.out, c.msg)
		}
	}
}
