package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// TestNATSLeft: what a killed run has left on the server is listed, and dropped when it is asked for. A run that goes
// on is left alone.
func TestNATSLeft(t *testing.T) {
	_, url := startNATS(t, "--listen", "127.0.0.1:0", "--store", t.TempDir())
	start := func() *process {
		return beside(t, "run", "--sessions", "4", "--duration", "2h", "--rate", "2000", "--cut-every", "1000txns", "--max-lag", "1h", "--check", "ser", "--publish", url,
			"--out", filepath.Join(t.TempDir(), "run"), "--no-progress")
	}
	rows := func() map[string][]string {
		c := isohound(t, "nats", "runs", "--from", url)
		if c.code != 0 || !strings.HasPrefix(c.out, "run ") {
			t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
		}
		all := map[string][]string{}
		for line := range strings.Lines(c.out) {
			if f := strings.Fields(line); f[0] != "run" {
				all[f[0]] = f[1:]
			}
		}
		return all
	}
	first, second := start(), start()
	var names []string
	waitFor(t, "windows of two runs on the server", func() bool {
		names = nil
		for name, row := range rows() {
			if row[0] == "goes" && row[5] != "0" && row[6] != "0" {
				names = append(names, name)
			}
		}
		return len(names) == 2
	})
	first.kill()
	killed, alive := "", ""
	for name, row := range rows() {
		switch row[0] {
		case "killed":
			killed = name
		case "goes":
			alive = name
		}
	}
	if killed == "" || alive == "" {
		t.Fatal(rows())
	}
	for _, tc := range []struct {
		args string
		code int
		want string
	}{
		{"runs", 64, "nats runs needs --from"},
		{"drop --from " + url, 64, "needs the names of runs, or --killed"},
		{"drop --killed x --from " + url, 64, "needs the names of runs, or --killed"},
		{"drop --from " + url + " nobody", 65, "the server has nothing of a run nobody"},
		{"drop --from " + url + " " + alive, 65, "run " + alive + " goes on"},
		{"drop --from nats://127.0.0.1:1 --killed", 69, "is it running?"},
		{"drop --killed --from " + url, 0, "dropped " + killed + " (killed): "},
	} {
		c := isohound(t, append([]string{"nats"}, strings.Fields(tc.args)...)...)
		if c.code != tc.code || !strings.Contains(c.out+c.msg, tc.want) || strings.Contains(c.out, alive) {
			t.Errorf("%s: exit code %d: %s%s", tc.args, c.code, c.out, c.msg)
		}
	}
	if left := rows(); len(left) != 1 || left[alive] == nil {
		t.Errorf("%v is left", left)
	}
	second.kill()
	if c := isohound(t, "nats", "drop", alive, "--from", url); c.code != 0 || !strings.Contains(c.out, "dropped "+alive) {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	nc, js := streams(t, url)
	defer nc.Close()
	for _, name := range []string{"isohound-windows", "OBJ_isohound", "KV_isohound"} {
		s, err := js.Stream(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		if info := s.CachedInfo(); name != "OBJ_isohound" && info.State.Msgs > 0 || info.State.Bytes > 64<<10 { // marks of deleted objects
			t.Errorf("%s has %d messages of %d bytes", name, info.State.Msgs, info.State.Bytes)
		}
	}
}
