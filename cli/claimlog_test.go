//go:build !front

package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/servers"
)

// commitsOf reads the commits of a slot as psql -At prints them.
func commitsOf(t *testing.T, c *pgx.Conn, slot string) string {
	t.Helper()
	rows, err := c.Query(t.Context(), "SELECT lsn::text || '|' || xid::text || '|' || data FROM pg_logical_slot_get_changes($1, NULL, NULL) WHERE data LIKE 'COMMIT%'", slot)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestClaimsFromLog: the commits of a logical replication slot of PostgreSQL are joined to the history of a run. All
// transactions that wrote are in it, the database keeps its promise with the order of versions assumed, and with a
// wrong order it does not.
func TestClaimsFromLog(t *testing.T) {
	pg, err := servers.StartPostgres(servers.Set("wal_level", "logical"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	c, err := pgx.Connect(t.Context(), pg.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	const slot = "isohound_test"
	if _, err := c.Exec(t.Context(), "SELECT pg_create_logical_replication_slot($1, 'test_decoding')", slot); err != nil {
		t.Fatal(err)
	}
	for isolation, lvl := range map[string]string{"serializable": "ser", "repeatable read": "si"} {
		dir := filepath.Join(t.TempDir(), "run")
		run := isohound(t, "run", "--driver", "postgres", "--dsn", pg.DSN(), "--isolation", isolation, "--workload", "general", "--check", lvl,
			"--sessions", "8", "--txns", "100", "--seed", "3", "--out", dir, "--no-progress", "--plain")
		if run.code != 0 {
			t.Fatalf("%s: exit code %d: %s%s", isolation, run.code, run.out, run.msg)
		}
		log, whole, joined := filepath.Join(dir, "commits.txt"), filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "claimed.jsonl.zst")
		text := commitsOf(t, c, slot)
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		conv := isohound(t, "convert", whole, joined, "--claims", log)
		var found, all int
		if _, at, _ := strings.Cut(conv.msg, "the positions of "); conv.code == 0 {
			fmt.Sscanf(at, "%d of %d", &found, &all)
		}
		if found == 0 || found != all {
			t.Errorf("%s: exit code %d: %s", isolation, conv.code, conv.msg)
		}
		for _, versions := range []string{"hint", "assume"} {
			check := isohound(t, "check", joined, "--level", lvl, "--versions", versions, "--engine", "polygraph", "--certify", "--json")
			if o := check.outcomes(t); check.code != 0 || len(o) != 1 || o[0].Verdict != verdict.Satisfied || versions == "assume" && (o[0].Assumes.Placed != o[0].Assumes.Versions || o[0].Assumes.Positions != "commit LSNs") {
				t.Errorf("%s, %s: %+v %s", isolation, versions, o, check.msg)
			}
		}
		// The same positions in the opposite order.
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, line := range lines {
			_, rest, _ := strings.Cut(line, "|")
			lines[i] = fmt.Sprintf("0/%X|%s", 1000-i, rest)
		}
		if err := os.WriteFile(log, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		wrong := filepath.Join(dir, "wrong.jsonl")
		if conv := isohound(t, "convert", whole, wrong, "--claims", log); conv.code != 0 {
			t.Fatal(conv.msg)
		}
		check := isohound(t, "check", wrong, "--level", lvl, "--versions", "assume", "--json", "--certify")
		if o := check.outcomes(t); len(o) != 1 || o[0].Verdict != verdict.Violated || !o[0].Assumes.Rests {
			t.Errorf("%s: the opposite order is %+v %s", isolation, o, check.msg)
		}
		if conv := isohound(t, "convert", joined, filepath.Join(dir, "twice.jsonl"), "--claims", log); conv.code != int(exitData) || !strings.Contains(conv.msg, "positions already") {
			t.Errorf("exit code %d: %s", conv.code, conv.msg)
		}
	}
	if conv := isohound(t, "convert", write(t, "plain.txt", fine), filepath.Join(t.TempDir(), "x.jsonl"), "--claims", write(t, "log.txt", "nonsense")); conv.code != int(exitData) || !strings.Contains(conv.msg, "psql -At") {
		t.Errorf("exit code %d: %s", conv.code, conv.msg)
	}
}

// TestClaimsLogOfWindows: in a run in windows each window gets its positions when it is complete, before it is judged. That goes on
// after a kill of isohound, and after one of the server, with which the slot is lost.
func TestClaimsLogOfWindows(t *testing.T) {
	pg, err := servers.StartPostgres(servers.Set("wal_level", "logical"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	dir := filepath.Join(t.TempDir(), "run")
	windowsKilled(t, rand.New(rand.NewPCG(1, 1)), "ser", dir, "run", "--driver", "postgres", "--dsn", pg.DSN(), "--isolation", "serializable", "--workload", "general", "--check", "ser",
		"--versions", "assume", "--claims", "log", "--sessions", "6", "--duration", "1m", "--cut-every", "300ms", "--keep", "all", "--out", dir, "--no-progress")
	files := func() []string {
		t.Helper()
		all, err := results.WindowFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	killed := len(files()) // the last one is not complete
	_, _, wait := begin(t, "run", "--resume", dir, "--dsn", pg.DSN(), "--duration", "9s", "--no-progress")
	for deadline := time.Now().Add(time.Minute); len(files()) < killed+3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no more windows")
		}
	}
	pg.Kill()
	if err := again(pg.Start); err != nil {
		t.Fatal(err)
	}
	c := wait()
	if c.code != 0 || !strings.Contains(c.out, "ser satisfied") || !strings.Contains(c.out, "(commit LSNs)") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if !strings.Contains(c.msg, "the order of the commits is not recorded: ") || !strings.Contains(c.msg, "the log has the positions of ") {
		t.Errorf("it does not tell what is recorded: %s", c.msg)
	}
	var without []int // windows that lack positions
	for i, path := range files() {
		h := load(t, path)
		for n := range h.Txns {
			if slices.ContainsFunc(h.Ops(&h.Txns[n]), func(op history.Op) bool { return op.Kind == history.Write }) && h.Txns[n].Status == history.Committed && h.Claim(n).Commit == 0 {
				without = append(without, i+1)
				break
			}
		}
	}
	// The one in which isohound was killed, and the one in which the server was, after which a slot is made as soon as there can be one.
	if len(without) == 0 || len(without) > 4 || without[0] < killed || without[len(without)-1] == len(files()) {
		t.Errorf("of %d windows, killed in %d, these lack positions: %v\n%s", len(files()), killed, without, c.msg)
	}
}

// TestClaimsLog: --claims log reads the order of commits from a slot after the run. All transactions that wrote are in it.
// Where the server does not allow it the remedy is said, and with --claims require it is an error. No slot is left behind,
// also if the run is killed.
func TestClaimsLog(t *testing.T) {
	pg, err := servers.StartPostgres(servers.Set("wal_level", "logical"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	slots := func() (n int) {
		t.Helper()
		if err := pg.Admin(func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, "SELECT count(*) FROM pg_replication_slots").Scan(&n)
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	run := func(dsn, isolation, lvl string, args ...string) call {
		return isohound(t, append([]string{"run", "--driver", "postgres", "--dsn", dsn, "--isolation", isolation, "--workload", "general", "--check", lvl, "--sessions", "6", "--txns", "60",
			"--seed", "3", "--no-progress", "--plain", "--out", filepath.Join(t.TempDir(), "run")}, args...)...)
	}
	for _, tc := range []struct{ isolation, level, claims string }{{"serializable", "ser", "log"}, {"repeatable read", "si", "require"}} {
		c := run(pg.DSN(), tc.isolation, tc.level, "--claims", tc.claims, "--versions", "assume")
		_, at, _ := strings.Cut(c.msg, "the positions of ")
		var found, all int
		fmt.Sscanf(at, "%d of %d", &found, &all)
		if c.code != 0 || found == 0 || found != all || !strings.Contains(c.out, "an execution keeps the order of versions that the database claims (commit LSNs)") || !strings.Contains(c.msg, "--claims "+tc.claims) {
			t.Errorf("%+v: exit code %d: %s%s", tc, c.code, c.out, c.msg)
		}
	}
	if n := slots(); n != 0 {
		t.Errorf("%d slots are left", n)
	}
	dir := filepath.Join(t.TempDir(), "killed")
	p, _, wait := begin(t, "run", "--driver", "postgres", "--dsn", pg.DSN(), "--isolation", "serializable", "--duration", "1m", "--claims", "log", "--out", dir, "--no-progress", "--plain")
	waitForSize(t, filepath.Join(dir, "history.jsonl"), 4<<10)
	if n := slots(); n != 1 {
		t.Errorf("%d slots during the run", n)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait()
	for deadline := time.Now().Add(time.Minute); slots() != 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a slot is left behind")
		}
	}
	low := postgresDSN(t) // wal_level is replica
	if c := run(low, "serializable", "ser", "--claims", "log"); c.code != 0 || !strings.Contains(c.msg, "not recorded: wal_level is replica; with wal_level = logical") || !strings.Contains(c.out, "ser satisfied") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if c := run(low, "serializable", "ser", "--claims", "require"); c.code != int(exitUsage) || !strings.Contains(c.msg, "wal_level = logical") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	for want, args := range map[string][]string{
		"use isohound run":                     {"gen", "--driver", "postgres", "--dsn", low, "--claims", "log", "--history", "-"},
		"driver badger has no log":             {"run", "--driver", "badger", "--claims", "log"},
		"order of commits of one server; give": {"run", "--driver", "postgres", "--dsn", low, "--dsn", low, "--claims", "log"},
	} {
		if c := isohound(t, args...); c.code != int(exitUsage) || !strings.Contains(c.msg, want) {
			t.Errorf("%v: exit code %d: %s", args, c.code, c.msg)
		}
	}
}

// TestCommitOrderIsNoSerialOrder: the example in docs/claims.md of why the order of PostgreSQL's commits is only a hint.
// Two serializable transactions commit in an order that is no serial one.
func TestCommitOrderIsNoSerialOrder(t *testing.T) {
	pg, err := servers.StartPostgres(servers.Set("wal_level", "logical"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	var conns [2]*pgx.Conn
	for i := range conns {
		if conns[i], err = pgx.Connect(t.Context(), pg.DSN()); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close(context.Background())
	}
	exec := func(i int, sql string) {
		t.Helper()
		if _, err := conns[i].Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	number := func(i int) (id int64) {
		t.Helper()
		if err := conns[i].QueryRow(t.Context(), "SELECT txid_current()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	exec(0, "CREATE TABLE kv (k text PRIMARY KEY, v int)")
	exec(0, "INSERT INTO kv VALUES ('x', 0), ('y', 0)")
	exec(0, "SELECT pg_create_logical_replication_slot('isohound_test', 'test_decoding')")
	exec(0, "BEGIN ISOLATION LEVEL SERIALIZABLE")
	var x int
	if err := conns[0].QueryRow(t.Context(), "SELECT v FROM kv WHERE k = 'x'").Scan(&x); err != nil {
		t.Fatal(err)
	}
	exec(1, "BEGIN ISOLATION LEVEL SERIALIZABLE")
	exec(1, "UPDATE kv SET v = 1 WHERE k = 'x'")
	second := number(1)
	exec(1, "COMMIT")
	exec(0, "UPDATE kv SET v = 1 WHERE k = 'y'")
	first := number(0)
	exec(0, "COMMIT")
	log := commitsOf(t, conns[1], "isohound_test")
	history := fmt.Sprintf(`{"isohound":1,"initial":0}
{"txn":0,"session":0,"dbtxn":%d,"status":"committed","ops":[["r","x",%d],["w","y",1]]}
{"txn":1,"session":1,"dbtxn":%d,"status":"committed","ops":[["w","x",1]]}
{"closed":{"reason":"complete","txns":2}}
`, first, x, second)
	out := filepath.Join(t.TempDir(), "claimed.jsonl")
	if conv := isohound(t, "convert", write(t, "h.jsonl", history), out, "--claims", write(t, "log.txt", log)); conv.code != 0 || !strings.Contains(conv.msg, "2 of 2") {
		t.Fatalf("%s\n%s", conv.msg, log)
	}
	check := isohound(t, "check", out, "--level", "ser", "--certify")
	if check.code != 0 || !strings.Contains(check.out, "ser satisfied") || !strings.Contains(check.out, "is no execution at ser") {
		t.Errorf("exit code %d: %s%s", check.code, check.out, check.msg)
	}
}
