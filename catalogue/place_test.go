package catalogue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStartAgain: a target that does not answer is started again for the next try and for the next scenario, and a
// scenario ends with the second try in a row that had no answer.
func TestStartAgain(t *testing.T) {
	const violated, silent, broken, satisfied = "violated", "69", "70", "satisfied"
	for _, tc := range []struct {
		name  string
		runs  []string // what the runs end with, of all scenarios one after another
		tries []int    // of each scenario
		fails int      // the start that fails, 0 for none
		want  []string
		// targets are the targets of the runs, by the number of their start.
		targets string
	}{
		{"at once", []string{violated}, []int{3}, 0, []string{"✓ as expected a, 1 tries"}, "1"},
		{"not at once", []string{satisfied, satisfied, violated}, []int{3}, 0, []string{"✓ as expected a, 3 tries"}, "1 1 1"},
		{"silent once", []string{satisfied, silent, violated}, []int{5}, 0, []string{"✓ as expected a, 3 tries, 1 restarts"}, "1 1 2"},
		{"silent twice", []string{silent, satisfied, silent, violated}, []int{5}, 0, []string{"✓ as expected a, 4 tries, 2 restarts"}, "1 2 2 3"},
		{"silent twice in a row", []string{silent, silent}, []int{5}, 0, []string{"! failed a, 2 tries, 1 restarts: no answer"}, "1 2"},
		{"silent in the last try", []string{satisfied, silent}, []int{2}, 0, []string{"! failed a, 2 tries: no answer"}, "1 1"},
		{"silent in the only try", []string{silent}, []int{0}, 0, []string{"! failed a, 1 tries: no answer"}, "1"},
		{"another failure", []string{broken}, []int{5}, 0, []string{"! failed a, 1 tries: bug"}, "1"},
		{"the next one", []string{silent, violated, violated}, []int{0, 0, 0}, 0, []string{"! failed a, 1 tries: no answer", "✓ as expected b, 1 tries", "✓ as expected c, 1 tries"}, "1 2 2"},
		{"silent in two scenarios", []string{silent, silent, violated}, []int{0, 3}, 0, []string{"! failed a, 1 tries: no answer", "✓ as expected b, 2 tries, 1 restarts"}, "1 2 3"},
		{"no start", nil, []int{3, 3}, 1, []string{"! failed a, 0 tries: the target could not be started: no room", "! failed b, 0 tries: the target could not be started: no room"}, ""},
		{"no second start", []string{silent}, []int{3}, 2, []string{"! failed a, 1 tries: the target could not be started: no room"}, "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			starts, held := 0, 0
			starters["fake"] = &starter{missing: func(*Target) string { return "" }, nodes: 1, start: func(context.Context, *Target) (*running, error) {
				if starts++; starts == tc.fails {
					return nil, fmt.Errorf("no room")
				}
				if held++; held > 1 {
					t.Error("two targets at once")
				}
				logs := map[string]func() string{"log": func() string { return fmt.Sprint("log of ", starts) }}
				return &running{dsns: []string{fmt.Sprint("fake://", starts)}, logs: logs, what: "fake", stop: func() { held-- }}, nil
			}}
			defer delete(starters, "fake")
			// The program ends as the next line of the file says, and writes down which target it was to use.
			plan, used, program := filepath.Join(dir, "plan"), filepath.Join(dir, "used"), filepath.Join(dir, "isohound")
			script := strings.NewReplacer("PLAN", plan, "USED", used).Replace(`#!/bin/sh
printf "%s\n" "$ISOHOUND_DSN" >>USED
verdict=$(sed -n "$(wc -l <USED)p" PLAN)
case $verdict in
69) echo "isohound: no answer" >&2; exit 69 ;;
70) echo "isohound: bug" >&2; exit 70 ;;
esac
echo '{"level":"si","verdict":"'$verdict'"}'
[ $verdict = satisfied ] || exit 1
`)
			for path, text := range map[string]string{plan: strings.Join(tc.runs, "\n") + "\n", program: script} {
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			var list []*Scenario
			for n, tries := range tc.tries {
				list = append(list, &Scenario{Name: string(rune('a' + n)), Target: Target{Kind: Local, Start: "fake"}, Driver: "postgres", Workload: "mini",
					Tries: tries, Expect: []Expectation{{Level: "si", Verdict: "violated"}}})
			}
			kept := 0
			r := &Runner{Command: program, Out: dir, Keep: func(string) { kept++ }}
			var got []string
			for _, res := range r.Run(t.Context(), list) {
				line := fmt.Sprintf("%s %s, %d tries", res.Status.Mark(), res.Name, res.Tries)
				if res.Restarts > 0 {
					line += fmt.Sprintf(", %d restarts", res.Restarts)
				}
				if res.Reason != "" {
					line += ": " + res.Reason
				}
				got = append(got, line)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			text, _ := os.ReadFile(used)
			if got := strings.Join(strings.Fields(strings.ReplaceAll(string(text), "fake://", "")), " "); got != tc.targets {
				t.Errorf("the runs had the targets %s, want %s", got, tc.targets)
			}
			if left := min(1, starts); tc.fails == 0 && kept != left { // a target that is started again is not kept
				t.Errorf("%d targets were kept, want %d", kept, left)
			}
			if held != 0 {
				t.Errorf("%d targets are left", held)
			}
			for n := 1; n <= starts && n != tc.fails; n++ {
				folder := "servers"
				if n > 1 {
					folder = fmt.Sprint("servers-", n)
				}
				if text, err := os.ReadFile(filepath.Join(dir, "a", folder, "log")); err != nil || string(text) != fmt.Sprint("log of ", n) {
					t.Errorf("%s has %q, %v", folder, text, err)
				}
			}
		})
	}
}
