package cli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/internal/randhist"
	"github.com/isohound/isohound/results"
)

// whole writes the windows of a run as one history: what the run would have recorded without cuts.
func whole(t *testing.T, files []string) []byte {
	t.Helper()
	var out bytes.Buffer
	seen := map[string]bool{} // transactions of unknown outcome are in several windows
	for n, path := range files {
		var text bytes.Buffer
		if err := native.WritePlain(&text, load(t, path), ""); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			id, _, isTxn := strings.Cut(line, `,"session"`)
			switch isTxn = isTxn && strings.HasPrefix(id, `{"txn":`); {
			case isTxn && !seen[id]:
				seen[id] = true
				out.WriteString(line)
			case !isTxn && n == 0 && !strings.HasPrefix(line, `{"closed"`):
				out.WriteString(line)
			}
		}
	}
	fmt.Fprintf(&out, `{"closed":{"reason":"complete","txns":%d}}`+"\n", len(seen))
	return out.Bytes()
}

// TestWindowsAreTheWhole: runs on a simulated database, with keys, deletes, rows and scans, some on replicas, whose protections are
// switched off in turn, get the same verdicts whole and in windows.
func TestWindowsAreTheWhole(t *testing.T) {
	const levels = "ser,si,sser,strong-si,cc,ra,rc,session,ru"
	const serial, behind, committed = "serializable snapshot isolation", "snapshot isolation, replicas", "read committed"
	databases := []struct{ off, isolation string }{
		{"", committed}, {"", serial + ", replicas"}, {"predicates", serial}, {"durability&rate=0.02", serial}, {"first-committer-wins&rate=0.05", serial}, {"undo&rate=0.05", committed},
		{"stable-snapshot&rate=0.05", serial}, {"monotonic-reads&rate=0.01", committed}, {"", behind}, {"committed-reads&rate=0.01", committed}, {"atomic-visibility&rate=0.01", committed},
		{"causality&rate=0.05", behind},
	}
	count := map[string]int{}
	seed := randhist.Seed(t, 1)
	for n := range randhist.Count(t, 30_000) / 1300 {
		db := databases[n%len(databases)]
		kind := (n + n/len(databases)) % 3 // each database gets another one in each turn
		workload := [][]string{{"scan"}, {"mini", "-p", "death=delete"}, {"append"}}[kind]
		txns := []string{"60", "400", "200"}[kind]
		if workload[0] != "scan" && db.off == "predicates" {
			continue
		}
		dsn := "sim://"
		if db.off != "" {
			dsn += "?off=" + db.off
		}
		dir := filepath.Join(t.TempDir(), "run")
		args := append([]string{"run", "--driver", "sim", "--dsn", dsn, "--isolation", db.isolation, "--sessions", "4", "--txns", txns, "--keys", "20",
			"--seed", strconv.FormatUint(seed+uint64(n), 10), "--cut-every", "50txns", "--on-violation", "continue", "--check", levels, "--out", dir, "--json", "--no-progress", "--workload"}, workload...)
		c := isohound(t, args...)
		parts := c.outcomes(t)
		files, err := results.WindowFiles(dir)
		if err != nil || len(files) < 2 || len(parts) != 9 {
			t.Fatalf("%v, %d windows: %s%s", err, len(files), c.out, c.msg)
		}
		text := whole(t, files)
		rd, err := native.NewReader(bytes.NewReader(text), "whole", int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		h, err := history.Load(context.Background(), rd)
		if err != nil || !h.Closed {
			t.Fatal(err)
		}
		check := command(t, "check", "-", "--level", levels, "--json", "--explain-timeout", "0")
		check.Stdin = bytes.NewReader(text)
		for i := range parts {
			if parts[i].Windows != nil && parts[i].Windows.Violated > 1 && (parts[i].Level == "ra" || parts[i].Level == "session") {
				count["weak, later"]++
			}
		}
		for i, o := range finish(t, check).outcomes(t) {
			count[o.Level+" "+o.Verdict.String()]++
			if got := parts[i].Verdict; got == verdict.Vacuous {
				count["vacuous"]++ // by chance few transactions met
			} else if got != o.Verdict && got != verdict.Unknown && o.Verdict != verdict.Unknown {
				t.Errorf("%v: %s is %s, and %s in windows: %s", args, o.Level, o.Verdict, got, parts[i].Windows.Text())
			}
		}
	}
	t.Log(count)
	if count["ser satisfied"] < 2 || count["ser violated"] < 2 || count["rc satisfied"] < 2 || count["cc violated"] < 2 || count["weak, later"] == 0 || count["vacuous"] > 3*(count["ru satisfied"]+count["ru violated"]) {
		t.Errorf("the verdicts are not well spread: %v", count)
	}
}
