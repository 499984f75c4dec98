package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/servers"
)

// TestSnapshots: the snapshots that sim tells as sets agree with what was read; lies about them are found and change no
// verdict, and a protection that is off shows. The text, the JSON and the report say it; conversion and windows keep the
// snapshots.
func TestSnapshots(t *testing.T) {
	for _, isolation := range []string{"snapshot isolation", "serializable snapshot isolation", "snapshot isolation, replicas"} {
		for _, workload := range []string{"general", "scan"} {
			c := isohound(t, "run", "--driver", "sim", "--isolation", isolation, "--workload", workload, "--check", "si", "--sessions", "8", "--txns", "100", "--seed", "3", "--json", "--quiet")
			o := c.outcomes(t)
			if c.code != 0 || len(o) != 1 || o[0].Snapshots == nil || o[0].Snapshots.Wrong != 0 || o[0].Snapshots.Reads < 500 || o[0].Snapshots.Txns < 800 {
				t.Fatalf("%s, %s: exit code %d: %+v %s", isolation, workload, c.code, o, c.msg)
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	c := isohound(t, "run", "--driver", "sim", "--dsn", "sim://?lies=0.3", "--isolation", "snapshot isolation", "--workload", "general", "--keys", "50", "--check", "si", "--sessions", "10", "--txns", "100",
		"--seed", "3", "--out", dir, "--plain", "--no-progress")
	const words = "do not agree with them, of "
	if c.code != 0 || !strings.Contains(c.out, "si satisfied") || !strings.Contains(c.out, words) || !strings.Contains(c.out, "used snapshot ") {
		t.Errorf("exit code %d: %s%s", c.code, c.out, c.msg)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil || !strings.Contains(string(page), words) {
		t.Errorf("the report does not say it: %v", err)
	}
	whole := filepath.Join(dir, "history.jsonl")
	var wrong int
	for _, to := range [][]string{{"again.jsonl.zst"}, {"full.jsonl", "--in-full"}, {"h.txt", "--to", "dsl"}} {
		out := filepath.Join(dir, to[0])
		if c := isohound(t, append([]string{"convert", whole, out}, to[1:]...)...); c.code != 0 {
			t.Fatal(c.msg)
		}
		o := isohound(t, "check", out, "--level", "si", "--json").outcomes(t)
		if len(o) != 1 || o[0].Snapshots == nil || o[0].Snapshots.Wrong == 0 || wrong != 0 && o[0].Snapshots.Wrong != wrong || len(o[0].Snapshots.Finds) == 0 || o[0].Snapshots.Finds[0].Txn == 0 {
			t.Fatalf("%s: %+v", to, o)
		}
		wrong = o[0].Snapshots.Wrong
	}
	if c := isohound(t, "convert", whole, filepath.Join(dir, "h.edn"), "--lossy"); !strings.Contains(c.msg, "the order that the database claims is left out") {
		t.Errorf("exit code %d: %s", c.code, c.msg)
	}
	if o := isohound(t, "check", whole, "--level", "si", "--json", "--versions", "ignore").outcomes(t); len(o) != 1 || o[0].Snapshots != nil {
		t.Errorf("they were not ignored: %+v", o)
	}
	off := filepath.Join(t.TempDir(), "off")
	c = isohound(t, "run", "--driver", "sim", "--isolation", "snapshot isolation", "--claims", "off", "--sessions", "4", "--txns", "20", "--out", off, "--plain", "--no-progress")
	if text, err := os.ReadFile(filepath.Join(off, "history.jsonl")); err != nil || strings.Contains(string(text), `"visible"`) {
		t.Errorf("--claims off: exit code %d, %v", c.code, err)
	}
	broken := isohound(t, "run", "--driver", "sim", "--dsn", "sim://?off=monotonic-reads", "--isolation", "snapshot isolation", "--workload", "general", "--check", "si", "--sessions", "8", "--txns", "100", "--seed", "3", "--json", "--quiet", "--out", "")
	if o := broken.outcomes(t); len(o) != 1 || o[0].Verdict != verdict.Violated || o[0].Snapshots.Wrong == 0 {
		t.Errorf("%+v %s", o, broken.msg)
	}
	windows := isohound(t, "run", "--driver", "sim", "--isolation", "snapshot isolation", "--workload", "general", "--check", "si", "--sessions", "6", "--duration", "3s", "--rate", "300", "--cut-every", "1s", "--json", "--quiet", "--out", filepath.Join(t.TempDir(), "w"))
	if o := windows.outcomes(t); len(o) != 1 || o[0].Windows == nil || o[0].Snapshots == nil || o[0].Snapshots.Wrong != 0 || o[0].Snapshots.Txns < o[0].Committed/2 {
		t.Errorf("%+v %s", o, windows.msg)
	}
}

// TestSnapshotsOfPostgres: at repeatable read and serializable all reads agree with the snapshots that PostgreSQL tells,
// also with the order of the commits from a slot, and with paused backends. Snapshots that were changed after the run are
// found. ISOHOUND_SNAPSHOT_TXNS sets how many transactions there are for each isolation and workload; the rate is
// not limited.
func TestSnapshotsOfPostgres(t *testing.T) {
	txns := 400
	if text := os.Getenv("ISOHOUND_SNAPSHOT_TXNS"); text != "" {
		var err error
		if txns, err = strconv.Atoi(text); err != nil || txns < 100 {
			t.Fatalf("ISOHOUND_SNAPSHOT_TXNS=%s", text)
		}
	}
	pg, err := servers.StartPostgres(servers.Set("wal_level", "logical"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pg.Stop)
	for n, tc := range []struct{ isolation, workload, level, claims string }{
		{"serializable", "general", "ser", "log"}, {"repeatable read", "general", "si", "log"}, {"serializable", "scan", "ser", "auto"}, {"repeatable read", "mini", "si", "auto"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		c := isohound(t, "run", "--driver", "postgres", "--dsn", pg.DSN(), "--isolation", tc.isolation, "--workload", tc.workload, "--check", tc.level, "--claims", tc.claims,
			"--sessions", "8", "--txns", strconv.Itoa(txns/8), "--seed", strconv.Itoa(n+1), "--out", dir, "--no-progress", "--plain", "--json")
		o := c.outcomes(t)
		if len(o) != 1 || o[0].Snapshots == nil {
			t.Fatalf("%+v: exit code %d: %+v %s", tc, c.code, o, c.msg)
		}
		s := o[0].Snapshots
		t.Logf("%+v: %s, %s", tc, o[0].Verdict, s.Words())
		if c.code != 0 || o[0].Verdict != verdict.Satisfied || s.Wrong != 0 || s.Txns < txns*9/10 || s.Reads < txns/2 || s.Left > s.Reads/10 {
			t.Errorf("%+v: exit code %d: %+v %s", tc, c.code, o[0], s.Words())
		}
		if tc.level == "si" && tc.workload == "general" && (o[0].Engine != "replay" || o[0].Claim == nil || !o[0].Claim.Fits || o[0].Claim.Positions != "snapshots") {
			t.Errorf("%+v: by %s, claim %+v", tc, o[0].Engine, o[0].Claim)
		}
		corrupted := filepath.Join(dir, "corrupted.jsonl")
		changed := corrupt(t, filepath.Join(dir, "history.jsonl"), corrupted)
		got := isohound(t, "check", corrupted, "--level", tc.level, "--json").outcomes(t)
		if len(got) != 1 || got[0].Verdict != verdict.Satisfied || got[0].Snapshots.Wrong == 0 {
			t.Fatalf("%+v: corrupted: %+v", tc, got)
		}
		for _, f := range got[0].Snapshots.Finds {
			if !slices.Contains(changed, f.Txn) {
				t.Errorf("%+v: the snapshot of transaction %d was not changed: %s", tc, f.Txn, f.Text)
			}
		}
	}
}

// corrupt copies a history, and changes the snapshots of some transactions so that they do not have what was read. It
// returns their numbers.
func corrupt(t *testing.T, from, to string) (changed []int64) {
	t.Helper()
	h, err := file.Load(t.Context(), from, file.Native, nil)
	if err != nil {
		t.Fatal(err)
	}
	wrote := map[string]int64{}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.Write {
				wrote[fmt.Sprint(op.Key, op.Value)] = h.DBTxn(i)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	claims := make([]history.Claim, len(h.Txns))
	for i := range h.Txns {
		claims[i] = h.Claim(i)
		for _, op := range h.Ops(&h.Txns[i]) {
			number := wrote[fmt.Sprint(op.Key, op.Value)]
			if v := claims[i].Visible; v != nil && op.Kind == history.Read && v.Has(number) && number != h.DBTxn(i) && len(changed) < 5 && rng.IntN(20) == 0 {
				lie := &history.Visible{Min: min(v.Min, number), Max: v.Max, Open: append(slices.Clone(v.Open), number)}
				slices.Sort(lie.Open)
				claims[i].Visible = lie
				changed = append(changed, h.Txns[i].ID)
				break
			}
		}
	}
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := native.WritePlain(out, h.WithClaims(claims), "complete"); err != nil {
		t.Fatal(err)
	}
	return changed
}
