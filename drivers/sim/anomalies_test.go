package sim_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/sim"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/mini"
	_ "github.com/isohound/isohound/workloads/ycsbt"
)

const (
	ssi         = "serializable snapshot isolation"
	si          = "snapshot isolation"
	ssiReplicas = "serializable snapshot isolation, replicas"
	siReplicas  = "snapshot isolation, replicas"
)

// Verdicts common to several defects: the levels that are violated.
var (
	everything = []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO, level.SSER, level.StrongSI}
	serial     = []level.Level{level.SER, level.SERNoSO, level.SSER}
	session    = []level.Level{level.SER, level.SI, level.SSER, level.StrongSI}
	realTime   = []level.Level{level.SSER, level.StrongSI}
)

// plant is a defect with the expected result: an anomaly, by its name, at a level, and the
// violated levels.
type plant struct {
	anomaly, isolation, dsn string
	at                      level.Level
	refuted                 []level.Level
	txns                    int    // of a session; 0 is 300
	workload                string // with parameters; "" is mini
}

// planted has the 14 anomalies of the MTC paper first, and then defects that show one of them in
// another way, or at another level. LongFork on serializable replicas is named at SI, because at
// SER the checker may name a cycle of the same length instead.
var planted = []plant{
	{"ThinAirRead", ssi, "off=checksums", level.SER, everything, 0, ""},
	{"AbortedRead", ssi, "off=undo", level.SER, everything, 0, ""},
	{"FutureRead", ssi, "off=program-order", level.SER, everything, 0, ""},
	{"NotMyLastWrite", ssi, "off=last-own-write&rate=0.5", level.SER, everything, 0, ""},
	{"NotMyOwnWrite", ssi, "off=own-writes&rate=0.5", level.SER, everything, 0, ""},
	{"IntermediateRead", ssi, "off=committed-reads&rate=1", level.SER, everything, 1000, "mini shapes=Rx:2,RxWxWx:1"},
	{"NonRepeatableReads", ssi, "off=stable-snapshot&rate=1", level.SER, everything, 1000, ""},
	{"SessionGuaranteeViolation", ssi, "off=session-order&rate=0.3", level.SER, session, 0, ""},
	{"NonMonotonicRead", ssi, "off=monotonic-reads&rate=0.5", level.SER, everything, 0, ""},
	{"FracturedRead", ssi, "off=atomic-visibility&rate=1", level.SER, everything, 0, ""},
	{"CausalityViolation", siReplicas, "off=causality&rate=1&lag=16", level.SI, everything, 0, ""},
	{"LongFork", siReplicas, "off=replication-order&rate=1&lag=16", level.SI, everything, 0, ""},
	{"LostUpdate", si, "off=first-committer-wins", level.SI, everything, 0, ""},
	{"WriteSkew", ssi, "off=dangerous-structure&rate=1", level.SER, serial, 0, ""},

	{"CausalityViolation", ssiReplicas, "off=causality&rate=1&lag=16", level.SER, everything, 1000, ""},
	{"LongFork", ssiReplicas, "off=replication-order&rate=1&lag=16", level.SI, everything, 1000, ""},
	{"LostUpdate", si, "off=durability", level.SI, everything, 0, ""},
	{"LostUpdate", "serializable", "off=long-read-locks&rate=0.5", level.SER, everything, 0, ""},
	{"AbortedRead", "serializable", "off=committed-reads&rate=0.5", level.SER, everything, 0, ""},
	{"G-single-realtime", ssi, "off=fresh-replica&rate=0.5", level.SSER, realTime, 0, ""},
	{"NotMyOwnWrite", si, "off=same-value-writes&rate=1", level.SI, everything, 0, "ycsbt operations=6 duplicates=100 values=3"},
}

// seeds is the number of runs of each defect: a few, or ISOHOUND_SEEDS.
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

// run runs p with a seed, which is used for the workload and the defect.
func (p plant) run(t *testing.T, seed int64) *history.History {
	t.Helper()
	d, err := drivers.Find("sim")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(cmp.Or(p.workload, "mini"))
	common := workloads.Common{Sessions: 10, Keys: 10, Dist: "exponential"}
	w, err := replay.New(words[0], common, words[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	cfg := drivers.Config{Isolation: p.isolation, DSN: fmt.Sprintf("sim://?seed=%d&%s", seed, p.dsn)}
	raw, err := replay.Record(d, cfg, w, generator.Config{Sessions: common.Sessions, Txns: cmp.Or(p.txns, 300), Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	h, _, err = scans.Expand(t.Context(), h, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestAnomalies: each defect shows its anomaly in an ordinary run of mini-transactions. It
// violates the levels that forbid the anomaly, and no others.
func TestAnomalies(t *testing.T) {
	for _, p := range planted {
		t.Run(p.anomaly+" "+p.dsn, func(t *testing.T) {
			for _, seed := range seeds(t) {
				h := p.runUntilShown(t, seed)
				if names := judge(t, h, seed, p.refuted)[p.at]; !slices.Contains(names, p.anomaly) {
					n := h.Count()
					t.Errorf("seed %d: %v at %s, not %s; %d committed, %d aborted", seed, names, p.at, p.anomaly, n.Committed, n.Aborted)
				}
			}
		})
	}
}

// runUntilShown runs p with other seeds if the first run does not show the defect: how the sessions
// interleave depends on the machine's load, too.
func (p plant) runUntilShown(t *testing.T, seed int64) *history.History {
	t.Helper()
	h := p.run(t, seed)
	for more := int64(1); more <= 3 && !p.shows(t, h); more++ {
		t.Logf("seed %d does not show the defect; running seed %d", seed, seed+1000*more)
		h = p.run(t, seed+1000*more)
	}
	return h
}

// shows reports whether a history violates all levels that it should violate.
func (p plant) shows(t *testing.T, h *history.History) bool {
	t.Helper()
	for _, lvl := range p.refuted {
		r, err := checker.Check(context.Background(), h, lvl, checker.Options{VerdictOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != verdict.Violated {
			return false
		}
	}
	return true
}

// judge checks h at all levels, with proofs. It expects violations of exactly the levels in
// refuted, and returns the names of the anomalies.
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
