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
		"s1: w(z,2) pc(v<=3; 1)":                         "it counted 1 rows, and there are 2",
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
