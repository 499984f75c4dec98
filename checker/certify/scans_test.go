package certify_test

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// TestScansInWitness has executions of transactions in the order of the text. The words say why the
// witness is refused.
func TestScansInWitness(t *testing.T) {
	const rows = "initial nil\ninitial x=12 y=3\n"
	for text, words := range map[string]string{
		"s1: p(v>10; x=12)":                              "",
		"s1: p(v>10;)":                                   "it did not find x, which is 12",
		"s1: p(v>10; x=12, y=3)":                         "it found y, which is 3",
		"s1: p(v>10; x=12, z=20)":                        "it found z, which is absent",
		"s1: w(z,20) p(v>10; x=12, z=20)":                "",
		"s1: w(z,20) p(v>10; x=12)":                      "it did not find z, which is 20",
		"s1: w(z,20)\ns2: p(v>10; x=12)":                 "it did not find z, which is 20",
		"s1: p(v>10; x=12)\ns2: w(z,20)":                 "",
		"s1: pd(v>10; x=12) p(;y=3)":                     "",
		"s1: pd(v>10; x=12)\ns2: p(;x=12, y=3)":          "it found x, which is absent",
		"s1: pw(v>10; x=12->2)\ns2: p(v in (2,3,2);x=2)": "it did not find y, which is 3",
		"s1: pc(v>2; 2)":                                 "",
		"s1: w(z,2) pc(v<=3; 1)":                         "it counted 1, and there are 2",
		"s1: p(v>10; x=12, x=12)":                        "it returned x twice",
		"s1: p(; x=12, y=3, x=12)":                       "it returned x twice",
		"s1: pw(v>10; x=12->2, x=2->1)":                  "it changed x twice",
		"s1: pd(v>10; x, x)":                             "it changed x twice",
	} {
		h := dsl.MustParse(rows + text + "\n")
		s, w := &history.Scans{}, &verdict.Witness{}
		for i := range h.Txns {
			s.Judged += len(h.Predicates(i))
			w.Order = append(w.Order, int32(i))
		}
		err := certify.Witness(t.Context(), h.Extend(nil, s), level.SER, w)
		if words == "" && err != nil || words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRowsTwice: a row that a statement changed twice refuses every witness, also one of commits, and one that it returned
// twice does where reads are repeatable.
func TestRowsTwice(t *testing.T) {
	for text, words := range map[string]string{
		"s1: w(x,12) p(v>10; x=12, x=12)":       "returned x twice",
		"s1: w(y,2)\ns2: p(v>1; x=3, x=3, y=2)": "returned x twice",
		"s1: pw(v>1; x=->2, x=->1)":             "changed x twice",
		"s1: pd(v>1; x, x)":                     "changed x twice",
	} {
		h := dsl.MustParse("initial nil\ninitial x=3\n" + text + "\n")
		s, w := &history.Scans{}, &verdict.Witness{}
		for i := range h.Txns {
			s.Judged += len(h.Predicates(i))
			w.Order = append(w.Order, int32(i))
		}
		for _, lvl := range []level.Level{level.SER, level.SI, level.PC, level.PSI, level.CC, level.RA, level.RC, level.MR, level.Session, level.RU} {
			allowed := !lvl.Repeatable() && strings.HasPrefix(words, "returned")
			witness := w
			if lvl.Snapshot() {
				witness = w.At(lvl)
			}
			if err := certify.Witness(t.Context(), h.Extend(nil, s), lvl, witness); allowed != (err == nil) || err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("%s, %s: %v", text, lvl, err)
			}
			if ok, decided := certify.Judge(h, lvl, 1<<20); !decided || ok != allowed {
				t.Errorf("%s, %s: the trial says %v, %v", text, lvl, ok, decided)
			}
		}
	}
}

// TestDuplicateRows: two operations prove an anomaly if one statement has one item twice, and the level forbids that.
func TestDuplicateRows(t *testing.T) {
	h := dsl.MustParse("initial nil\ninitial x=3 y=3\ns1: p(v>1; x=3, y=3, x=3) p(k is null; x=3, y=3) pw(v>1; x=3->4, x=4->5)\ns2: p(v>1; x=3, x=3) unknown\n")
	for _, c := range []struct {
		txn      int32
		ops      [2]int
		ser, mrs bool // holds at ser, at mr
	}{
		{0, [2]int{0, 2}, true, false},
		{0, [2]int{0, 1}, false, false}, // two rows
		{0, [2]int{0, 3}, false, false}, // two statements
		{0, [2]int{2, 2}, false, false},
		{0, [2]int{6, 8}, true, true},
		{0, [2]int{5, 7}, true, false},
		{0, [2]int{5, 6}, false, false}, // a read and a write
		{1, [2]int{0, 1}, false, false}, // it may not have committed
	} {
		a := verdict.Anomaly{Kind: verdict.DuplicateRow, Txns: []int32{c.txn}, Ops: []verdict.OpRef{{Txn: c.txn, Op: c.ops[0]}, {Txn: c.txn, Op: c.ops[1]}}}
		for lvl, holds := range map[level.Level]bool{level.SER: c.ser, level.SI: c.ser, level.CC: c.ser, level.MR: c.mrs, level.RU: c.mrs} {
			err := certify.Result(t.Context(), h, &verdict.Result{Level: lvl, Verdict: verdict.Violated, Anomalies: []verdict.Anomaly{a}})
			if holds != (err == nil) {
				t.Errorf("%s, operations %v of transaction %d: %v", lvl, c.ops, c.txn, err)
			}
		}
	}
}

// TestEveryScanCounts: a proof is refused if it covers more or fewer scans than count as judged. A
// transaction that does not take part counts.
func TestEveryScanCounts(t *testing.T) {
	h := dsl.MustParse("initial nil\ns1: p(v>10;)\ns2: p(;) p(v>3;) unknown\ns3: r(x,5)\n")
	thin := []verdict.Anomaly{{Kind: verdict.ThinAirRead, Txns: []int32{2}, Ops: []verdict.OpRef{{Txn: 2}}}}
	sub := dsl.MustParse("initial nil\ns1: p(v>10;)\ns2: p(;) p(v>3;) unknown\n")
	first := map[history.ScanRef]bool{{Txn: 0, Number: 0}: true}
	for _, c := range []struct {
		scans history.Scans
		ok    bool
	}{
		{history.Scans{Judged: 3}, true},
		{history.Scans{Judged: 2}, false},
		{history.Scans{Judged: 4}, false},
		{history.Scans{Judged: 2, Unjudged: first}, true},
		{history.Scans{Judged: 3, Unjudged: first}, false},
	} {
		r := &verdict.Result{Level: level.SER, Verdict: verdict.Violated, Anomalies: thin}
		if err := certify.Result(t.Context(), h.Extend(nil, &c.scans), r); (err == nil) != c.ok {
			t.Errorf("violated, %+v: %v", c.scans, err)
		}
		for _, order := range [][]int32{{0}, {0, 1}, {1, 0}} {
			r := &verdict.Result{Level: level.SER, Verdict: verdict.Satisfied, Witness: &verdict.Witness{Order: order}}
			if err := certify.Result(t.Context(), sub.Extend(nil, &c.scans), r); (err == nil) != c.ok {
				t.Errorf("satisfied by %v, %+v: %v", order, c.scans, err)
			}
		}
	}
}
