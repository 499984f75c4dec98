package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/isohound/isohound/hunt"
)

// TestBenchHunt: each chooser finds a defect that shows in every run; each trial is told; wrong use.
func TestBenchHunt(t *testing.T) {
	done := isohound(t, "bench", "hunt", "--only", "checksums", "--rarer", "1", "--seeds", "2", "--limit", "20000", "--txns", "400", "--json")
	if done.code != 0 {
		t.Fatalf("exit code %d\n%s", done.code, done.msg)
	}
	seen := map[string]int{}
	for line := range strings.Lines(done.out) {
		var trial hunt.Tried
		if err := json.Unmarshal([]byte(line), &trial); err != nil {
			t.Fatal(err)
		}
		if !trial.Found || trial.Runs == 0 || trial.Txns == 0 {
			t.Errorf("%+v", trial)
		}
		seen[trial.Chooser]++
	}
	if len(seen) != 3 || seen["bandit"] != 2 || seen["grid"] != 2 {
		t.Errorf("trials: %v", seen)
	}
	if done = isohound(t, "bench", "hunt", "--only", "checksums", "--rarer", "1", "--seeds", "1", "--txns", "400"); done.code != 0 || !strings.Contains(done.out, "thin-air read") || !strings.Contains(done.out, "(1/1)") {
		t.Errorf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	for _, args := range [][]string{{"--only", "nothing"}, {"--seeds", "0"}, {"--rarer", "0.5"}, {"x"}} {
		if done := isohound(t, append([]string{"bench", "hunt"}, args...)...); done.code != int(exitUsage) {
			t.Errorf("%q: exit code %d", args, done.code)
		}
	}
}
