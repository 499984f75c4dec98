package counterexample_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history/dsl"
)

// TestTable1 checks the shapes of the Vbox paper's Table 1 at every level that orders transactions,
// by every engine, and by the trial of every execution: 13 RAT, 9 WAT and 7 IAT. Each has a clean
// sibling that differs in one transaction and that all levels allow, so that no shape is found for
// another reason than its anomaly.
func TestTable1(t *testing.T) {
	levels := []level.Level{level.SER, level.SERNoSO, level.SI, level.SINoSO, level.SSER, level.StrongSI}
	siblings := map[string]figure{}
	shapes := figures(t, "../../scenarios/table1/*.txt")
	for _, f := range shapes {
		if name, ok := strings.CutSuffix(f.name, "-clean.txt"); ok {
			siblings[name] = f
		}
	}
	found := map[string]int{}
	for _, f := range shapes {
		t.Run(f.name, func(t *testing.T) {
			forbid := 0
			for _, lvl := range levels {
				want := f.expect[lvl]
				if want == "violated" {
					forbid++
				}
				h := parse(t, f.text)
				if allowed(t, h, lvl) != (want == "satisfied") {
					t.Errorf("%s: the trial of every execution does not say %q", lvl, want)
				}
				for _, engine := range checker.Engines {
					if engine == checker.Linear && !mini(h, lvl) {
						continue
					}
					judge(t, f, h, lvl, engine, want)
					judge(t, f, parse(t, f.text+noise(h)), lvl, engine, want)
				}
			}
			name := strings.TrimSuffix(f.name, ".txt")
			if strings.HasSuffix(name, "-clean") {
				if forbid > 0 {
					t.Error("a clean sibling is violated")
				}
				return
			}
			if f.expect[level.SER] != "violated" || f.anomaly == "" {
				t.Error("serializability does not forbid it, or it has no name")
			}
			if n := changed(f.text, siblings[name].text); n != 1 {
				t.Errorf("its clean sibling differs in %d transactions", n)
			}
			found[name[:3]]++
		})
	}
	if len(siblings) != 29 || found["rat"] != 13 || found["wat"] != 9 || found["iat"] != 7 {
		t.Errorf("%v, %d siblings", found, len(siblings))
	}
}

// changed counts the transactions in which two histories differ, -1 if anything else does.
func changed(a, b string) int {
	if b == "" {
		return -1
	}
	x, y := strings.Split(dsl.Format(dsl.MustParse(a)), "\n"), strings.Split(dsl.Format(dsl.MustParse(b)), "\n")
	if len(x) != len(y) {
		return -1
	}
	n := 0
	for i := range x {
		if x[i] != y[i] {
			n++
		}
		if id, _, ok := strings.Cut(x[i], ":"); ok && !slices.ContainsFunc(y, func(l string) bool { return strings.HasPrefix(l, id+":") }) {
			return -1
		}
	}
	return n
}
