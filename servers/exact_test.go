package servers

import (
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
