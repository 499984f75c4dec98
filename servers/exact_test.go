package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExact: a server of an exact version, which comes from npm's registry unless it was fetched before. It can be killed
// and started again as any other.
func TestExact(t *testing.T) {
	here(t)
	s, err := StartPostgres(Exact("15.3"), Note(func(text string) { t.Log(text) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if v := ask(t, s, "SHOW server_version"); v != "15.3" || s.Version() != v || !strings.HasPrefix(s.Exact(), "15.3.0-") {
		t.Errorf("version %s, %s, %s", v, s.Version(), s.Exact())
	}
	s.Kill()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if v := ask(t, s, "SHOW server_version"); v != "15.3" {
		t.Errorf("version %s after a crash", v)
	}
}

// TestExactUnusable: programs that are there and cannot be run here are explained.
func TestExactUnusable(t *testing.T) {
	here(t)
	cache, err := os.MkdirTemp("", "cache-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(cache)
	t.Setenv("ISOHOUND_CACHE", cache)
	for _, machine := range []string{"linux-x64", "linux-arm64"} {
		bin := filepath.Join(cache, "postgres", machine, "99.9.0-beta.1", "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		// As for a program whose loader is missing.
		if err := os.WriteFile(filepath.Join(bin, "initdb"), []byte("#!/no/such/loader\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	start := func(want string) {
		t.Helper()
		if s, err := StartPostgres(Exact("99.9")); err == nil {
			s.Stop()
			t.Error("started")
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if os.Geteuid() == 0 {
		start("as whom the server runs, must be able to run the programs in") // the folder of the cache is root's alone
	}
	if err := os.Chmod(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	start("need a system with glibc")
}
