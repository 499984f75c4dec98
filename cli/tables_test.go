package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// TestTablesInHistories: a recorded history contains the schema of its tables. So do its
// conversion and its counterexample, which keeps predicates too.
func TestTablesInHistories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "sim", "--isolation", "snapshot isolation", "--workload", "skew", "-p", "patterns=oncall", "--txns", "100", "--seed", "5", "--check", "ser", "--plain", "--quiet", "--out", dir)
	if c.code != 1 {
		t.Fatalf("exit code %d: %s", c.code, c.msg)
	}
	recorded, converted := filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "again.jsonl")
	if c := isohound(t, "convert", recorded, converted); c.code != 0 {
		t.Fatal(c.msg)
	}
	whole := load(t, recorded)
	duty, ok := whole.Schema.Table("duty")
	if !ok || len(whole.Schema) != 1 || len(duty.Key) != 2 || duty.Groups[0].Columns[0].Name != "oncall" || !whole.HasPredicates() {
		t.Fatalf("the recorded history has the tables %+v", whole.Schema)
	}
	for _, path := range []string{converted, filepath.Join(dir, "repro", "minimal.jsonl")} {
		h := load(t, path)
		if !reflect.DeepEqual(h.Schema, whole.Schema) || !h.HasPredicates() {
			t.Errorf("%s: predicates %v, tables %+v", path, h.HasPredicates(), h.Schema)
		}
	}
	var full []string // with and without intents
	for _, path := range []string{recorded, converted} {
		c := isohound(t, "convert", path, "-", "--in-full", "--to", "native")
		if c.code != 0 || !strings.Contains(c.out, `"preds":[`) {
			t.Fatalf("%s: %d, %s", path, c.code, c.msg)
		}
		full = append(full, c.out)
	}
	if full[0] != full[1] {
		t.Error("the conversion differs")
	}
}

// TestScansJudged: Badger does not protect ranges. A run whose scans miss rows violates ser by that
// alone, with a proof, and the report and the counterexample say so.
func TestScansJudged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	var o results.Outcome
	for seed := 1; ; seed++ { // how sessions overlap is a matter of timing
		c := isohound(t, "run", "--driver", "badger", "--workload", "skew", "-p", "patterns=phantom", "--sessions", "10", "--txns", "200",
			"--seed", strconv.Itoa(seed), "--check", "ser,si", "--json", "--quiet", "--out", dir+strconv.Itoa(seed))
		o = c.outcomes(t)[0]
		if o.Verdict == verdict.Violated {
			if c.code != 1 {
				t.Errorf("exit code %d", c.code)
			}
			if si := c.outcomes(t)[1]; si.Verdict != verdict.Satisfied || !si.Certified {
				t.Errorf("si %s, certified %v", si.Verdict, si.Certified)
			}
			dir += strconv.Itoa(seed)
			break
		}
		if seed == 5 {
			t.Fatalf("no phantom in %d runs: %s", seed, c.out)
		}
	}
	if p := o.Predicates; p == nil || p.Judged != p.Scans || p.Scans < 1000 || p.ClassReads < 200 || p.Instantiated < p.ClassReads || p.Reason != "" {
		t.Errorf("predicates %+v", o.Predicates)
	}
	if !o.Certified || len(o.Anomalies) == 0 || !strings.Contains(o.Anomalies[0].Text, "looked for rows of bookings with slot = ") {
		t.Errorf("certified %v: %+v", o.Certified, o.Anomalies)
	}
	readme, err := os.ReadFile(filepath.Join(dir, "repro", "README.md"))
	if text := string(readme); err != nil || !strings.Contains(text, "\n    scan bookings where slot = ") || !strings.Contains(text, "; not found: bookings(") || strings.Contains(text, " r(bookings(") {
		t.Errorf("%v, README.md shows no statements, or a read that no statement made:\n%s", err, text)
	}
	minimal := filepath.Join(dir, "repro", "minimal.jsonl")
	c := isohound(t, "check", minimal, "--level", "ser,si", "--certify")
	if !strings.Contains(c.out, " scan bookings where slot = ") || strings.Contains(c.out, " r(bookings(") {
		t.Errorf("no statements, or a read that no statement made: %s", c.out)
	}
	if c.code != 1 || !strings.Contains(c.out, "scans: 2 of 2 judged") || !strings.Contains(c.out, "si satisfied") {
		t.Errorf("exit code %d: %s", c.code, c.out)
	}
}
