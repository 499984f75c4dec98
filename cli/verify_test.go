//go:build !front

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isohound/isohound/internal/mongotest"
)

// TestVerify: drivers verify on the servers of tests that stand in for those that are not here, and on an
// embedded engine. A server that ignores conflicts is found out.
func TestVerify(t *testing.T) {
	broken, err := mongotest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Stop()
	broken.IgnoreConflicts()
	for _, c := range []struct {
		driver, dsn, isolation, txns string
		code                         int
		says                         []string
	}{
		{"bbolt", "", "serializable", "4", 0, []string{"  ok       mini at \"serializable\", 1-mini, with ", "transactions each, since fewer did not meet", "All passed."}}, // 50 must commit
		{"bbolt", "", "serializable", "60", 0, []string{"  ok      keys: conflicts", "  ok      tables", "  ok      updates of tables", "races", "  ok       scan at \"serializable\", 3-scan", "All passed."}},
		{"cassandra", cassandraDSN(t), "SERIAL", "60", 0, []string{"  ok      lightweight transactions: SERIAL: races", "  ok       lwt at \"SERIAL\", 1-lwt"}},
		{"mongo", broken.URI(), "snapshot, majority", "60", 1, []string{"  FAILED  keys: conflicts", "these did not pass"}},
	} {
		dir := filepath.Join(t.TempDir(), "found")
		r := isohound(t, "drivers", "verify", "--driver", c.driver, "--dsn", c.dsn, "--isolation", c.isolation, "--txns", c.txns, "--sessions", "8", "--out", dir)
		file, err := os.ReadFile(filepath.Join(dir, verifyFile))
		if err != nil || r.code != c.code || !strings.HasPrefix(r.out, string(file)) {
			t.Errorf("%s: exit code %d, %v: %s%s", c.driver, r.code, err, r.out, r.msg)
		}
		for _, says := range c.says {
			if !strings.Contains(string(file), says) {
				t.Errorf("%s: no %q in\n%s", c.driver, says, file)
			}
		}
	}
	for _, args := range [][]string{{}, {"--driver", "nothing"}, {"--driver", "mongo"}, {"--driver", "bbolt", "--txns", "0"}, {"--driver", "bbolt", "--isolation", "x"}, {"--driver", "mongo", "--dsn", "mysql://x"}} {
		if r := isohound(t, append([]string{"drivers", "verify"}, args...)...); r.code != 64 {
			t.Errorf("%v: exit code %d: %s", args, r.code, r.msg)
		}
	}
}

// TestCompose: the databases to start have exact versions, listen on loopback only, and the command in each
// file is right, up to the connection.
func TestCompose(t *testing.T) {
	files, err := filepath.Glob("../deploy/compose/*.yaml")
	if err != nil || len(files) != 4 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		text := deployed(t, filepath.Join("deploy/compose", filepath.Base(path)))
		var compose struct {
			Services map[string]struct {
				Image       string
				Ports       []string
				Healthcheck struct{ Test []string }
			}
		}
		parsed(t, text, &compose)
		if len(compose.Services) != 1 {
			t.Errorf("%s: %+v", path, compose)
		}
		for _, s := range compose.Services {
			if !regexp.MustCompile(`:v?\d+\.\d+\.\d+`).MatchString(s.Image) || len(s.Ports) != 1 || !strings.HasPrefix(s.Ports[0], "127.0.0.1:") || len(s.Healthcheck.Test) < 2 {
				t.Errorf("%s: %+v", path, s)
			}
		}
		m := regexp.MustCompile(`(?m)^#   (isohound drivers verify .*)$`).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s does not say what to run", path)
			continue
		}
		refusedAtServer(t, path, regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(m[1], "127.0.0.1:1"))
	}
}
