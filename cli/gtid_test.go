package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestClaimsOfMariaDB: with a binary log MariaDB tells the order of its commits. All versions have a place, and the order is an
// execution of what the isolation promises. Without one, the remedy is said if the order is required.
func TestClaimsOfMariaDB(t *testing.T) {
	run := func(isolation, workload string, args ...string) call {
		return isohound(t, append([]string{"run", "--driver", "mariadb", "--isolation", isolation, "--workload", workload, "--sessions", "6", "--txns", "30",
			"--seed", "3", "--no-progress", "--plain", "--out", filepath.Join(t.TempDir(), "run")}, args...)...)
	}
	for _, tc := range []struct{ isolation, workload, level string }{
		{"serializable", "scan", "ser"}, {"repeatable read, innodb_snapshot_isolation=ON", "append", "si"},
	} {
		c := run(tc.isolation, tc.workload, "--server", "mariadb", "--claims", "require", "--check", tc.level, "--versions", "assume")
		_, of, _ := strings.Cut(c.out, "claims (numbers in the binary log), with ")
		var placed, all int
		fmt.Sscanf(of, "%d of %d", &placed, &all)
		if c.code != 0 || placed == 0 || placed != all || !strings.Contains(c.out, "the order that the database claims (numbers in the binary log) is an execution at "+tc.level) {
			t.Errorf("%+v: exit code %d: %s%s", tc, c.code, c.out, c.msg)
		}
	}
	dsn := mariadbDSN(t)
	if c := run("serializable", "general", "--dsn", dsn, "--claims", "require"); c.code != int(exitUsage) || !strings.Contains(c.msg, "log_bin is OFF; with log_bin in its configuration") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if c := run("serializable", "general", "--dsn", dsn); c.code != 0 || strings.Contains(c.out+c.msg, "log_bin") || strings.Contains(c.out, "claims (") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
}
