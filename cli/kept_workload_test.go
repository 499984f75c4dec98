//go:build !front

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/results"
)

// TestKeptWorkload: a run whose workload came from a pipe goes on with what it kept of it.
func TestKeptWorkload(t *testing.T) {
	dir := t.TempDir()
	file, kept := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, results.WorkloadFile)
	if got := keptWorkload(dir, "file=/dev/null"); got != "file=/dev/null" {
		t.Errorf("without a kept file: %s", got)
	}
	for _, path := range []string{file, kept} {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for workload, want := range map[string]string{
		"mini":                             "mini",
		"file=" + file:                     "file=" + file,
		"file=/dev/null":                   "file=" + kept,
		"file=" + filepath.Join(dir, "no"): "file=" + kept,
	} {
		if got := keptWorkload(dir, workload); got != want {
			t.Errorf("%s: %s, want %s", workload, got, want)
		}
	}
}

// TestRefusedBeforeRun: an empty folder to resume, and a workload that load generators cannot read, too.
func TestRefusedBeforeRun(t *testing.T) {
	for want, args := range map[string][]string{
		"--resume needs the folder of a run": {"run", "--resume", ""},
		"/dev/null is not a regular file":    {"run", "--workload", "file=/dev/null", "--loaders", "1", "--publish", "nats://127.0.0.1:1"},
	} {
		if c := isohound(t, args...); c.code != int(exitUsage) || !strings.Contains(c.msg, want) {
			t.Errorf("%q: exit code %d: %s", args, c.code, c.msg)
		}
	}
}

// TestGoneWindow: a window of which neither a verdict nor a history is left makes the run's verdict unknown.
func TestGoneWindow(t *testing.T) {
	dir := t.TempDir()
	lines := `{"path":"windows/000001.jsonl","level":"ser","verdict":"satisfied","txns":2,"committed":2}` + "\n" +
		`{"path":"windows/000003.jsonl","level":"ser","verdict":"satisfied","txns":2,"committed":2}` + "\n"
	if err := os.Mkdir(filepath.Join(dir, results.WindowsFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{results.WindowVerdicts: lines, stateFile: `{"window":3,"tested":true,"rounds":{}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{}
	j := a.newWindowJudge(dir, &checking{levels: []level.Level{level.SER}})
	if _, _, err := j.restore(3); err != nil {
		t.Fatal(err)
	}
	all := j.outcomes()
	if len(all) != 1 || all[0].Verdict.String() != "unknown" || !strings.Contains(all[0].Reason, "1 of 3 windows were not judged") || !strings.Contains(strings.Join(all[0].Notes, ""), "window 2 has neither") {
		t.Errorf("%+v", all)
	}
}

// TestRepeatNamesKept: the command that repeats a run names the kept workload, if it came from a pipe or from an open file.
func TestRepeatNamesKept(t *testing.T) {
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("no /dev/fd")
	}
	text, err := os.ReadFile("../examples/workload-file/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, pipe := range []bool{true, false} {
		dir := filepath.Join(t.TempDir(), "run")
		run := command(t, "run", "--driver", "sim", "--workload", "file=/dev/fd/3", "--txns", "50", "--seed", "3", "--no-progress", "--out", dir)
		if pipe {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			go func() {
				_, _ = w.Write(text)
				w.Close()
			}()
			run.ExtraFiles = []*os.File{r}
		} else {
			f, err := os.Open("../examples/workload-file/shop.yaml")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			run.ExtraFiles = []*os.File{f}
		}
		out, _ := run.CombinedOutput()
		kept := "file=" + filepath.Join(dir, results.WorkloadFile)
		got, err := results.Load(dir)
		if err != nil || !strings.Contains(got.Config.Repeat, kept) || strings.Contains(got.Config.Repeat, "/dev/fd") || !strings.Contains(string(out), "repeat: "+got.Config.Repeat) {
			t.Errorf("pipe %v: %v: %+v\n%s", pipe, err, got, out)
		}
	}
}
