//go:build !front

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
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
		var keys map[string]any
		if err := errors.Join(json.Unmarshal([]byte(line), &trial), json.Unmarshal([]byte(line), &keys)); err != nil {
			t.Fatal(err)
		}
		if names := strings.Join(sortedKeys(keys), " "); names != "chooser defect found runs seed txns" {
			t.Errorf("keys %s", names)
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
	if done = isohound(t, "bench", "hunt", "--only", "checksums", "--rarer", "1", "--seeds", "1", "--txns", "400", "--choosers", "grid, bandit"); done.code != 0 || !strings.HasPrefix(strings.Join(strings.Fields(done.out), " "), "defect grid bandit (transactions") {
		t.Errorf("exit code %d\n%s%s", done.code, done.out, done.msg)
	}
	for want, args := range map[string][]string{"--choosers: grid stands there twice": {"--choosers", "grid,bandit, grid"}, "--only: undo stands there twice": {"--only", "undo,undo"}} {
		if done := isohound(t, append([]string{"bench", "hunt", "--seeds", "1", "--limit", "1", "--txns", "100"}, args...)...); done.code != int(exitUsage) || !strings.Contains(done.msg, want) || done.out != "" {
			t.Errorf("%q: exit code %d: %s%s", args, done.code, done.out, done.msg)
		}
	}
	for _, args := range [][]string{{"--only", "nothing"}, {"--choosers", "luck"}, {"--seeds", "0"}, {"--rarer", "0.5"}, {"x"}} {
		if done := isohound(t, append([]string{"bench", "hunt"}, args...)...); done.code != int(exitUsage) {
			t.Errorf("%q: exit code %d", args, done.code)
		}
	}
}

// TestBenchHuntShuffles: the order of lists depends on the seed alone, and nothing is lost.
func TestBenchHuntShuffles(t *testing.T) {
	orders := map[string]bool{}
	for seed := range int64(20) {
		var last string
		for range 2 {
			p, err := hunt.Read("plan", fmt.Appendf(nil, huntPlan, "sim://", benchSI, level.SI))
			if err != nil {
				t.Fatal(err)
			}
			shuffle(p, seed)
			w := p.Workloads[0]
			order := fmt.Sprint(w.Dist.Of, w.Params["pairs"].Of, w.Params["shapes"].Of)
			if last != "" && order != last {
				t.Errorf("seed %d: %s and %s", seed, last, order)
			}
			last = order
			slices.Sort(w.Dist.Of)
			if !slices.Equal(w.Dist.Of, []string{"exponential", "uniform", "zipfian"}) || len(w.Params["shapes"].Of) != 4 {
				t.Errorf("seed %d: %s", seed, order)
			}
		}
		orders[last] = true
	}
	if len(orders) < 10 {
		t.Errorf("%d orders of 20 seeds", len(orders))
	}
}
