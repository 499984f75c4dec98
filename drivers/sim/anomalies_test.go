package sim_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/sim"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/mini"
)

const (
	ssi         = "serializable snapshot isolation"
	si          = "snapshot isolation"
	ssiReplicas = "serializable snapshot isolation, replicas"
	siReplicas  = "snapshot isolation, replicas"
)

// Verdicts of all levels that have a defect in common: which are refuted.
var (
	everything = []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO, level.SSER, level.StrongSI}
	serial     = []level.Level{level.SER, level.SERNoSO, level.SSER}
	session    = []level.Level{level.SER, level.SI, level.SSER, level.StrongSI}
	realTime   = []level.Level{level.SSER, level.StrongSI}
)

// planted are defects with what must come of them: the anomaly, by its name, at
// a level, and which levels are refuted.
var planted = []struct {
	anomaly, isolation, dsn string
	at                      level.Level
	refuted                 []level.Level
}{
	{"ThinAirRead", ssi, "off=checksums", level.SER, everything},
	{"AbortedRead", ssi, "off=undo", level.SER, everything},
	{"FutureRead", ssi, "off=program-order", level.SER, everything},
	{"NotMyLastWrite", ssi, "off=last-own-write&rate=0.5", level.SER, everything},
	{"NotMyOwnWrite", ssi, "off=own-writes&rate=0.5", level.SER, everything},
	{"IntermediateRead", ssi, "off=committed-reads", level.SER, everything},
	{"NonRepeatableReads", ssi, "off=stable-snapshot&rate=1", level.SER, everything},
	{"SessionGuaranteeViolation", ssi, "off=session-order", level.SER, session},
	{"NonMonotonicRead", ssi, "off=monotonic-reads", level.SER, everything},
	{"FracturedRead", ssi, "off=atomic-visibility", level.SER, everything},
	{"CausalityViolation", siReplicas, "off=causality&rate=1&lag=16", level.SI, everything},
	{"LongFork", siReplicas, "off=replication-order&rate=1&lag=16", level.SI, everything},
	{"CausalityViolation", ssiReplicas, "off=causality&rate=1&lag=16", level.SER, everything},
	{"LongFork", ssiReplicas, "off=replication-order&rate=1&lag=16", level.SI, everything},
	{"LostUpdate", si, "off=first-committer-wins", level.SI, everything},
	{"WriteSkew", ssi, "off=dangerous-structure&rate=1", level.SER, serial},
	{"G-single-realtime", ssi, "off=fresh-replica", level.SSER, realTime},
}

// seeds are how many runs each defect gets: a few, or ISOHOUND_SEEDS.
func seeds(t *testing.T) []int64 {
	n := 5
	if text := os.Getenv("ISOHOUND_SEEDS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("ISOHOUND_SEEDS=%s", text)
		}
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i + 1)
	}
	return out
}

func run(t *testing.T, isolation, dsn string, txns int, seed int64) *history.History {
	t.Helper()
	d, err := drivers.Find("sim")
	if err != nil {
		t.Fatal(err)
	}
	w, err := replay.New("mini", workloads.Common{Sessions: 10, Keys: 10, Dist: "exponential"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := drivers.Config{Isolation: isolation, DSN: fmt.Sprintf("sim://?seed=%d&%s", seed, dsn)}
	raw, err := replay.Record(d, cfg, w, generator.Config{Sessions: 10, Txns: txns, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestAnomalies: each defect shows its anomaly in an ordinary run of mini-
// transactions, and refutes the levels that forbid it and no others.
func TestAnomalies(t *testing.T) {
	for _, p := range planted {
		t.Run(p.anomaly+" "+p.isolation, func(t *testing.T) {
			for _, seed := range seeds(t) {
				txns := 200
				if p.anomaly == "LongFork" && p.isolation == ssiReplicas {
					txns = 1000 // it is rare, since most transactions that could show it are aborted
				}
				h := run(t, p.isolation, p.dsn, txns, seed)
				if names := judge(t, h, seed, p.refuted)[p.at]; !slices.Contains(names, p.anomaly) {
					n := h.Count()
					t.Errorf("seed %d: %v at %s, not %s; %d committed, %d aborted", seed, names, p.at, p.anomaly, n.Committed, n.Aborted)
				}
			}
		})
	}
}

// judge checks h at all levels, with proofs, wants those refuted and the others
// satisfied, and returns the names of the anomalies.
func judge(t *testing.T, h *history.History, seed int64, refuted []level.Level) map[level.Level][]string {
	t.Helper()
	names := map[level.Level][]string{}
	for _, lvl := range everything {
		r, err := checker.Check(context.Background(), h, lvl, checker.Options{Certify: true})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, a := range r.Anomalies {
			names[lvl] = append(names[lvl], a.Names...)
		}
		want := verdict.Satisfied
		if slices.Contains(refuted, lvl) {
			want = verdict.Violated
		}
		if r.Verdict != want {
			t.Errorf("seed %d: %s at %s, not %s: %v", seed, r.Verdict, lvl, want, names[lvl])
		}
	}
	return names
}
