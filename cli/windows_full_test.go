//go:build linux

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// TestWindowsDiskFull: in a run in windows, there is no space for a window, or for a verdict. The run ends with 74.
// What was recorded is there, and can be judged.
func TestWindowsDiskFull(t *testing.T) {
	for _, tc := range []struct {
		name, cuts string
		windows    int // after these, files cannot grow
		limit      func(verdicts int64) int64
		want       string
	}{
		{"window", "3000txns", 3, func(int64) int64 { return 64 << 10 }, "cannot write the history"},
		{"verdict", "40txns", 40, func(verdicts int64) int64 { return verdicts + 10 }, "the verdicts of windows"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			c, _, wait := begin(t, "run", "--sessions", "8", "--duration", "20s", "--plain", "--cut-every", tc.cuts, "--check", "ser", "--out", dir, "--json", "--no-progress")
			waitForSize(t, filepath.Join(dir, results.WindowFile(tc.windows, true)), 1)
			verdicts := filepath.Join(dir, results.WindowVerdicts)
			waitForSize(t, verdicts, 1)
			st, err := os.Stat(verdicts)
			if err != nil {
				t.Fatal(err)
			}
			limit := uint64(tc.limit(st.Size()))
			if err := unix.Prlimit(c.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
				t.Fatal(err)
			}
			got := wait()
			if got.code != 74 || !strings.Contains(got.out+got.msg, tc.want) {
				t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
			}
			judged := 0
			err = results.EachWindow(dir, func(n, _ int, o *results.Outcome) error {
				if judged++; n != judged || o.Verdict != verdict.Satisfied {
					t.Errorf("verdict %d: window %d is %s", judged, n, o.Verdict)
				}
				return nil
			})
			files, ferr := results.WindowFiles(dir)
			all := isohound(t, "check", dir, "--level", "ser", "--json").outcomes(t)
			if err != nil || ferr != nil || judged == 0 || len(files) < tc.windows || len(all) != 1 || all[0].Verdict != verdict.Satisfied || all[0].Windows.Total() < len(files)-1 {
				t.Errorf("%v, %v, %d verdicts, %d windows: %+v", err, ferr, judged, len(files), all)
			}
		})
	}
}
