package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// TestPausesFindWindow: sim has a window between the check of a commit and its writes, in which others only get while a
// session is paused. Runs with pauses find it, the same runs without cannot. Every pause meets a session in a commit here, so
// that one of some runs finds it however busy the machine is.
func TestPausesFindWindow(t *testing.T) {
	run := func(seed int, more ...string) call {
		return isohound(t, append([]string{"run", "--driver", "sim", "--isolation", "snapshot isolation", "--dsn", "sim://?off=commit-latch&rate=1&window=1", "--keys", "5",
			"--sessions", "8", "--duration", "1s", "--check", "si", "--seed", fmt.Sprint(seed), "--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress"}, more...)...)
	}
	if c := run(1); c.code != 0 || c.outcomes(t)[0].Verdict != verdict.Satisfied {
		t.Errorf("without pauses, exit code %d: %s%s", c.code, c.out, c.msg)
	}
	const tries = 20
	for seed := 1; ; seed++ {
		c := run(seed, "--fault", "0s pause backends 2ms every 4ms")
		if c.code == 1 && strings.Contains(c.out, "LostUpdate") {
			t.Logf("found in run %d", seed)
			return
		}
		if c.code > 1 || seed == tries {
			t.Fatalf("run %d, exit code %d: %s%s", seed, c.code, c.out, c.msg)
		}
	}
}
