package servers

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// dockerWithShell answers docker exec with a shell of this machine, or with none while $FAKE/away is there.
const dockerWithShell = `#!/bin/sh
echo "$@" >> "$FAKE/calls"
[ -e "$FAKE/away" ] && exit 1
[ "$*" = "exec --interactive --user 0 id1 sh" ] && exec sh
exit 2
`

// TestContainerSessions: the process of one session of a PostgreSQL in a container is stopped and goes on. A shell that has
// ended is replaced. Docker here is a fake, behind which a private server runs.
func TestContainerSessions(t *testing.T) {
	pg, err := StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(dockerWithShell), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", dir)
	s := &container{id: "id1", dsn: pg.DSN(), sessions: true}
	t.Cleanup(s.signals.end)
	if resume, err := s.Pause(true); err != nil { // no session is there
		t.Fatal(err)
	} else {
		resume()
	}
	c, err := pgx.Connect(t.Context(), pg.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	var pid int
	if err := c.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	becomes := func(stopped bool) {
		t.Helper()
		for range 500 {
			if _, state, ok := stat(strconv.Itoa(pid)); ok && (state == "T") == stopped {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("the session does not become stopped=%v", stopped)
	}
	for n := range 3 {
		resume, err := s.Pause(true)
		if err != nil {
			t.Fatal(err)
		}
		becomes(true)
		if n == 1 { // the session must go on all the same
			s.signals.shell.Close()
		}
		resume()
		becomes(false)
	}
	if err := os.WriteFile(filepath.Join(dir, "away"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.signals.end()
	if _, err := s.Pause(true); err == nil {
		t.Error("a session of a container that is away was stopped")
	}
	becomes(false)
	if _, err := (&container{id: "id1", dsn: pg.DSN()}).Pause(true); err == nil {
		t.Error("a session without a process was stopped")
	}
}
