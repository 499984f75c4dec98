package catalogue

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/isohound/isohound/drivers"
)

// fakeDriver can be opened at the second try, like a server that has just started.
type fakeDriver struct{ opened atomic.Int32 }

type fakeDB struct{ drivers.DB }

func (*fakeDriver) Info() drivers.Info {
	return drivers.Info{Name: "fake", Isolations: []drivers.Isolation{{Name: "serializable", Promises: "ser"}},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Endpoints}}
}

func (f *fakeDriver) Open(context.Context, drivers.Config) (drivers.DB, error) {
	if f.opened.Add(1) == 1 {
		return nil, errors.New("not yet")
	}
	return fakeDB{}, nil
}

func (fakeDB) Close(context.Context) error                            { return nil }
func (fakeDB) Create(context.Context, iter.Seq2[string, int64]) error { return nil }

var fake = &fakeDriver{}

func init() { drivers.Register(fake) }

// fakeDocker records its calls and answers like docker.
const fakeDocker = `#!/bin/sh
echo "$@" >> "$FAKE/calls"
for last; do :; done
case "$1 $2" in
"version "*) [ -z "$NO_DAEMON" ] || { echo "Cannot connect to the Docker daemon" >&2; exit 1; }; echo 27.1;;
"image "*) exit 1;;
"build "*) cat > "$FAKE/dockerfile";;
"network create") echo "net-${last##*-}";;
"create "*) while [ "$1" != --name ]; do shift; done; echo "id-${2##*-}";;
"logs "*) echo "$last is up"; while [ ! -e "$FAKE/gone-$last" ]; do sleep 0.02; done;;
"port "*) echo "127.0.0.1:49153"; echo "[::1]:49153";;
"inspect "*) case "$3" in *Running*) echo "${RUNNING-true}";; *) echo 10.0.0.7;; esac;;
"exec "*) [ -e "$FAKE/tried" ] || { touch "$FAKE/tried"; exit 1; };;
"rm "*) touch "$FAKE/gone-$last";;
esac
`

// fakeIsohound runs until docker has been called with $UNTIL, if that is set. It reports a
// violation, and the DSN that it was given.
const fakeIsohound = `#!/bin/sh
while [ -n "$UNTIL" ] && ! grep -q "$UNTIL" "$FAKE/calls"; do sleep 0.02; done
echo "$ISOHOUND_DSN" > "$FAKE/dsn"
echo "$@" > "$FAKE/args"
echo '{"path":"h","level":"ser","verdict":"violated","engine":"linear","anomalies":[{"name":"WriteSkew","names":["WriteSkew","G2-item"]}]}'
exit 1
`

// faked installs the two programs where they are found.
func faked(t *testing.T) (dir, isohound string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"docker": fakeDocker, "isohound": fakeIsohound} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FAKE", dir)
	fake.opened.Store(0)
	return dir, filepath.Join(dir, "isohound")
}

var clusterText = strings.NewReplacer("{kind: embedded}", `
  kind: docker
  image: fake:1.2
  dockerfile: FROM scratch
  containers:
    - {name: n1, env: {B: "2", A: "1"}, command: [serve, --first], port: 77, dsn: "fake://{addr}/x"}
    - {name: n2, command: [serve], dsn: "fake://{ip:n2}:77/y"}
  setup:
    - {node: n1, exec: [join, "{ip:n2}"]}
  disturb:
    - {at: 0s, for: 1ms, action: disconnect, node: n2}`, "badger", "fake", "satisfied}", "violated, anomaly: WriteSkew}").Replace(good)

// calls returns the calls of docker, without random names.
func calls(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(regexp.MustCompile(`isohound-[0-9a-f]{8}`).ReplaceAllString(regexp.MustCompile(` --label=\S+`).ReplaceAllString(string(b), ""), "R")), "\n")
}

// TestDocker: a cluster is started, waited for, disturbed and removed, and its
// logs are kept.
func TestDocker(t *testing.T) {
	dir, isohound := faked(t)
	t.Setenv("UNTIL", "^network disconnect")
	c, err := Load(files(map[string]string{"a.yaml": clusterText}))
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	r := &Runner{Command: isohound, Out: out}
	var held []string
	r.Holds = func(what string) { held = append(held, what) }
	res := r.Run(context.Background(), c.Scenarios)[0]
	if res.Status != Met || res.Tries != 1 {
		t.Fatalf("%+v", res)
	}
	got := calls(t, dir)
	for _, want := range []string{
		"version --format {{.Server.Version}}",
		"image inspect fake:1.2",
		"build --tag fake:1.2 -",
		"network create --internal R-nodes",
		"create --rm --name R-n1 --network R-nodes --network-alias n1 --publish 127.0.0.1::77 --env A=1 --env B=2 fake:1.2 serve --first",
		"network connect bridge id-n1",
		"start id-n1",
		"create --rm --name R-n2 --network R-nodes --network-alias n2 fake:1.2 serve",
		"exec id-n1 join 10.0.0.7",
		"port id-n1 77/tcp",
		"network disconnect R-nodes id-n2",
		"network connect --alias n2 R-nodes id-n2",
		"rm --force --volumes id-n2",
		"rm --force --volumes id-n1",
		"network rm net-nodes",
	} {
		n := slices.Index(got, want)
		if n < 0 {
			t.Fatalf("not called, or too early: docker %s\n%s", want, strings.Join(calls(t, dir), "\n"))
		}
		if !strings.HasPrefix(want, "network") {
			got = got[n:]
		}
	}
	read := func(path ...string) string {
		b, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(string(b))
	}
	if dsn := read(dir, "dsn"); dsn != "fake://127.0.0.1:49153/x\nfake://10.0.0.7:77/y" {
		t.Errorf("endpoints %q", dsn)
	}
	if args := read(dir, "args"); strings.Contains(args, "--dsn") || !strings.Contains(args, "--check ser --out "+filepath.Join(out, "a")) {
		t.Errorf("arguments %s", args)
	}
	if log := read(out, "a", "servers", "n1.log"); log != "id-n1 is up" || read(dir, "dockerfile") != "FROM scratch" {
		t.Errorf("log %q", log)
	}
	if len(held) != 2 || !strings.HasPrefix(held[0], "containers isohound-") || held[1] != "" {
		t.Errorf("held: %q", held)
	}
}

// TestDockerFails: the log of a container that ends is reported, and what was created is
// removed. Without docker the state says so.
func TestDockerFails(t *testing.T) {
	dir, isohound := faked(t)
	c, err := Load(files(map[string]string{"a.yaml": clusterText}))
	if err != nil {
		t.Fatal(err)
	}
	run := func() Result {
		return (&Runner{Command: isohound, Out: t.TempDir()}).Run(context.Background(), c.Scenarios)[0]
	}
	t.Setenv("RUNNING", "false")
	res := run()
	if res.Status != Failed || res.Code != codeUnavailable || !strings.Contains(res.Reason, "has ended") {
		t.Errorf("%+v", res)
	}
	for _, want := range []string{"rm --force --volumes id-n1", "rm --force --volumes id-n2", "network rm net-nodes"} {
		if !slices.Contains(calls(t, dir), want) {
			t.Errorf("not called: docker %s", want)
		}
	}
	t.Setenv("NO_DAEMON", "1")
	if res := run(); res.Status != NotRun || !strings.Contains(res.Reason, "needs docker: ") || !strings.Contains(res.Reason, "Cannot connect") {
		t.Errorf("%+v", res)
	}
	t.Setenv("PATH", t.TempDir())
	if res := run(); res.Status != NotRun || !strings.Contains(res.Reason, "needs docker: there is no program docker here") {
		t.Errorf("%+v", res)
	}
}
