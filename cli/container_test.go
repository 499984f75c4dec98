package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
)

// dockerWithRedis answers like docker. Its only container is a redis-server of this machine, without isolation.
const dockerWithRedis = `#!/bin/sh
echo "$@" >> "$FAKE/calls"
pid() { cat "$FAKE/pid"; }
case "$1" in
version) echo 27.1;;
image)
	[ "$3" = --format ] || exit 1
	echo ${VOLUME-/data};;
create)
	while [ $# -gt 0 ]; do
		case "$1" in
		--volume) ln -s "${2%:/data}" "$FAKE/data";;
		--publish) port=${2#127.0.0.1:}; echo "${port%:6379}" > "$FAKE/port";;
		redis:7) shift; echo "$@" > "$FAKE/args";;
		esac
		shift
	done
	[ -e "$FAKE/data" ] || mkdir "$FAKE/data"
	echo "a warning" >&2
	echo id1;;
start)
	# shellcheck disable=SC2046
	redis-server --bind 127.0.0.1 --port "$(cat "$FAKE/port")" --dir "$FAKE/data" --save "" $(cat "$FAKE/args") ${BROKEN:+--no-such-directive 1} > "$FAKE/log" 2>&1 &
	echo $! > "$FAKE/pid";;
inspect) # a process may have ended, and its parent has not noticed
	case $(cut -d ' ' -f 3 "/proc/$(pid)/stat" 2> /dev/null) in
	"" | Z) echo false;;
	*) echo true;;
	esac;;
kill) kill -9 "$(pid)";;
pause) kill -STOP "$(pid)";;
unpause) kill -CONT "$(pid)";;
logs) cat "$FAKE/log";;
rm) kill -9 "$(pid)" 2> /dev/null; rm -r "$FAKE/data";;
esac
`

// TestContainer: a server in a container is started, killed with its data kept, paused, and removed; docker here is a fake
// with a real Redis. With ISOHOUND_CONTAINER=docker-NAME=IMAGE it is docker and that image.
func TestContainer(t *testing.T) {
	server, dir := os.Getenv("ISOHOUND_CONTAINER"), t.TempDir()
	real := server != ""
	if !real {
		server = "docker-redis=redis:7"
		if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(dockerWithRedis), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		t.Setenv("FAKE", dir)
	}
	fault := "500ms kill for 100ms; 2s pause 100ms"
	if strings.HasPrefix(server, "docker-postgres=") {
		fault += "; 0s pause backends 5ms every 20ms"
	}
	c := isohound(t, "run", "--server", server, "--sessions", "6", "--rate", "300", "-p", "think=2ms", "--keys", "500", "--txns", "200", "--patience", "1m",
		"--fault", fault, "--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress")
	all := c.outcomes(t)
	if c.code != 0 || len(all) == 0 || all[0].Verdict != verdict.Satisfied || !all[0].Certified {
		t.Fatalf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if !strings.Contains(c.msg, "the server was killed and started again") {
		t.Errorf("no kill: %s", c.msg)
	}
	if real {
		return
	}
	if !strings.Contains(c.msg, "fetching redis:7") || !strings.Contains(c.msg, "--server docker-redis=redis:7") || strings.Contains(c.msg, "--dsn") {
		t.Errorf("messages: %s", c.msg)
	}
	calls := func() string {
		b, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	rest := calls()
	for _, want := range []string{"ps --all", "pull --quiet redis:7", "create --label=isohound.owner=", "start id1", "kill id1", "start id1", "pause id1", "unpause id1", "rm --force --volumes id1"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("not called, or too early: docker %s\n%s", want, calls())
		}
		rest = after
	}
	for flags, want := range map[string]string{
		"--fault 1s_pause_backends_5ms": "only PostgreSQL has a process for each session", "--driver postgres": "is for --driver redis",
	} {
		args := strings.Fields(flags)
		args[1] = strings.ReplaceAll(args[1], "_", " ")
		if c := isohound(t, append([]string{"run", "--server", server}, args...)...); c.code != 64 || !strings.Contains(c.msg, want) {
			t.Errorf("%s: exit code %d: %s", flags, c.code, c.msg)
		}
	}
	if os.Geteuid() == 0 {
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		got := isohound(t, "run", "--server", server, "--duration", "4s", "--rate", "300", "-p", "think=2ms", "--patience", "1m", "--sessions", "6", "--fault", "1s fill for 1s", "--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress")
		if all := got.outcomes(t); got.code != 0 || len(all) == 0 || all[0].Verdict != verdict.Satisfied {
			t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
		}
		if want := "the server had ended, and was started again"; !strings.Contains(got.msg, want) {
			t.Errorf("the messages lack %q: %s", want, got.msg)
		}
		if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), tmp) {
			t.Errorf("a disk is still mounted, %v: %s", err, mounts)
		}
		t.Setenv("VOLUME", "")
		if got := isohound(t, "run", "--server", server, "--fault", "1s fill for 1s", "--no-progress"); got.code != 69 || !strings.Contains(got.msg, "redis:7 does not say where its data is (VOLUME)") {
			t.Errorf("exit code %d: %s", got.code, got.msg)
		}
	}
	t.Setenv("BROKEN", "1")
	if c := isohound(t, "run", "--server", server, "--no-progress"); c.code != 69 || !strings.Contains(c.msg, "the container has ended") || !strings.Contains(c.msg, "no-such-directive") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	if !strings.HasSuffix(strings.TrimSpace(calls()), "rm --force --volumes id1") {
		t.Errorf("the container is left behind: %s", calls())
	}
	t.Setenv("PATH", t.TempDir())
	if c := isohound(t, "run", "--server", server, "--no-progress"); c.code != 69 || !strings.Contains(c.msg, "needs docker: there is no program docker here") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}
