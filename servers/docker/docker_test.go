package docker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake installs a program docker with this text, which records its calls in a file.
func fake(t *testing.T, text string) (calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\necho \"$@\" >> "+dir+"/calls\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		b, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
}

// TestSweep: only containers and networks of processes of this machine that have ended are removed. What cannot be removed
// is told, and ends nothing.
func TestSweep(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	gone := fmt.Sprintf("%s/%d", place(), ended.Process.Pid)
	owners := map[string]string{
		"stuck": gone, "gone": gone, "net": gone, "mine": fmt.Sprintf("%s/%d", place(), os.Getpid()),
		"elsewhere": fmt.Sprintf("other-pid:[1]/%d", ended.Process.Pid), "odd": place() + "/x", "none": "",
	}
	text := "for last; do :; done\ncase \"$1 $2\" in\nps*) for id in stuck gone mine elsewhere odd none vanished; do echo $id; done;;\n" +
		"'network ls') echo net; echo mine;;\nrm*) [ $last != stuck ] || { echo in use >&2; exit 1; };;\ninspect*) case $last in\n"
	for id, owner := range owners {
		text += id + ") echo '" + owner + "';;\n"
	}
	calls := fake(t, text+"*) exit 1;; esac;;\nesac\n")
	var notes []string
	Sweep(context.Background(), func(s string) { notes = append(notes, s) })
	var removed []string
	for _, c := range calls() {
		if strings.HasPrefix(c, "rm ") || strings.HasPrefix(c, "network rm ") {
			removed = append(removed, c)
		}
	}
	if !slices.Equal(removed, []string{"rm --force --volumes stuck", "rm --force --volumes gone", "network rm net"}) {
		t.Errorf("%q", removed)
	}
	want := []string{
		"stuck that a killed isohound left is not removed: docker rm: in use", "containers removed that killed isohounds had left: 1",
		"networks removed that killed isohounds had left: 1",
	}
	if !slices.Equal(notes, want) {
		t.Errorf("%q", notes)
	}
	if label := Label(); label != "--label=isohound.owner="+owners["mine"] {
		t.Errorf("label %s", label)
	}
}

// TestKill: a container that has ended by itself is killed; one that runs on is not.
func TestKill(t *testing.T) {
	fake(t, "case $1 in\nkill) echo cannot kill >&2; exit 1;;\ninspect) for last; do :; done; case $last in ended) echo false;; runs) echo true;; *) exit 1;; esac;;\nesac\n")
	for id, want := range map[string]string{"ended": "", "runs": "docker kill: cannot kill", "none": "docker kill: cannot kill"} {
		if err := Kill(context.Background(), id); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestDo: the last line of what docker says is the error; no answer and an interrupt are told apart.
func TestDo(t *testing.T) {
	fake(t, `case "$1" in
say) echo " hello "; echo "a warning" >&2;;
fail) echo "first" >&2; echo "Cannot connect" >&2; exit 1;;
quiet) exit 3;;
hang) exec sleep 100;;
esac
`)
	ctx := context.Background()
	if out, err := Do(ctx, Answer, nil, "say"); err != nil || out != "hello" {
		t.Errorf("%q, %v", out, err)
	}
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(fmt.Errorf("interrupted"))
	for _, c := range []struct {
		ctx   context.Context
		limit time.Duration
		arg   string
		want  string
	}{
		{ctx, Answer, "fail", "docker fail: Cannot connect"}, {ctx, Answer, "quiet", "docker quiet: exit status 3"},
		{ctx, 50 * time.Millisecond, "hang", "docker hang: no answer within 50ms"}, {cancelled, Answer, "hang", "docker hang: interrupted"},
	} {
		if _, err := Do(c.ctx, c.limit, nil, c.arg); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", c.arg, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if err := Available(ctx); err == nil || !strings.Contains(err.Error(), "no program docker") {
		t.Error(err)
	}
}

// TestImage: an image that is here is not fetched.
func TestImage(t *testing.T) {
	calls := fake(t, `[ "$1" != image ] || [ "$3" = here:1 ]`)
	var notes []string
	note := func(s string) { notes = append(notes, s) }
	for _, c := range [][2]string{{"here:1", ""}, {"there:1", ""}, {"made:1", "FROM scratch"}} {
		if err := Image(context.Background(), c[0], c[1], note); err != nil {
			t.Error(err)
		}
	}
	want := []string{"image inspect here:1", "image inspect there:1", "pull --quiet there:1", "image inspect made:1", "build --tag made:1 -"}
	if got := calls(); !slices.Equal(got, want) || !slices.Equal(notes, []string{"fetching there:1", "building made:1"}) {
		t.Errorf("%q, %q", got, notes)
	}
}

// TestGone: a daemon that is away does not say that a container is gone.
func TestGone(t *testing.T) {
	for text, want := range map[string]bool{
		"Error response from daemon: No such container: abc":                 true,
		"Error: No such object: abc":                                         true,
		`Error: no such container "abc"`:                                     true,
		"dial unix /var/run/docker.sock: connect: no such file or directory": false,
		"dial tcp: lookup docker: no such host":                              false,
	} {
		if gone.MatchString(text) != want {
			t.Errorf("%q", text)
		}
	}
}
