package workloads

import (
	"math/rand"
	"strings"
	"testing"
)

// TestMix: kinds occur in proportion to their weights; kinds without a weight never occur, at
// any position.
func TestMix(t *testing.T) {
	m, err := Values{"mix": "b:30, d,b:10,e:59"}.Mix("mix", "a", "b", "c", "d", "e", "f")
	if err != nil {
		t.Fatal(err)
	}
	const draws = 100_000
	seen := map[string]int{}
	r := rand.New(rand.NewSource(1))
	for range draws {
		seen[m.Draw(r)]++
	}
	for kind, weight := range map[string]int{"a": 0, "b": 40, "c": 0, "d": 1, "e": 59, "f": 0} {
		if got, want := seen[kind], weight*draws/100; got < want*9/10 || got > want*11/10 {
			t.Errorf("%s occurs %d times in %d, want about %d", kind, got, draws, want)
		}
	}
	for _, mix := range []string{"", "a:0", "g", "a:-1", "a:x", "a:1.5", "a:9999999999", "a,,b"} {
		if _, err := (Values{"mix": mix}).Mix("mix", "a", "b"); err == nil || !strings.Contains(err.Error(), "-p mix") {
			t.Errorf("%q: %v", mix, err)
		}
	}
}
