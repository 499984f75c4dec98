package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNightly: the commands of the README's nightly builds are valid up to the connection; there
// is no server.
func TestNightly(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## In a nightly build")
	section, _, _ = strings.Cut(section, "\n## ")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, line := range strings.Split(strings.ReplaceAll(section, "\\\n", " "), "\n") {
		at := strings.Index(line, "isohound run ")
		if at < 0 || strings.Trim(line[:at], " -") != "" {
			continue
		}
		commands++
		c := exec.Command("sh", "-c", `"$SELF" `+strings.TrimPrefix(line[at:], "isohound "))
		c.Dir = t.TempDir()
		c.Env = append(os.Environ(), "SELF="+self, "ISOHOUND_MAIN=1", "ISOHOUND_DSN=postgres://me@127.0.0.1:1/test", "GITHUB_STEP_SUMMARY=")
		if done := finish(t, c); done.code != int(exitUnavailable) {
			t.Errorf("%s: exit code %d\n%s", line, done.code, done.msg)
		}
	}
	if commands != 1 {
		t.Errorf("%d commands in the README, want 1", commands)
	}
}
