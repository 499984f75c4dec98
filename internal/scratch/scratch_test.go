//go:build linux

package scratch

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain makes a folder and waits, if the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv("SCRATCH_HOLD") != "" {
		f, err := New("held")
		if err != nil {
			panic(err)
		}
		if err := os.WriteFile(filepath.Join(f.Path, "data"), []byte("x"), 0o644); err != nil {
			panic(err)
		}
		os.Stdout.WriteString(f.Path + "\n")
		time.Sleep(time.Hour) // until it is killed
	}
	os.Exit(m.Run())
}

// hold starts a process that makes a folder, and returns the folder and a function that kills the process.
func hold(t *testing.T) (string, func()) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "SCRATCH_HOLD=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	kill := func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	t.Cleanup(kill)
	return strings.TrimSpace(line), kill
}

func age(t *testing.T, path string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestLeft: the folder of a process that was killed is removed when the next one is made, that of a living process is not,
// nor one with another name, nor a young one.
func TestLeft(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	left, kill := hold(t)
	lives, _ := hold(t)
	kill()
	other := filepath.Join(os.TempDir(), "isohound-notes")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{lives, other} {
		age(t, path)
	}
	f, err := New("next")
	if err != nil {
		t.Fatal(err)
	}
	if !there(left) {
		t.Error("a young folder was removed")
	}
	age(t, left)
	g, err := New("next")
	if err != nil {
		t.Fatal(err)
	}
	if there(left) || !there(lives) || !there(other) || !there(f.Path) {
		t.Errorf("left %v, of a living process %v, another one %v, own %v", there(left), there(lives), there(other), there(f.Path))
	}
	for _, x := range []*Folder{f, g} {
		if err := x.Remove(); err != nil || there(x.Path) {
			t.Error(err)
		}
	}
}
