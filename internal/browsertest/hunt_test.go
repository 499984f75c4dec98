package browsertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/hunt"
	"github.com/isohound/isohound/results/pages"
)

// night is a night with every status, long names, and a violation of each kind.
func night() *hunt.Morning {
	workloads := []*hunt.Workload{{Name: "mini", Workload: "mini"}, {Name: "mini-with-many-sessions-and-few-keys", Workload: "mini"}, {Name: "general", Workload: "general"}, {Name: "scan", Workload: "scan"}}
	m := &hunt.Morning{Plan: "nightly", Night: hunt.Night{ID: 12, Began: time.Unix(1770000000, 0), Spent: 8 * time.Hour, Code: -1}, New: []string{"New: WriteSkew (RW RW) violates ser (promised) on postgres-18, serializable: violated, unexpected.", "postgres-18 was PostgreSQL 18.3 and is PostgreSQL 18.4."}}
	m.Total = hunt.Total{Runs: 3210, Judged: 3000, Early: 7, Failed: 2, Violated: 11, Commits: 123456789, ByStatus: map[hunt.Status]int{}}
	for _, w := range workloads {
		m.Columns = append(m.Columns, w.Name)
	}
	status := hunt.Unexpected
	for _, target := range []string{"postgres-18", "mariadb-with-galera-on-three-nodes", "sim"} {
		row := hunt.MatrixRow{Target: target, Server: "PostgreSQL 18.4 (Debian 18.4-1.pgdg130+1)", Isolation: "repeatable read, innodb_snapshot_isolation=ON", Fault: "3s kill for 1s every 10s; 2s pause backends 5ms every 50ms"}
		for _, w := range workloads {
			n := &hunt.CellNight{Cell: &hunt.Cell{Target: &hunt.Target{Name: target}, Isolation: row.Isolation, Workload: w, Fault: row.Fault}, Status: status, Text: "ser: G2-item-process, PredicateWriteSkew, LostUpdate", Runs: 12, Early: 1, Failures: 1, Violated: 2, Commits: 1234567, Levels: []string{"strong-si", "ser (not promised)"}}
			if status == hunt.NotRun {
				n.Past = &hunt.Past{Runs: 44, Night: 11}
			}
			m.Cells, m.Total.ByStatus[status] = append(m.Cells, n), m.Total.ByStatus[status]+1
			row.Squares = append(row.Squares, hunt.Square{Workload: w.Name, Night: n})
			status = (status + 1) % (hunt.NotRun + 1)
		}
		row.Squares[1].Night = nil
		m.Rows = append(m.Rows, row)
	}
	run := func(s hunt.Status, early string) hunt.ListedRun {
		return hunt.ListedRun{Run: &hunt.Run{ID: 31415, Cell: "postgres-18 / serializable / mini-with-many-sessions-and-few-keys / 3s kill for 1s", Why: "repeat, same seed", Repeats: 27182, Settings: hunt.Settings{Seed: 1234567890}, Commits: 98765, Took: 12 * time.Second, Early: early,
			Command: "isohound run --driver postgres --isolation serializable --workload mini -p pairs=50% --keys 100 --dist uniform --duration 10s --seed 1234567890 --check ser"}, Status: s, Text: "the run ended early: isohound was killed; until then nothing was violated", Report: "runs/12/31415/report.html", Repro: "runs/12/31415/repro/README.md"}
	}
	for _, s := range []hunt.Status{hunt.Unexpected, hunt.Expected, hunt.NotPromised} {
		best := run(s, "")
		m.Groups = append(m.Groups, &hunt.Group{Target: "postgres-18", Isolation: "serializable", Levels: []string{"ser (promised)", "sser (not promised)"}, Name: "PredicateWriteSkew", Edges: "RW RW SO WR WW RT", Status: s, Others: []string{"WriteSkew", "write-skew", "G2"}, Workloads: []string{"mini", "scan"},
			Text: "T1 -RW-> T2: T1 looked for rows of bookings with slot = 0 and did not find bookings(0,206), which did not exist; T2 then wrote \"2,206\".\nIt read k = " + strings.Repeat("1234,", 15) + ".\nSo each of them would have to come before itself.", Runs: 3, Of: 120, Same: 1, OfSame: 3, Near: 0, OfNear: 3, Before: 2, Since: 4, Best: &best})
		if s != hunt.Expected {
			g := m.Groups[len(m.Groups)-1]
			small := run(s, "")
			g.Shrinking, g.Shrunk = 31, &hunt.Shrunk{Of: best.Run, Name: g.Name, Changes: []hunt.Change{{Name: "txns", From: "300", To: "4"}, {Name: "shapes", From: strings.Repeat("RxRyWxWy:6,", 19) + "RxWx:6", To: "RxWx:6"}}, Before: hunt.Rate{K: 3, N: 3}, Rate: hunt.Rate{K: 2, N: 3}, Confirmed: true, Runs: 46, Took: time.Minute, Text: "nothing smaller of what was tried showed it often enough", Best: small.Run, Listed: &small}
		}
		m.Runs = append(m.Runs, run(s, ""))
	}
	m.Early = []hunt.ListedRun{run(hunt.EndedEarly, "the run ended early: isohound was killed")}
	m.Runs, m.More = append(m.Runs, m.Early...), 2910
	m.LeftOut = []hunt.LeftOut{{Cell: "sim / scan", Why: "the workload needs predicates, which driver sim does not have"}}
	for n := range 12 {
		m.Trend = append(m.Trend, hunt.TrendNight{Night: hunt.Night{ID: int64(12 - n), Began: time.Unix(1770000000-86400*int64(n), 0), Code: n % 2}, Runs: 3210, Broken: n % 3, Known: 12, Early: 3, Failed: 1, Commits: 123456789, Share: 100 / float64(n+1)})
	}
	return m
}

// TestNight: the page of a hunt, wide, narrow, dark, printed and without scripts.
func TestNight(t *testing.T) {
	path, err := night().Write(t.TempDir(), pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	b := Start(t)
	for _, v := range append(Views, View{Width: 400, NoScript: true}) {
		seen := b.Look(t, path, v)
		if want := []string{"verdict", "new", "cells", "violations", "early", "trend", "list"}; !slices.Equal(seen.Sections, want) {
			t.Errorf("%s: sections %s", v, strings.Join(seen.Sections, " "))
		}
	}
}

// TestComparison: the page of two nights, wide, narrow, dark, printed and without scripts.
func TestComparison(t *testing.T) {
	c := &hunt.Comparison{What: "nights", Tested: 2, Notes: []string{"The servers differ: night 1 (2026-01-31 23:59) had PostgreSQL 18.3 (Debian 18.3-1.pgdg130+1), and night 11 (2026-01-31 23:59) had PostgreSQL 18.4 (Debian 18.4-1.pgdg130+1)."}}
	effort := hunt.Effort{Runs: 3210, Judged: 3000, Violated: 11, Vacuous: 2, Early: 7, Failed: 2, Commits: 123456789}
	for n := range c.Sides {
		c.Sides[n] = hunt.Side{Name: "night 1" + strings.Repeat("1", n) + " (2026-01-31 23:59)", Servers: []string{"PostgreSQL 18.4 (Debian 18.4-1.pgdg130+1)", "MariaDB 11.8.2"}, LeftOut: 44, Effort: effort}
	}
	best := hunt.ListedRun{Run: &hunt.Run{ID: 31415}, Report: "runs/12/31415/report.html", Repro: "runs/12/31415/repro/README.md"}
	for _, differs := range []bool{true, false} {
		c.Findings = append(c.Findings, &hunt.Difference{Target: "mariadb-with-galera-on-three-nodes", Isolation: "repeatable read, innodb_snapshot_isolation=ON", Level: "strong-si", Name: "PredicateWriteSkew", Workloads: []string{"mini-with-many-sessions-and-few-keys, 3s kill for 1s every 10s", "scan"},
			K: [2]int{15, 0}, N: [2]int{210, 200}, Commits: [2]int64{123456789, 98765432}, Text: [2]string{"T1 -RW-> T2: T1 looked for rows of bookings.\nSo each of them would have to come before itself.", ""}, Best: [2]hunt.ListedRun{best, {}}, Run: [2]int64{31415, 0}, P: 0.00003, Differs: differs,
			Sentence: "Only night 1 (2026-01-31 23:59) showed it, in 15 of 210 runs (123,456,789 commits); night 11 (2026-01-31 23:59) in 0 of 200 runs (98,765,432 commits). If both showed it equally often, luck alone would make such a difference with probability 3e-05, where 2 findings are compared: luck is no likely reason."})
	}
	for _, w := range []string{"mini", "mini-with-many-sessions-and-few-keys"} {
		c.Cells = append(c.Cells, &hunt.Pair{Target: "mariadb-with-galera-on-three-nodes", Isolation: "repeatable read, innodb_snapshot_isolation=ON", Workload: w, Fault: "3s kill for 1s every 10s; 2s pause backends 5ms every 50ms", Of: [2]hunt.Effort{effort, {}}, Changed: true})
	}
	path, err := c.Write(t.TempDir(), pages.Draw)
	if err != nil {
		t.Fatal(err)
	}
	b := Start(t)
	for _, v := range append(Views, View{Width: 400, NoScript: true}) {
		seen := b.Look(t, path, v)
		if want := []string{"verdict", "sides", "findings", "cells"}; !slices.Equal(seen.Sections, want) {
			t.Errorf("%s: sections %s", v, strings.Join(seen.Sections, " "))
		}
	}
}
