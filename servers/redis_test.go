package servers

import (
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

func askText(t *testing.T, s *Redis, command string, args ...any) string {
	t.Helper()
	text, err := redis.String(s.Do(command, args...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRedis: settings, a kill that loses nothing, a replica that is cut off, and takes over in a restart, too.
func TestRedis(t *testing.T) {
	here(t)
	if _, err := StartRedis(Set("no-such-directive", "1")); err == nil || !strings.Contains(err.Error(), "no-such-directive") {
		t.Errorf("an unknown setting: %v", err)
	}
	if _, err := StartRedis(Set("bind", "0.0.0.0")); err == nil {
		t.Error("the address was set")
	}
	s, err := StartRedis(Set("maxclients", "77"), Set("repl_timeout", "50"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	for name, want := range map[string]string{"maxclients": "77", "repl-timeout": "50", "appendfsync": "always", "appendonly": "yes", "save": "", "bind": "127.0.0.1"} {
		if got, err := redis.StringMap(s.Do("CONFIG", "GET", name)); err != nil || got[name] != want {
			t.Errorf("%s is %v, %v; want %s", name, got, err, want)
		}
	}
	askText(t, s, "SET", "a", "1")
	s.Kill()
	if _, err := s.Do("GET", "a"); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	r, err := s.StartReplica()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	if got := askText(t, r, "GET", "a"); got != "1" {
		t.Errorf("the replica has %s", got)
	}
	if err := r.Detach(); err != nil {
		t.Fatal(err)
	}
	askText(t, s, "SET", "a", "2")
	if err := r.Promote(); err != nil {
		t.Fatal(err)
	}
	if got := askText(t, r, "GET", "a"); got != "1" {
		t.Errorf("the cut off replica has %s", got)
	}
	resume, err := s.Pause(false)
	if err != nil {
		t.Fatal(err)
	}
	resume()
	if got := askText(t, s, "GET", "a"); got != "2" || s.Version() == "" || !strings.HasPrefix(s.DSN(), "redis://127.0.0.1:") {
		t.Errorf("%s, version %s, %s", got, s.Version(), s.DSN())
	}
	if _, err := s.Pause(true); err == nil {
		t.Error("one session was paused")
	}
}

// TestRedisSentinel: the replica becomes the primary when that one is killed, which then starts again.
func TestRedisSentinel(t *testing.T) {
	here(t)
	s, err := StartRedisSentinel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	s.Kill()
	killed := s.killed[0]
	for end := time.Now().Add(startTimeout); ; time.Sleep(50 * time.Millisecond) {
		p, err := s.Primary()
		if err == nil && p != killed {
			if info, err := p.Info("replication"); err == nil && info["role"] == "master" {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no failover after %s\n%s", startTimeout, s.Logs())
		}
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := killed.Info("server"); err != nil {
		t.Error(err)
	}
}
