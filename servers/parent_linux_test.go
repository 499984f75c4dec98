package servers

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestParentKilled kills the process that has started a server with SIGKILL: the server must end
// too.
func TestParentKilled(t *testing.T) {
	if os.Getenv("ISOHOUND_START") != "" {
		_, err := StartPostgres()
		fmt.Println("started", err)
		if err == nil {
			select {}
		}
		return
	}
	here(t)
	c := exec.Command(os.Args[0], "-test.run=^TestParentKilled$")
	c.Env = append(os.Environ(), "ISOHOUND_START=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "started <nil>\n" {
		t.Errorf("%q, %v", line, err)
	}
	dir := os.Getenv("TMPDIR")
	if len(processes(dir)) == 0 {
		t.Error("no server runs")
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	deadline := time.Now().Add(time.Minute)
	for len(processes(dir)) > 0 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	if left := processes(dir); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
	// The folder was not removed.
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 1 {
		t.Errorf("folders %v", left)
	}
	for _, d := range left {
		os.RemoveAll(d)
	}
}
