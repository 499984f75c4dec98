package duckdb

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/isohound/isohound/drivers"
)

// writer is the environment variable that makes the test binary commit to a database in a folder until it is killed.
const writer = "ISOHOUND_DUCKDB"

func TestMain(m *testing.M) {
	if folder := os.Getenv(writer); folder != "" {
		fmt.Fprintln(os.Stderr, write(folder))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// write commits 1, 2, 3 and so on, and prints each after its commit.
func write(folder string) error {
	db, err := Driver{}.Open(ctx, drivers.Config{DSN: folder})
	if err != nil {
		return err
	}
	if err := db.Create(ctx, func(yield func(string, int64) bool) { yield("a", 0) }); err != nil {
		return err
	}
	s, err := db.Connect(ctx)
	if err != nil {
		return err
	}
	for n := int64(1); ; n++ {
		x, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := x.Update(ctx, "a", n); err != nil {
			return err
		}
		if err := x.Commit(ctx); err != nil {
			return err
		}
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}

// TestKilled: what was committed to a file is there after kill -9 of the process.
func TestKilled(t *testing.T) {
	folder := t.TempDir()
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), writer+"="+folder), os.Stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	acknowledged, lines := int64(0), bufio.NewScanner(out)
	for lines.Scan() {
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		must(t, err)
		if acknowledged = n; n == 200 {
			must(t, c.Process.Kill())
		}
	}
	_ = c.Wait()
	if acknowledged < 200 {
		t.Fatalf("it ended after %d commits", acknowledged)
	}
	files, err := filepath.Glob(folder + "/*/db")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	pool, err := sql.Open("duckdb", files[0])
	must(t, err)
	defer pool.Close()
	var n int64
	must(t, pool.QueryRowContext(ctx, "SELECT v FROM kv").Scan(&n))
	// A commit that was not printed may be there, too.
	if n != acknowledged && n != acknowledged+1 {
		t.Errorf("%d commits were acknowledged, and %d are there", acknowledged, n)
	}
}
