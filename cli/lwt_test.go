package cli

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/servers"
)

// TestLightweight runs lwt on each engine: by default the promise for lightweight transactions
// is checked, whatever the isolation promises for others.
func TestLightweight(t *testing.T) {
	for _, tc := range []struct {
		name, isolation, level string
		dsn                    func(*testing.T) string
		more                   []string
		want                   verdict.Verdict
	}{
		{"badger", "serializable", "lin", nil, nil, verdict.Satisfied},
		{"badger", "serializable", "ser", nil, []string{"-p", "as=transaction"}, verdict.Satisfied},
		{"badger", "DetectConflicts=false", "lin", nil, []string{"--check", "lin", "--keys", "2"}, verdict.Violated},
		{"postgres", "serializable", "lin", postgresDSN, nil, verdict.Satisfied},
		{"postgres", "read committed", "lin", postgresDSN, nil, verdict.Satisfied},
		{"mariadb", "serializable", "lin", mariadbDSN, nil, verdict.Satisfied},
		{"mariadb", "repeatable read", "lin", mariadbDSN, []string{"-p", "birth=5", "--dist", "latest"}, verdict.Satisfied},
	} {
		t.Run(tc.name+" "+tc.isolation+strings.Join(tc.more, " "), func(t *testing.T) {
			args := []string{"run", "--driver", tc.name, "--isolation", tc.isolation, "--workload", "lwt", "--txns", "300",
				"--out", filepath.Join(t.TempDir(), "run"), "--json", "--no-progress"}
			if tc.dsn != nil {
				args = append(args, "--dsn", tc.dsn(t))
			}
			c := isohound(t, append(args, tc.more...)...)
			t.Log(c.msg)
			all := c.outcomes(t)
			if len(all) != 1 {
				t.Fatalf("%d outcomes: %s", len(all), c.out)
			}
			if o := all[0]; o.Level != tc.level || o.Verdict != tc.want || !o.Certified || o.Committed < 5000 {
				t.Errorf("%s %s (%s), certified %v, %d committed", o.Level, o.Verdict, o.Reason, o.Certified, o.Committed)
			}
			if code := int(codeOf(tc.want)); c.code != code {
				t.Errorf("exit code %d, want %d", c.code, code)
			}
		})
	}
}

// TestLightweightRefusals: each mistake gives one clear line.
func TestLightweightRefusals(t *testing.T) {
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run", "--workload", "lwt", "-p", "chain=0"}, 64, "-p chain=0: expected a whole number, at least 1"},
		{[]string{"synth"}, 64, "synth lwt, mini or general"},
		{[]string{"synth", "lwt"}, 64, "synth needs -o"},
		{[]string{"synth", "lwt", "-o", "-", "--sessions", "0"}, 64, "must be at least 1"},
		{[]string{"synth", "lwt", "-o", "-", "--txns", "100000000"}, 64, "at most 100000000 transactions"},
		{[]string{"synth", "lwt", "-o", "-", "--concurrent", "200%"}, 64, "--concurrent 200%: expected a percentage"},
		{[]string{"synth", "general", "-o", "-", "--reads", "0.5"}, 64, "--reads 0.5: expected a percentage with its sign, 50% or 0.5%"},
		{[]string{"run", "-p", "rollback=0.01"}, 64, "-p rollback=0.01: expected a percentage with its sign, 1% or 0.01%"},
		{[]string{"synth", "lwt", "-o", "-", "--defect", "x"}, 64, `--defect: unknown defect "x"; known are none, stale-read`},
		{[]string{"synth", "lwt", "-o", "-", "--defect", "inversion", "--sessions", "1", "--txns", "1"}, 64, "too few for the defect inversion"},
		{[]string{"synth", "general", "-o", "-", "--ops", "0"}, 64, "--ops must be from 1"},
		{[]string{"synth", "lwt", "-o", "/proc/isohound"}, 74, "/proc/isohound"},
	} {
		c := isohound(t, tc.args...)
		if c.code != tc.code || !strings.Contains(c.msg, tc.want) || strings.Count(c.msg, "\n") != 1 {
			t.Errorf("%v: exit code %d, want %d\n%s", tc.args, c.code, tc.code, c.msg)
		}
	}
}

// TestSynth: generated histories can be judged, are as requested, and are the same for the same
// seed.
func TestSynth(t *testing.T) {
	dir := t.TempDir()
	for n, tc := range []struct {
		args, level string
		code        int
		txns        int
	}{
		{"lwt --sessions 8 --txns 50", "lin", 0, 400},
		{"lwt --sessions 8 --txns 50 --defect stale-read", "lin", 1, 400},
		{"lwt --sessions 8 --txns 50 --defect false-failure --concurrent 25%", "lin", 1, 400},
		{"mini --sessions 5 --txns 40", "sser", 0, 200},
		{"mini --sessions 20 --txns 100 --keys 5 --snapshot", "ser", 1, 2000},
		{"mini --sessions 20 --txns 100 --keys 5 --snapshot", "si", 0, 2000},
		{"general --sessions 5 --txns 40 --ops 4 --reads 70% --duplicates 20%", "ser", 0, 200},
		{"general --sessions 5 --txns 40 --keys 10 --snapshot", "si", 0, 200},
	} {
		path := filepath.Join(dir, string(rune('a'+n))+".jsonl.zst")
		args := append([]string{"synth"}, strings.Fields(tc.args)...)
		if c := isohound(t, append(args, "-o", path)...); c.code != 0 || c.msg != "" {
			t.Fatalf("%s: exit code %d\n%s", tc.args, c.code, c.msg)
		}
		if c := isohound(t, "check", path, "--level", tc.level, "--certify"); c.code != tc.code {
			t.Errorf("%s: exit code %d, want %d\n%s%s", tc.args, c.code, tc.code, c.out, c.msg)
		}
		if h := load(t, path); len(h.Txns) != tc.txns || !h.Closed {
			t.Errorf("%s: %d transactions, closed %v", tc.args, len(h.Txns), h.Closed)
		}
		one, two := isohound(t, append(args, "-o", "-")...), isohound(t, append(args, "-o", "-")...)
		other := isohound(t, append(args, "-o", "-", "--seed", "2")...)
		if one.out != two.out || one.out == other.out {
			t.Errorf("%s: the history does not depend on its seed alone", tc.args)
		}
	}
	if c := isohound(t, "synth", "lwt", "-o", filepath.Join(dir, "a.jsonl.zst")); c.code != 74 || !strings.Contains(c.msg, "not overwritten") {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
	if c := isohound(t, "synth", "lwt", "--sessions", "2", "--txns", "2", "-o", filepath.Join(dir, "h.edn")); c.code != 0 || !strings.Contains(c.msg, "in the format native") {
		t.Errorf("exit code %d\n%s", c.code, c.msg)
	}
}

// TestLightweightCut cuts connections just before and just after the server receives a
// compare-and-set: the outcomes are unknown. Some were applied and are read by others. No
// violation is reported.
func TestLightweightCut(t *testing.T) {
	for name, dsn := range map[string]string{"postgres": postgresDSN(t), "mariadb": mariadbDSN(t)} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(dsn)
			if err != nil {
				t.Fatal(err)
			}
			proxy := newCutter(t, u.Host, "UPDATE kv SET", 20)
			u.Host = proxy.addr()
			if name == "postgres" {
				u.RawQuery = "sslmode=disable&default_query_exec_mode=exec" // sends the text of each statement, so that the proxy can recognise it
			}
			out := filepath.Join(t.TempDir(), "run")
			c := isohound(t, "run", "--workload", "lwt", "--driver", name, "--dsn", u.String(),
				"--txns", "200", "--out", out, "--json", "--no-progress", "--call-timeout", "3s")
			t.Log(c.msg)
			if c.code != 0 {
				t.Errorf("exit code %d\n%s", c.code, c.out)
			}
			h := load(t, filepath.Join(out, "history.jsonl.zst"))
			n := h.Count()
			t.Logf("%d cut before, %d after the statement: %+v", proxy.cutBefore, proxy.cutAfter, n)
			if proxy.cutBefore < 10 || proxy.cutAfter < 10 || n.Unknown != proxy.cutBefore+proxy.cutAfter {
				t.Error("not every cut is a transaction of unknown outcome")
			}
			for s, txns := range h.BySession() {
				for _, i := range txns[:len(txns)-1] {
					if h.Txns[i].Status == history.Unknown {
						t.Errorf("session %d goes on after transaction %d", s, h.Txns[i].ID)
					}
				}
			}
			read := map[history.Value]bool{}
			for i := range h.Txns {
				if ops := h.Ops(&h.Txns[i]); len(ops) > 0 && ops[0].Kind == history.Read {
					read[ops[0].Value] = true
				}
			}
			applied := 0
			for i := range h.Txns {
				if ops := h.Ops(&h.Txns[i]); h.Txns[i].Status == history.Unknown && read[ops[len(ops)-1].Value] {
					applied++
				}
			}
			if applied == 0 || applied > proxy.cutAfter {
				t.Errorf("%d transactions of unknown outcome were read from", applied)
			}
		})
	}
}

// TestLightweightServerKilled kills the server during a run and starts it again. No acknowledged
// write is lost. On PostgreSQL, nothing that was read is lost either. InnoDB shows a commit to
// readers before it is durable, so values read just before the crash may be lost. Without
// read-only transactions the history must be linearizable there too, because the log keeps the
// order of commits.
func TestLightweightServerKilled(t *testing.T) {
	t.Parallel() // it waits for servers of its own
	pg, err := servers.StartPostgres()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	ma, err := servers.StartMariaDB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ma.Stop)
	for _, tc := range []struct {
		name, dsn string
		kill      func()
		start     func() error
		durable   bool // values that were read are durable
	}{
		{"postgres", pg.DSN(), pg.Kill, pg.Start, true},
		{"mariadb", ma.DSN(), ma.Kill, ma.Start, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			_, _, wait := begin(t, "run", "--workload", "lwt", "--driver", tc.name, "--dsn", tc.dsn,
				"--duration", "7s", "--out", out, "--json", "--no-progress")
			waitForSize(t, filepath.Join(out, "history.jsonl.zst"), 64<<10)
			tc.kill()
			time.Sleep(300 * time.Millisecond)
			if err := again(tc.start); err != nil {
				t.Fatal(err)
			}
			c := wait()
			t.Log(c.msg)
			for _, o := range c.outcomes(t) {
				t.Log("all transactions:", o.Verdict)
				if o.Level != "lin" || !o.Certified || o.Sessions <= 20 || tc.durable && o.Verdict != verdict.Satisfied {
					t.Errorf("%s %s (%s), certified %v, %d sessions\n%s", o.Level, o.Verdict, o.Reason, o.Certified, o.Sessions, c.out)
				}
			}
			h := writers(load(t, filepath.Join(out, "history.jsonl.zst")))
			r, err := checker.Check(context.Background(), h, level.LIN, checker.Options{Certify: true})
			if err != nil || r.Verdict != verdict.Satisfied || len(h.Txns) < 200 {
				t.Errorf("of %d transactions that wrote: %+v, %v", len(h.Txns), r, err)
			}
		})
	}
}

// writers returns a history without the read-only transactions.
func writers(h *history.History) *history.History {
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		if !writes(h, &h.Txns[i]) {
			continue
		}
		rec := h.Record(i)
		if err := b.Add(&rec); err != nil {
			panic(err) // the records come from a valid history
		}
	}
	return b.Done(h.Closed, nil)
}
