package snapshots_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/snapshots"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestCompare: what does not agree is found and put into words, and nothing else.
func TestCompare(t *testing.T) {
	const start = "s0 T1 $810: w(x,1)\ns0 T2 $811 {811:811:}: w(x,2)\n"
	for _, tc := range []struct{ name, text, want string }{
		{"fits", start + "s1 T9 {812:812:}: r(x,2)", ""},
		{"older snapshot", start + "s1 T9 {811:811:}: r(x,1)", ""},
		{"the initial state", start + "s1 T9 {810:810:}: r(x,0)", ""},
		{"not in it", start + "s1 T9 $820 {811:820:811}: r(x,2)", "T9 (820) used snapshot 811:820:811 and read x = 2, which T2 (811) wrote, and which is not in it"},
		{"behind it", start + "s1 T9 {811:811:}: r(x,2)", "T9 used snapshot 811:811: and read x = 2, which T2 (811) wrote, and which is not in it"},
		{"missed", start + "s1 T9 {812:812:}: r(x,1)", "T9 used snapshot 812:812:, which has what T2 (811) wrote to x, and read x = 1"},
		{"missed from the start", start + "s1 T9 {812:812:}: r(x,0)", "T9 used snapshot 812:812:, which has what T2 (811) wrote to x, and read x = 0"},
		{"of one that aborted", start + "s1 T9 {811:811:}: r(x,2) abort", "T9 used snapshot 811:811: and read x = 2"},
		{"it saw what it should not", start + "s1 T9 {812:812:}: n(x,2)", "T9 used snapshot 812:812:, which has what T2 (811) wrote to x, and saw that x was not 2"},
		{"of unknown outcome, outside", "s0 T1 $810: w(x,1) unknown\ns1 T9 {810:810:}: r(x,1)", "which T1 (810) wrote, and which is not in it"},
		{"of unknown outcome, inside", start + "s2 T3 $812 {812:812:}: w(x,3) unknown\ns1 T9 {813:813:}: r(x,3)", "unknown"},
		{"which is later is not known", "s0 T1 $810: w(x,1)\ns0 T2 $811: w(x,2)\ns1 T9 {812:812:}: r(x,1)", "unknown"},
		{"which is later is in a log", "s0 T1 $810 @7: w(x,1)\ns0 T2 $811 @9: w(x,2)\ns1 T9 {812:812:}: r(x,1)", "which has what T2 (811) wrote"},
		{"a writer without a number", start + "s2 T3: w(x,3)\ns1 T9 {812:812:}: r(x,3)", "unknown"},
		{"nobody wrote it", start + "s1 T9 {812:812:}: r(x,9)", "unknown"},
		{"a number given out twice", start + "s2 T3 $811: w(x,3)\ns1 T9 {812:812:}: r(x,3)", "unknown"},
		{"a number given out again after a crash", "s0 T1 [0,1] $810: w(x,1)\ns1 T9 [2,3] {812:812:}: r(x,1)\ns2 T3 [5,6] $811 {811:811:}: w(x,3)", ""},
		{"it may be a number of before", "s0 T1 [0,1] $810: w(x,1)\ns1 T9 [2,5] {812:812:}: r(x,1)\ns2 T3 [5,6] $811 {811:811:}: w(x,3)", "has what T3 (811) wrote"},
		{"it may be one of after a crash", "s0 T1 [0,1] $810: w(x,1)\ns1 T9 [2,8] $815 {812:812:}: r(x,1) w(y,1) unknown\ns2 T3 [5,6] $811 {811:811:}: w(x,3)", "unknown"},
		{"it inserted what had been deleted since", start + "s1 T9 $820 {812:812:}: r(x,nil) w(x,7)\ns2 T3 $812 {812:812:}: w(x,nil)", "inserted"},
		{"it found that missing", start + "s1 T9 $820 {812:812:}: r(x,nil)\ns2 T3 $812 {812:812:}: w(x,nil)", "and read x = null, which T3 (812) wrote, and which is not in it"},
		{"no common clock: the writer seems to begin later", "no_common_clock\ns0 T1 [1000,2000] $10 {10:10:}: w(x,1)\ns1 T9 [10,20] {11:11:}: r(x,1)", ""},
		{"no common clock: missed, perhaps of after a crash", "no_common_clock\ns0 T1 [0,1] $810: w(x,1)\ns0 T2 [1,2] $811 {811:811:}: w(x,2)\ns1 T9 [3,4] {812:812:}: r(x,1)", "unknown"},
		{"no common clock: missed, and of before", "no_common_clock\ns0 T1 [0,1] $810: w(x,1)\ns0 T2 [1,2] $811 {811:811:}: w(x,2)\ns1 T3 [3,4] $812: w(y,1)\ns1 T9 [5,6] {813:813:}: r(x,1)", "T9 used snapshot 813:813:, which has what T2 (811) wrote to x"},
		{"no common clock: missed in its session", "no_common_clock\ns0 T1 [0,1] $810: w(x,1)\ns0 T2 [1,2] $811 {811:811:}: w(x,2)\ns0 T9 [3,4] {812:812:}: r(x,1)", "which has what T2 (811) wrote to x"},
		{"no common clock: read from later in its session", "no_common_clock\ns0 T1 [0,1] $810: w(x,1)\ns0 T9 [3,4] {812:812:}: r(x,2)\ns0 T2 [5,6] $811: w(x,2)", "read x = 2, which T2 (811) wrote, and which is not in it"},
		{"no common clock: it is not in it", "no_common_clock\ns0 T1 [0,1] $810: w(x,1)\ns1 T9 [0,1] {810:810:}: r(x,1)", "read x = 1, which T1 (810) wrote, and which is not in it"},
		{"its own write", start + "s1 T9 $900 {811:811:}: w(x,5) r(x,5)", ""},
	} {
		h := dsl.MustParse(tc.text)
		r := snapshots.Compare(h)
		switch {
		case tc.want == "":
			if r.Wrong != 0 || r.Left != 0 {
				t.Errorf("%s: %+v", tc.name, r)
			}
		case tc.want == "inserted":
			if r.Wrong != 0 || r.Inserted != 1 || r.Reads != 0 {
				t.Errorf("%s: %+v", tc.name, r)
			}
		case tc.want == "unknown":
			if r.Wrong != 0 || r.Left != 1 {
				t.Errorf("%s: %+v", tc.name, r)
			}
		case r.Wrong != 1 || r.Txns != 1 || len(r.Finds) != 1 || !strings.Contains(r.Finds[0].Words(h), tc.want):
			t.Errorf("%s: %+v", tc.name, r)
			if len(r.Finds) > 0 {
				t.Error(r.Finds[0].Words(h))
			}
		}
	}
}

// disagrees is what Compare means, without its order and its index: a read is wrong if none of the versions in the
// snapshot that may be the latest has its value, and a writer of the value is known that is not in the snapshot, or is
// not the latest there. What began after the reader had ended is in no snapshot.
func disagrees(h *history.History, i int, op history.Op) bool {
	v := h.Claim(i).Visible
	final := func(j int) (value history.Value, wrote bool) {
		for _, o := range h.Ops(&h.Txns[j]) {
			if o.Kind == history.Write && o.Key == op.Key {
				value, wrote = o.Value, true
			}
		}
		return value, wrote
	}
	later := func(a, b int) bool { return h.Claim(b).Visible != nil && h.Claim(b).Visible.Has(h.DBTxn(a)) }
	ended := func(i, j int) bool {
		return h.Txns[i].End != history.NoTime && h.Txns[j].Begin != history.NoTime && h.Txns[i].End < h.Txns[j].Begin
	}
	var inside []int
	known := h.Initial(op.Key) == op.Value
	for j := range h.Txns {
		value, wrote := final(j)
		if !wrote || j == i || h.Txns[j].Status == history.Aborted {
			continue
		}
		seen := v.Has(h.DBTxn(j)) && !ended(i, j)
		known = known || value == op.Value
		switch {
		case h.Txns[j].Status == history.Committed && seen:
			inside = append(inside, j)
		case h.Txns[j].Status == history.Unknown && seen && value == op.Value:
			return false
		}
	}
	if len(inside) == 0 && h.Initial(op.Key) == op.Value {
		return false
	}
	for _, j := range inside {
		dominated := slices.ContainsFunc(inside, func(k int) bool { return k != j && later(j, k) && !later(k, j) })
		if value, _ := final(j); !dominated && value == op.Value {
			return false
		}
	}
	return known
}

// TestCompareAgainstOracle: true snapshots agree with everything, and of lies those are found that a simpler definition
// finds. ISOHOUND_HISTORIES sets how many histories there are.
func TestCompareAgainstOracle(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 7))
	reads, left, lies, found, unfound := 0, 0, 0, 0, 0
	for range randhist.Count(t, 5_000) {
		h := randhist.Snapshots(rng)
		if r := snapshots.Compare(h); r.Wrong > 0 {
			t.Fatalf("seed %d: %s\n%s", seed, r.Finds[0].Words(h), dsl.Format(h))
		} else {
			reads, left = reads+r.Reads, left+r.Left
		}
		wrong, _ := randhist.LieAboutSnapshots(rng, h)
		if rng.IntN(3) == 0 {
			wrong = randhist.Damage(rng, wrong, 1)
		}
		r := snapshots.Compare(wrong)
		lies++
		if r.Wrong > 0 {
			found++
		}
		at := map[[2]int]bool{}
		for _, f := range r.Finds {
			op := wrong.Ops(&wrong.Txns[f.Txn])[f.Op]
			if at[[2]int{int(f.Txn), f.Op}] = true; !disagrees(wrong, int(f.Txn), op) {
				t.Fatalf("seed %d: %s\n%s", seed, f.Words(wrong), dsl.Format(wrong))
			}
		}
		for i := range wrong.Txns {
			if wrong.Txns[i].Status == history.Unknown { // when it ended is not known
				continue
			}
			own := map[history.Key]bool{}
			for n, op := range wrong.Ops(&wrong.Txns[i]) {
				if op.Kind == history.Write {
					own[op.Key] = true
				} else if !own[op.Key] && wrong.Claim(i).Visible != nil && disagrees(wrong, i, op) && !at[[2]int{i, n}] && len(r.Finds) < snapshots.MaxFinds {
					unfound++
				}
			}
		}
	}
	t.Logf("%d reads agree, %d could not be compared; %d of %d histories with lies found; %d more reads disagree by the definition", reads, left, found, lies, unfound)
	if reads < 10*left || found < lies/10 || unfound > found/8 {
		t.Error("too few reads were compared, or too few lies found")
	}
}
