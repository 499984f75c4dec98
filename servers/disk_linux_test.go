package servers

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestFill: on a full disk PostgreSQL refuses to write more than it has room for, and goes on when there is space again. Nothing
// stays mounted.
func TestFill(t *testing.T) {
	here(t)
	s, err := StartPostgres(Disk())
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skip("file systems cannot be mounted here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	insert := func() (err error) {
		_ = s.Admin(func(ctx context.Context, c *pgx.Conn) error {
			_, err = c.Exec(ctx, "CREATE TABLE IF NOT EXISTS big AS SELECT n FROM generate_series(1, 400000) n")
			return nil
		})
		return err
	}
	empty, err := s.Fill()
	if err != nil {
		t.Fatal(err)
	}
	var full *pgconn.PgError
	if err := insert(); !errors.As(err, &full) || full.Code != "53100" {
		t.Errorf("14 MB on a full disk: %v", err)
	}
	if err := empty(); err != nil {
		t.Fatal(err)
	}
	if s.Ended() {
		t.Fatal("the server has ended: ", tail(s.Logs()))
	}
	if err := insert(); err != nil {
		t.Errorf("14 MB after that: %v", err)
	}
	dir := s.dir
	s.Stop()
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("%s is still mounted, %v", dir, err)
	}
	if !s.Ended() {
		t.Error("the server has not ended")
	}
}
