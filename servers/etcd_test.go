package servers

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestEtcd: settings, and a server that has its data after a crash.
func TestEtcd(t *testing.T) {
	here(t)
	t.Setenv("ETCD_NAME", "another") // etcd would end because of it
	if _, err := StartEtcd(Set("no-such-flag", "1")); err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("an unknown setting: %v", err)
	}
	if _, err := StartEtcd(Set("data-dir", "/tmp")); err == nil || !strings.Contains(err.Error(), "keeps the server private") {
		t.Errorf("the folder was set: %v", err)
	}
	s, err := StartEtcd(Set("snapshot_count", "777"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if !strings.Contains(s.Logs(), "snapshot-count=777") && !strings.Contains(s.Logs(), "snapshot count = 777") {
		t.Errorf("the setting is not in the log: %s", s.Logs())
	}
	put(t, s, "a", "kept")
	s.Kill()
	if _, err := get(t.Context(), s.port, "/health"); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if got := valueOf(t, s, "a"); got != "kept" {
		t.Errorf("after the crash: %q", got)
	}
	if _, err := s.Pause(true); err == nil || !strings.Contains(err.Error(), "pause the whole server instead") {
		t.Error(err)
	}
}

// TestEtcdCluster: nodes are killed in turn, the others go on, and the killed one has what it missed.
func TestEtcdCluster(t *testing.T) {
	here(t)
	spec, err := ParseSpec("etcd-cluster")
	if err != nil {
		t.Fatal(err)
	}
	server, err := spec.Begin(Set("heartbeat_interval", "30"), Set("election_timeout", "300")) // elections are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	s := server.(*etcdCluster)
	if n := len(strings.Split(s.DSN(), ",")); n != etcdNodes {
		t.Errorf("the DSN has %d addresses: %s", n, s.DSN())
	}
	for n, node := range s.all {
		server.Kill()
		if node.running() {
			t.Errorf("node %d runs", n)
		}
		alive, text := s.all[(n+1)%etcdNodes], strings.Repeat("x", n+1)
		put(t, alive, "a", text)
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		if got := valueOf(t, node, "a"); got != text {
			t.Errorf("node %d returns %q, want %q", n, got, text)
		}
	}
	resume, err := server.Pause(false)
	if err != nil {
		t.Fatal(err)
	}
	resume()
}

// request asks a server by its JSON gateway, in which keys and values are in base64. It asks again as long as the nodes have
// no leader.
func request(t *testing.T, s *Etcd, path string, body map[string][]byte) []byte {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(startTimeout); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Post(s.DSN()+path, "application/json", bytes.NewReader(text))
		answer, err := read(resp, err)
		if err == nil {
			return answer
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
}

func put(t *testing.T, s *Etcd, key, value string) {
	t.Helper()
	request(t, s, "/v3/kv/put", map[string][]byte{"key": []byte(key), "value": []byte(value)})
}

func valueOf(t *testing.T, s *Etcd, key string) string {
	t.Helper()
	var got struct{ Kvs []struct{ Value []byte } }
	if err := json.Unmarshal(request(t, s, "/v3/kv/range", map[string][]byte{"key": []byte(key)}), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) == 0 {
		return ""
	}
	return string(got.Kvs[0].Value)
}
