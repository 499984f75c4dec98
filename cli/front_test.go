package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestFront: the program with the build tag front judges by itself, and executes the complete
// program next to it for every other command and for a GPU. If that is missing, it reports so.
func TestFront(t *testing.T) {
	dir := t.TempDir()
	front := filepath.Join(dir, "isohound")
	build := exec.Command("go", "build", "-tags", "front,nogpu", "-o", front, "../cmd/isohound")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	skew := write(t, "skew.txt", "s1: r(x,0) r(y,0) w(x,1)\ns2: r(x,0) r(y,0) w(y,2)\n")
	call := func(args ...string) call {
		t.Helper()
		return finish(t, exec.Command(front, args...))
	}
	if c := call("workloads"); c.code != int(exitUnavailable) || !strings.Contains(c.msg, "isohound-full") {
		t.Errorf("without the complete program: %+v", c)
	}
	if c := call("check", skew, "--level", "ser", "--accel", "cuda"); c.code != int(exitViolated) {
		t.Errorf("a GPU without the complete program: %+v", c)
	}
	script := "#!/bin/sh\necho complete \"$@\"\nexit 3\n"
	if err := os.WriteFile(filepath.Join(dir, "isohound-full"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"", "workloads mini", "--help", "nonsense", "check x --level ser --accel cuda", "check --accel=cuda x"} {
		words := strings.Fields(args)
		if c := call(words...); c.code != 3 || strings.TrimSpace(c.out) != strings.TrimSpace("complete "+args) {
			t.Errorf("%q: %+v", args, c)
		}
	}
	// The backend is set, because with a GPU the choice would be different.
	if c := call("check", skew, "--level", "ser", "--accel", "chains"); c.code != int(exitViolated) || !strings.Contains(c.out, "WriteSkew") {
		t.Errorf("check: %+v", c)
	}
	if c := call("--version"); c.code != 0 || !strings.HasPrefix(c.out, "isohound version") {
		t.Errorf("--version: %+v", c)
	}
	if c := call("synth", "lwt", "-o", "-"); c.code != 0 || c.out == "" {
		t.Errorf("synth: %d, %s", c.code, c.msg)
	}
	// The memory that packages allocate before main is a measure of the start that does not
	// depend on other load. The complete program takes 1.6 MB.
	traced := exec.Command(front, "--version")
	traced.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	bytes := 0
	for line := range strings.Lines(finish(t, traced).msg) {
		if f := strings.Fields(line); len(f) > 7 && f[0] == "init" {
			n, err := strconv.Atoi(f[7])
			if err != nil {
				t.Fatal(err, line)
			}
			bytes += n
		}
	}
	if bytes == 0 || bytes > 400_000 {
		t.Errorf("packages allocate %d bytes before main", bytes)
	}
	// The complete program is also found through a link to this program.
	link := filepath.Join(t.TempDir(), "hound")
	if err := os.Symlink(front, link); err != nil {
		t.Fatal(err)
	}
	if c := finish(t, exec.Command(link, "run")); c.code != 3 || c.out != "complete run\n" {
		t.Errorf("through a link: %+v", c)
	}
}
