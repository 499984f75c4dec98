//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isohound/isohound/internal/infile"
	"github.com/isohound/isohound/results"
)

// TestTextsTooLong: plans, workloads and scenarios are read up to a limit, since a device may have no end; a scenario is a regular file.
func TestTextsTooLong(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.yaml")
	if err := os.WriteFile(long, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, infile.MaxText+1); err != nil {
		t.Fatal(err)
	}
	device := t.TempDir()
	if err := os.Symlink(os.DevNull, filepath.Join(device, "x.yaml")); err != nil {
		t.Fatal(err)
	}
	const tooLong = "long.yaml is longer than 16 MiB"
	for args, want := range map[string]string{
		"hunt " + long: tooLong, "hunt --list " + long: tooLong, "workloads check " + long: tooLong, "run --driver sim --workload file=" + long: tooLong,
		"scenarios --dir " + dir: tooLong, "scenarios --dir " + device: "x.yaml is not a regular file",
	} {
		c := isohound(t, strings.Fields(args)...)
		if c.code != int(exitData) && c.code != int(exitUsage) || !strings.Contains(c.msg, want) || strings.Count(c.msg, "\n") != 1 {
			t.Errorf("%s: exit %d: %s", args, c.code, c.msg)
		}
	}
}

// TestInterruptedReads: the first signal ends a command that waits for input from a named pipe, before somebody opens that for
// writing, before the first byte, and within the input.
func TestInterruptedReads(t *testing.T) {
	for _, args := range []string{
		"check PIPE --level ser", "explain PIPE --level ser", "convert PIPE out.jsonl", "hunt PIPE", "convert HISTORY out.jsonl --claims PIPE",
		"run --driver sim --workload file=PIPE", "workloads check PIPE", "workloads file=PIPE",
	} {
		for _, came := range []string{"no writer", "", "{\"isohound\":2}\n"} {
			t.Run(args+" "+came, func(t *testing.T) {
				t.Parallel()
				pipe := filepath.Join(t.TempDir(), "pipe")
				if err := syscall.Mkfifo(pipe, 0o600); err != nil {
					t.Skip(err)
				}
				history := write(t, "h.jsonl", "{\"isohound\":2}\n")
				c := command(t, strings.Fields(strings.NewReplacer("PIPE", pipe, "HISTORY", history).Replace(args))...)
				var msg bytes.Buffer
				c.Stderr = &msg
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- c.Wait() }()
				kill := time.AfterFunc(20*time.Second, func() { c.Process.Kill() })
				defer kill.Stop()
				if came == "no writer" {
					time.Sleep(500 * time.Millisecond)
				} else {
					w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
					if err != nil {
						t.Fatal(err)
					}
					defer w.Close()
					w.WriteString(came)
					time.Sleep(50 * time.Millisecond)
				}
				if err := c.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				<-ended
				if code := c.ProcessState.ExitCode(); code != int(exitInterrupted) || !strings.HasSuffix(msg.String(), "isohound: interrupted\n") {
					t.Errorf("%v: %s", c.ProcessState, msg.String())
				}
			})
		}
	}
}

// piped writes text to a named pipe for each program that opens it.
func piped(t *testing.T, text string) string {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for a reader
		if err != nil {
			return
		}
		w.WriteString(text)
		w.Close()
	}()
	t.Cleanup(func() {
		if r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil { // a writer that nobody read
			<-ended
			r.Close()
		}
	})
	return pipe
}

// TestPipedOnce: a workload from a pipe is read once, and a plan, which needs it several times, refuses it.
func TestPipedOnce(t *testing.T) {
	text, err := os.ReadFile(shop(t))
	if err != nil {
		t.Fatal(err)
	}
	if c := bounded(t, "workloads", "check", piped(t, string(text))); c.code != 0 || !strings.Contains(c.out, "transaction buy, 27.8 %") {
		t.Errorf("%+v", c)
	}
	out := filepath.Join(t.TempDir(), "run")
	if c := bounded(t, "run", "--driver", "sim", "--workload", "file="+piped(t, string(text)), "--txns", "20", "--out", out, "--quiet"); c.code != 0 {
		t.Errorf("%+v", c)
	}
	if kept, err := os.ReadFile(filepath.Join(out, results.WorkloadFile)); err != nil || !bytes.Equal(kept, text) {
		t.Errorf("%v, %q", err, kept)
	}
	plan := write(t, "plan.yaml", "targets: [{name: a, driver: sim}]\nworkloads: [{name: w, workload: file="+piped(t, string(text))+"}]\n")
	if c := bounded(t, "hunt", "--list", plan); c.code != int(exitData) || !strings.Contains(c.msg, "it is not a regular file, and is read more than once; write it to a file first") {
		t.Errorf("%+v", c)
	}
}

// bounded runs the command, which must end by itself.
func bounded(t *testing.T, args ...string) call {
	t.Helper()
	c := command(t, args...)
	kill := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
	defer kill.Stop()
	return finish(t, c)
}

// TestEmptyArgument: an argument that is empty, as of a variable of the shell that is not set, is told by its number.
func TestEmptyArgument(t *testing.T) {
	history := write(t, "h.txt", "s1: w(x,1)\n")
	for n, args := range [][]string{{"check", "", "--level", "ser"}, {"check", history, "", "--level", "ser"}, {"report", ""}, {"convert", history, ""}, {"workloads", ""}} {
		c := isohound(t, args...)
		which := fmt.Sprintf("argument %d is empty; expected isohound %s", map[bool]int{true: 2, false: 1}[len(args) > 2 && args[1] == history], args[0])
		if c.code != int(exitUsage) || !strings.Contains(c.msg, which) || strings.Count(c.msg, "\n") != 1 {
			t.Errorf("%d: %q: %+v", n, args, c)
		}
	}
	if c := isohound(t, "__complete", "check", ""); c.code != 0 {
		t.Errorf("completion: %+v", c)
	}
}

// TestRoundsOfPipe: --rounds, which may read a history twice, refuses a pipe at once.
func TestRoundsOfPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if c := bounded(t, "check", pipe, "--level", "ser", "--rounds", "cobra"); c.code != int(exitUsage) || !strings.Contains(c.msg, "--rounds cannot read "+pipe+", which is not a regular file") || strings.Count(c.msg, "\n") != 1 {
		t.Errorf("%+v", c)
	}
}
