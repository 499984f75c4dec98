package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/worktest"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/scan"
	_ "github.com/isohound/isohound/workloads/skew"
)

// TestPredicates: phantoms and predicate write skew break the invariants of the workload skew if
// and only if predicates are not protected.
func TestPredicates(t *testing.T) {
	const phantom, oncall = "bookings", "on call"
	for _, c := range []struct {
		isolation, off  string
		phantom, oncall bool
	}{
		{"serializable", "", false, false},
		{"serializable", "range-locks", true, false},
		{"serializable", "predicates", true, true},
		{"repeatable read", "", true, false},
		{ssi, "", false, false},
		{ssi, "range-locks", true, false},
		{ssi, "predicates", true, true},
		{ssi, "dangerous-structure", true, true},
		{ssiReplicas, "", false, false},
		{si, "", true, true},
		{siReplicas, "", true, true},
		{"read committed snapshot", "", true, true},
	} {
		t.Run(c.isolation+" "+c.off, func(t *testing.T) {
			for _, seed := range seeds(t) {
				var problems map[string]string
				for try := int64(0); try <= 3; try++ { // how the sessions interleave depends on the machine's load, too
					problems = skewProblems(t, c.isolation, c.off, seed+1000*try)
					if (problems[phantom] != "" || !c.phantom) && (problems[oncall] != "" || !c.oncall) {
						break
					}
				}
				for name, want := range map[string]bool{phantom: c.phantom, oncall: c.oncall} {
					if broken := problems[name] != ""; broken != want {
						t.Errorf("seed %d: invariant %q broken: %v %s", seed, name, broken, problems[name])
					}
				}
			}
		})
	}
}

// skewProblems runs the patterns phantom and oncall of the workload skew, and returns which invariants are broken.
func skewProblems(t *testing.T, isolation, off string, seed int64) map[string]string {
	t.Helper()
	dsn := fmt.Sprintf("sim://?seed=%d", seed)
	if off != "" {
		dsn += "&rate=1&off=" + off
	}
	w := worktest.New(t, "skew", workloads.Common{Sessions: 10}, "patterns=phantom,oncall")
	db := worktest.Open(t, "sim", drivers.Config{Isolation: isolation, DSN: dsn}, w)
	worktest.Run(t, db, w, generator.Config{Sessions: 10, Txns: 200, Seed: seed})
	return worktest.Problems(t, db, w)
}

// TestPhantoms: without protected predicates, scans in runs of the workloads skew and scan violate the
// levels that forbid what they miss, and no others. With locks but without range locks, a scan may miss a
// row of a transaction of which its own transaction then reads something else, which violates
// snapshot isolation, too.
func TestPhantoms(t *testing.T) {
	skews := []string{"PredicateWriteSkew", "G2", "G2-process", "WriteSkew"}
	locking := append(skews[:len(skews):len(skews)], "Phantom", "FracturedRead", "Contradiction")
	for _, c := range []struct {
		isolation, off string
		refuted, may   []level.Level
		names          []string // one of them at ser
	}{
		{"serializable", "", nil, nil, nil},
		{"serializable", "range-locks", serial, everything, locking},
		{"repeatable read", "", serial, everything, locking},
		{ssi, "", nil, nil, nil},
		{ssi, "range-locks", serial, nil, skews},
		{ssi, "predicates", serial, nil, skews},
		{ssiReplicas, "", nil, realTime, nil},
		{si, "", serial, nil, skews},
		{"read committed snapshot", "", serial, everything, nil},
	} {
		forEachScan(t, c.isolation+" "+c.off, func(t *testing.T, workload string, txns int) {
			for _, seed := range seeds(t) {
				dsn := "rate=1"
				if c.off != "" {
					dsn += "&off=" + c.off
				}
				p := plant{isolation: c.isolation, dsn: dsn, refuted: c.refuted, txns: txns, workload: workload}
				h := p.runUntilShown(t, seed)
				if s := h.Scans; s == nil || s.Scans < 100 || s.Judged != s.Scans || s.ClassReads < 100 {
					t.Fatalf("seed %d: scans %+v", seed, s)
				}
				var names []string
				for _, lvl := range everything {
					r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
					if err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					must, may := slices.Contains(c.refuted, lvl), slices.Contains(c.may, lvl)
					if violated := r.Verdict == verdict.Violated; violated != must && !(violated && may) {
						t.Errorf("seed %d: %s at %s", seed, r.Verdict, lvl)
					}
					for n := range r.Anomalies {
						if lvl == level.SER {
							names = append(names, r.Anomalies[n].Names...)
						}
					}
				}
				if c.names != nil && !slices.ContainsFunc(c.names, func(n string) bool { return slices.Contains(names, n) }) {
					t.Errorf("seed %d: %v, none of %v", seed, names, c.names)
				}
			}
		})
	}
}

// forEachScan runs a test with workloads in which only what scans do not find can be wrong, as long as
// keys are protected, and with enough transactions of a session.
func forEachScan(t *testing.T, name string, test func(t *testing.T, workload string, txns int)) {
	for workload, txns := range map[string]int{"skew patterns=phantom": 200, "scan scans=read then=insert,item most=1000": 100} {
		t.Run(name+" "+workload, func(t *testing.T) { test(t, workload, txns) })
	}
}
