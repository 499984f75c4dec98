package polygraph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAssumedOrder: with true, partial and lying claims, the engine says satisfied exactly if an execution keeps the
// order of versions that is claimed, and every proof holds. ISOHOUND_HISTORIES sets how many histories there are for
// each level.
func TestAssumedOrder(t *testing.T) {
	n := randhist.Count(t, 2_500)
	for _, lvl := range (polygraph.Engine{}).Levels() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			onlyAssumed, whole := 0, 0
			for range n {
				h := claimed(rng)
				for lvl.RealTime() && !h.Timed() {
					h = claimed(rng)
				}
				e := polygraph.Engine{}
				if rng.IntN(3) == 0 {
					_, machine := randomMachine(rng)
					e = polygraph.Engine{Config: randomConfig(rng), Accel: polygraph.Acceleration{}.On(machine)}
				}
				v, _ := compare(t, h, lvl, seed, e)
				if count[v]++; v == verdict.Violated && h.Closed {
					if allowed, decided := certify.Judge(h.WithClaims(nil), lvl, 1_000_000); decided && allowed {
						onlyAssumed++
					}
				}
				if polygraph.Complete(h, lvl) {
					whole++
				}
			}
			t.Logf("seed %d: %v, %d violated only with the assumption, %d decided by one search for a cycle", seed, count, onlyAssumed, whole)
			if (count[verdict.Satisfied] < n/10 || count[verdict.Violated] < n/10 || onlyAssumed < n/100 || whole < n/100) && !randhist.Few(t) {
				t.Error("one-sided")
			}
		})
	}
}

// claimed makes a history whose claimed order of versions is assumed.
func claimed(rng *rand.Rand) *history.History {
	for {
		h := randhist.New(rng)
		switch rng.IntN(5) {
		case 0:
			h = randhist.Mini(rng)
		case 1:
			h = randhist.Prefix(rng)
		}
		if rng.IntN(3) == 0 {
			h = randhist.ClaimedSets(rng, h).AssumeOrder()
		} else {
			h = randhist.Claimed(rng, h).AssumeOrder()
		}
		if h.OrderAssumed() || h.SnapshotsAssumed() {
			return h
		}
	}
}

// TestAssumedShapes: what the assumption decides, and what it leaves open.
func TestAssumedShapes(t *testing.T) {
	for _, c := range []struct {
		name, history string
		ser, serNoSO  verdict.Verdict
		si            verdict.Verdict
	}{
		{"the reader saw the version that the database calls the older one, after the newer", `
			s0 T0 @1: w(x,1)
			s1 T1 @2: w(x,2)
			s2 T2: r(x,2)
			s2 T3: r(x,1)`, verdict.Violated, verdict.Satisfied, verdict.Violated},
		{"an order of the writers that the readers contradict (Emme's Figure 3: another order would do)", `
			s0 T0 @2: w(x,1) w(y,1)
			s1 T1 @1: w(x,2) w(y,2)
			s2 T2 @3: r(x,2) r(y,2) w(z,1)
			s3 T3 @4: r(z,0) r(x,1)`, verdict.Violated, verdict.Violated, verdict.Satisfied},
		{"one position for two writers orders neither", `
			s0 T0 @1: w(x,1)
			s1 T1 @1: w(x,2)
			s2 T2: r(x,2)
			s2 T3: r(x,1)`, verdict.Satisfied, verdict.Satisfied, verdict.Satisfied},
		{"a transaction of unknown outcome that is read has its place", `
			s0 T0 @2: w(x,1) unknown
			s1 T1 @1: w(x,2)
			s2 T2: r(x,1)
			s2 T3: r(x,2)`, verdict.Violated, verdict.Satisfied, verdict.Violated},
		{"one that nobody read may not have committed", `
			s0 T0 @2: w(x,1) unknown
			s1 T1 @1: w(x,2)
			s2 T2: r(x,0)
			s2 T3: r(x,2)`, verdict.Satisfied, verdict.Satisfied, verdict.Satisfied},
	} {
		h := dsl.MustParse(c.history).AssumeOrder()
		for lvl, want := range map[level.Level]verdict.Verdict{level.SER: c.ser, level.SERNoSO: c.serNoSO, level.SI: c.si} {
			if got, _ := compare(t, h, lvl, 0, polygraph.Engine{}); got != want {
				t.Errorf("%s: %s %s, want %s", c.name, lvl, got, want)
			}
		}
	}
}

// TestVisibleShapes: what claimed snapshots decide, as positions and as sets of transactions, and what they leave open.
func TestVisibleShapes(t *testing.T) {
	const yes, no = verdict.Satisfied, verdict.Violated
	for _, c := range []struct {
		name, history        string
		strong, si, noSO, pc verdict.Verdict
	}{
		{"a session goes back in time", `
			s0 T0 [0,1] @5<4: w(x,1)
			s0 T1 [2,3] @9<4: r(y,0) w(z,1)`, no, no, yes, no},
		{"a session goes back in time, told as sets", `
			s0 T0 [0,1] $5 {5:5:}: w(x,1)
			s0 T1 [2,3] {5:6:5}: r(y,0)`, no, no, yes, no},
		{"a snapshot older than real time demands", `
			s0 T0 [0,1] @5<4: w(x,1)
			s1 T1 [2,3] @9<4: r(y,0) w(z,1)`, no, yes, yes, yes},
		{"a snapshot older than real time demands, told as sets", `
			s0 T0 [0,1] $5 {5:5:}: w(x,1)
			s1 T1 [2,3] {5:6:5}: r(y,0)`, no, yes, yes, yes},
		{"it read what its snapshot lacks", `
			s0 T0 [0,9] $5 {5:5:}: w(x,1)
			s1 T1 [0,9] {5:6:5}: r(x,1)`, no, no, no, no},
		{"it did not read what its snapshot has", `
			s0 T0 [0,9] @5<4: w(x,1)
			s1 T1 [0,9] @9<5: r(x,0) w(z,1)`, no, no, no, no},
		{"a lost update by what the snapshots say alone", `
			s0 T0 [0,9] $5 {5:7:5,6}: w(x,1)
			s1 T1 [0,9] $6 {5:7:5,6}: w(x,2)`, no, no, no, yes},
		{"two snapshots that do not contain one another", `
			s0 T0 [0,9] $5: w(x,1)
			s1 T1 [0,9] $6: w(y,1)
			s2 T2 [0,9] {6:7:6}: r(z,0)
			s3 T3 [0,9] {5:7:5}: r(z,0)`, no, no, no, no},
		{"one that wrote nothing has no commit that a snapshot could lack", `
			s0 T0 [0,1] $5 @5<4: r(x,0)
			s0 T1 [2,3] {5:6:5}: r(y,0)`, yes, yes, yes, yes},
		{"a number that two transactions have", `
			s0 T0 [0,1] $5: w(x,1)
			s0 T1 [2,3] {5:6:5}: r(y,0)
			s1 T2 [0,3] $5: w(z,1)`, yes, yes, yes, yes},
		{"a transaction without a number", `
			s0 T0 [0,1]: w(x,1)
			s0 T1 [2,3] {5:6:5}: r(y,0)`, yes, yes, yes, yes},
		{"a position of a snapshot that has its own commit says nothing", `
			s0 T0 [0,1] @5: w(x,1)
			s0 T1 [2,3] @3<4: r(y,0) w(z,1)`, yes, yes, yes, yes},
		{"one of unknown outcome that nobody read may not have committed", `
			s0 T0 [0,1] $5 {5:5:}: w(x,1) unknown
			s1 T1 [0,9] {6:6:}: r(x,0)`, yes, yes, yes, yes},
		{"one of unknown outcome that was read, and that the snapshot lacks", `
			s0 T0 [0,1] $5 {5:5:}: w(x,1) w(y,1) unknown
			s1 T1 [0,9] {5:6:5}: r(x,1)`, no, no, no, no},
		{"one of unknown outcome that was read by another one, and that the snapshot has", `
			s0 T0 [0,1] @5<4: w(x,1) w(y,1) unknown
			s1 T1 [0,9] @9<8: r(x,1) w(z,1)
			s2 T2 [0,9] @10<7: r(y,0) w(z,2)`, no, no, no, no},
		{"both claims of one snapshot contradict each other", `
			s0 T0 [0,9] $5 @5<4: w(x,1)
			s1 T1 [0,9] @9<6 {5:6:5}: r(y,0) w(z,1)`, no, no, no, no},
	} {
		h := dsl.MustParse(c.history).AssumeOrder()
		for lvl, want := range map[level.Level]verdict.Verdict{level.StrongSI: c.strong, level.SI: c.si, level.SINoSO: c.noSO, level.PC: c.pc} {
			if got, _ := compare(t, h, lvl, 0, polygraph.Engine{}); got != want {
				t.Errorf("%s: %s %s, want %s", c.name, lvl, got, want)
			}
		}
	}
}

// TestLostWriter: T1 contradicts itself, so it did not commit. It read 4 before it wrote it, so who wrote 4 is missing in
// this history, which was cut off, and T2 may have read it from there.
func TestLostWriter(t *testing.T) {
	h := dsl.MustParse(`
		initial k0=nil
		open
		s0 T0: w(k9,1)
		s0 T1: r(k0,nil) r(k0,4) w(k0,4) unknown
		s1 T2: r(k0,4)`)
	for _, lvl := range (polygraph.Engine{}).Levels() {
		if v, _ := compare(t, h, lvl.WithoutRealTime(), 0, polygraph.Engine{}); v != verdict.Unknown {
			t.Errorf("%s is %s", lvl, v)
		}
	}
}
