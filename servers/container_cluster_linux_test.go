package servers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dockerOfNodes answers like docker whose containers do nothing. Containers are named c1, c2 and so on. With $FAKE/broken all
// have ended.
const dockerOfNodes = `#!/bin/sh
echo "$@" >> "$FAKE/calls"
case "$1" in
create) echo x >> "$FAKE/made"; echo "c$(wc -l < "$FAKE/made" | tr -d ' ')";;
inspect) [ -e "$FAKE/broken" ] || [ -e "$FAKE/broken-$4" ] && echo false || echo true;;
logs) echo "no such flag: --join";;
esac
`

// TestContainerCluster: the nodes of a cluster in containers know each other's addresses, all start before the first one is
// set up, faults hit them in turn or as aimed, and all are removed, also after a start that fails. Docker is a fake; with
// ISOHOUND_CONTAINER, TestContainer of the command line takes a real one.
func TestContainerCluster(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(dockerOfNodes), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", dir)
	calls := func() []string {
		b, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(dir, "calls"))
		os.Remove(filepath.Join(dir, "made"))
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	for kind, c := range map[string]struct {
		node, setup string
		dsns        int
	}{
		"etcd":      {`etcd --name n2 --listen-client-urls http://A2 --advertise-client-urls http://A2 --listen-peer-urls http://B2 --initial-advertise-peer-urls http://B2 --initial-cluster n1=http://B1,n2=http://B2,n3=http://B3`, "", 1},
		"cockroach": {`start --insecure --listen-addr=A2 --http-addr=B2 --join=A1,A2,A3`, "cockroach init --insecure --host=A1", 3},
		"mongo":     {`mongod --replSet rs0 --bind_ip 127.0.0.1 --port P2`, "--port P1 --eval \"var s; try { s = rs.status() } catch (e) { s = {ok: 0} }; if (!s.ok) rs.initiate({_id: 'rs0', settings: {electionTimeoutMillis: 2000}, members: [{_id: 0, host: 'A1'}, {_id: 1, host: 'A2'}, {_id: 2, host: 'A3'}]})", 1},
	} {
		spec, err := ParseSpec("docker-" + kind + "-cluster=img:1")
		if err != nil || spec.Driver != kind || !spec.Container() || spec.Nodes() != c.dsns {
			t.Fatalf("%s: %+v, %d nodes, %v", kind, spec, spec.Nodes(), err)
		}
		var asked []string
		s, err := spec.Begin(Ready(func(_ context.Context, dsn string) error { asked = append(asked, dsn); return nil }))
		if err != nil {
			t.Fatal(err)
		}
		all := calls()
		var created, started []string
		setups := 0
		for _, call := range all {
			switch {
			case strings.HasPrefix(call, "create"):
				created = append(created, call)
			case strings.HasPrefix(call, "start"):
				started = append(started, call)
			case strings.HasPrefix(call, "exec c1 ") && len(started) == 3:
				setups++
			case strings.HasPrefix(call, "exec"):
				t.Errorf("%s: too early, or in the wrong container: %s", kind, call)
			}
		}
		if len(created) != 3 || !slices.Equal(started, []string{"start c1", "start c2", "start c3"}) || setups != min(1, len(c.setup)) || len(asked) != 3 || len(strings.Split(s.DSN(), "\n")) != c.dsns {
			t.Errorf("%s: %q, asked %q, DSN %q", kind, all, asked, s.DSN())
		}
		// The addresses that the DSNs name are those of the nodes, in their order.
		addresses := regexp.MustCompile(`127\.0\.0\.1:\d+`)
		clients := addresses.FindAllString(s.DSN(), -1)
		if len(clients) != 3 {
			t.Fatalf("%s: DSN %q", kind, s.DSN())
		}
		want := strings.NewReplacer("A1", clients[0], "A2", clients[1], "A3", clients[2], "P1", strings.TrimPrefix(clients[0], "127.0.0.1:"), "P2", strings.TrimPrefix(clients[1], "127.0.0.1:")).Replace
		pattern := "^create --label=\\S+ --network host img:1 " + regexp.MustCompile(`B\d`).ReplaceAllString(regexp.QuoteMeta(want(c.node)), `127\.0\.0\.1:\d+`) + "$"
		if !regexp.MustCompile(pattern).MatchString(created[1]) {
			t.Errorf("%s: %s does not match %s", kind, created[1], pattern)
		}
		if text := strings.Join(all, "\n"); !strings.Contains(text, want(c.setup)) {
			t.Errorf("%s: no %s in %s", kind, want(c.setup), text)
		}
		if kind == "etcd" { // no node has an address of another one
			every := addresses.FindAllString(created[0], -1)
			slices.Sort(every)
			if n := len(slices.Compact(every)); n != 4 { // its two, and the peers of two others
				t.Errorf("%d addresses in %s", n, created[0])
			}
		}
		for range 4 {
			s.Kill()
			if err := s.Start(); err != nil {
				t.Error(err)
			}
		}
		s.(interface{ Aim(int) }).Aim(3)
		resume, err := s.Pause(false)
		if err != nil {
			t.Fatal(err)
		}
		resume()
		s.Stop()
		done := slices.DeleteFunc(calls(), func(call string) bool { return strings.HasPrefix(call, "inspect") })
		if !slices.Equal(done, []string{"kill c1", "start c1", "kill c2", "start c2", "kill c3", "start c3", "kill c1", "start c1", "pause c3", "unpause c3",
			"rm --force --volumes c1", "rm --force --volumes c2", "rm --force --volumes c3"}) {
			t.Errorf("%s: %q", kind, done)
		}
		if _, err := s.Pause(true); err == nil {
			t.Errorf("%s: a session was paused", kind)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spec, _ := ParseSpec("docker-cockroach-cluster=img:1")
	_, err := spec.Begin(Ready(func(context.Context, string) error { return errors.New("refused") }))
	if err == nil || !strings.Contains(err.Error(), "node 1: ") || !strings.Contains(err.Error(), "no such flag: --join") {
		t.Errorf("a start that fails: %v", err)
	}
	if all := calls(); !slices.Equal(all[len(all)-3:], []string{"rm --force --volumes c1", "rm --force --volumes c2", "rm --force --volumes c3"}) {
		t.Errorf("left behind: %q", all)
	}
	// A node that has ended is told, although the others answer.
	os.Remove(filepath.Join(dir, "broken"))
	if err := os.WriteFile(filepath.Join(dir, "broken-c3"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"etcd", "mongo"} {
		spec, _ := ParseSpec("docker-" + kind + "-cluster=img:1")
		if _, err := spec.Begin(Ready(func(context.Context, string) error { return nil })); err == nil || !strings.Contains(err.Error(), "node 3: ") {
			t.Errorf("%s: a node has ended: %v", kind, err)
		}
		calls()
	}
	for _, text := range []string{"docker-etcd-cluster", "docker-etcd-cluster@3", "docker-redis-cluster=redis:7"} {
		if _, err := ParseSpec(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
