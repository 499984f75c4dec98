package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestConvertLists: a run of the workload append is converted to lists with append for Elle,
// with the same verdict. If values are no longer lists, it is converted to registers, with the
// reason.
func TestConvertLists(t *testing.T) {
	dir := t.TempDir()
	for isolation, want := range map[string]verdict.Verdict{"serializable": verdict.Satisfied, "DetectConflicts=false": verdict.Violated} {
		run := filepath.Join(dir, isolation)
		c := isohound(t, "run", "--workload", "append", "-p", "think=200us", "--isolation", isolation, "--sessions", "8", "--txns", "60",
			"--seed", "5", "--check", "ser", "--out", run, "--plain", "--json", "--quiet")
		if o := c.outcomes(t); len(o) != 1 || o[0].Verdict != want {
			t.Fatalf("%s: %+v %s", isolation, o, c.msg)
		}
		h := filepath.Join(run, "history.jsonl")
		for name, shows := range map[string]string{"h.edn": `[:append, "lists(`, "h.json": `["append", "lists(`} {
			out := filepath.Join(run, name)
			args := []string{"convert", h, out}
			if name == "h.json" {
				args = append(args, "--to", "elle-json")
			}
			if c := isohound(t, args...); c.code != 0 || strings.Contains(c.msg, "registers") {
				t.Fatalf("%s: exit code %d: %s", name, c.code, c.msg)
			}
			if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), shows) || strings.Contains(string(b), "[:w") {
				t.Errorf("%s: no lists: %v", name, err)
			}
			c := isohound(t, "check", out, "--level", "ser", "--certify", "--json")
			if o := c.outcomes(t); len(o) != 1 || o[0].Verdict != want {
				t.Errorf("%s of %s: %+v %s", name, isolation, o, c.msg)
			}
		}
		full := filepath.Join(run, "full.jsonl")
		if c := isohound(t, "convert", h, full, "--in-full"); c.code != 0 {
			t.Fatal(c.msg)
		}
		lines, err := os.ReadFile(full)
		if err != nil {
			t.Fatal(err)
		}
		edited := write(t, "edited.jsonl", strings.ReplaceAll(string(lines), `["w","lists(0)","`, `["w","lists(0)","x`))
		out := filepath.Join(run, "edited.edn")
		if c := isohound(t, "convert", edited, out); c.code != 0 || !strings.Contains(c.msg, "note: written as registers, not as lists with append: transaction ") {
			t.Errorf("exit code %d: %s", c.code, c.msg)
		}
		if b, err := os.ReadFile(out); err != nil || strings.Contains(string(b), ":append") {
			t.Errorf("lists that are none: %v", err)
		}
	}
}
