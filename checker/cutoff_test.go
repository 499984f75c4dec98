package checker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

// TestCutOff checks that in a history that was cut off, a read of a value that its own transaction
// wrote later shows that a writer is missing, and no violation. In a complete history it is a
// future read.
func TestCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		complete verdict.Kind
		cut      verdict.Verdict
		why      string // in words, or the anomaly
	}{
		"an update that changes nothing": {
			"s1: r(x,3) w(x,3)", verdict.FutureRead, verdict.Unknown, "the writer is missing"},
		"and readers of the value": {
			"s1: r(x,3) w(x,3)\ns2: r(x,3)\ns2: r(x,0)", verdict.FutureRead, verdict.Unknown, "the writer is missing"},
		"an aborted one": {
			"s1: r(x,3) w(x,3) abort\ns2: r(x,3)", verdict.AbortedRead, verdict.Unknown, "the writer may be missing"},
		"what a transaction saw of itself stands": {
			"s1: r(x,3) w(x,3)\ns2: r(y,0) r(y,1)\ns3: r(y,0) w(y,1)", verdict.FutureRead, verdict.Violated, "NonRepeatableReads"},
	} {
		for _, engine := range []checker.Engine{checker.Auto, checker.Polygraph, checker.Baseline} {
			for _, cut := range []bool{false, true} {
				text := c.text
				if cut {
					text = "open\n" + text
				}
				r, err := checker.Check(context.Background(), dsl.MustParse(text), level.SER, checker.Options{Engine: engine, Certify: true})
				if err != nil {
					t.Fatal(err)
				}
				said := r.Reason
				for _, a := range r.Anomalies {
					said += strings.Join(a.Names, " ")
				}
				switch {
				case !cut && (r.Verdict != verdict.Violated || r.Anomalies[0].Kind != c.complete):
					t.Errorf("%s, %s, complete: %s %s", name, engine, r.Verdict, said)
				case cut && (r.Verdict != c.cut || !strings.Contains(said, c.why)):
					t.Errorf("%s, %s, cut off: %s %s", name, engine, r.Verdict, said)
				}
			}
		}
	}
}

// TestCutOffDoubtOfUnknown: in a history that was cut off, a transaction of unknown outcome read a value that it
// wrote later, after another read of the key. A missing transaction wrote the value first. So nobody need
// have read it from this one, which cannot have committed.
func TestCutOffDoubtOfUnknown(t *testing.T) {
	h := dsl.MustParse("open\ns3 T0 [0,3]: r(x,0) r(x,2) r(x,0) w(x,2) unknown\ns3 T1 [3,4]: r(x,2) r(y,0) r(y,0)\n")
	for _, engine := range []checker.Engine{checker.Auto, checker.Polygraph, checker.Baseline} {
		for _, lvl := range level.All() {
			if !lvl.Search() {
				continue
			}
			r, err := checker.Check(t.Context(), h, lvl, checker.Options{Engine: engine, Certify: true})
			if err != nil || r.Verdict != verdict.Unknown {
				t.Errorf("%s at %s: %+v, %v", engine, lvl, r, err)
			}
		}
	}
}

// TestFailedStatement: at read uncommitted a statement on tables that failed may have written what was read, and the
// history does not show it, as seen on MariaDB after a deadlock. A stronger level forbids the read in any case.
func TestFailedStatement(t *testing.T) {
	const scan, plain = "initial x=5\ns1: r(x,5) abort\ns2: p(v>=6; x=7)", "initial x=5\ns1: r(x,5) abort\ns2: r(x,7)"
	for _, c := range []struct {
		text string
		lvl  level.Level
		want verdict.Verdict
	}{
		{scan, level.RU, verdict.Unknown},
		{scan, level.RC, verdict.Violated},
		{plain, level.RU, verdict.Violated},
	} {
		r, err := checker.Check(context.Background(), dsl.MustParse(c.text), c.lvl, checker.Options{Certify: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want || c.want == verdict.Violated && r.Anomalies[0].Kind != verdict.ThinAirRead ||
			c.want == verdict.Unknown && !strings.Contains(r.Reason, "before it failed") {
			t.Errorf("%s at %s: %s %s", c.text, c.lvl, r.Verdict, r.Reason)
		}
	}
}

// TestCutOffFailedCAS: the proof of a violation needs no failed compare-and-set of a transaction of unknown outcome: in a
// history that was cut off, a missing transaction may have written what it found.
func TestCutOffFailedCAS(t *testing.T) {
	h := dsl.MustParse("open\ninitial x=0\ns2: w(x,1)\ns0: r(x,1) w(x,4)\ns0: n(x,nil) r(x,1) w(x,0) unknown\ns2: r(x,0)\n")
	for _, lvl := range []level.Level{level.RA, level.CC} {
		if r, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true}); err != nil || r.Verdict != verdict.Violated || !r.Certified {
			t.Errorf("%s: %+v, %v", lvl, r, err)
		}
	}
}
