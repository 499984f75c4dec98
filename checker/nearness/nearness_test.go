package nearness

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestMeasure: what counts in small histories, in the order in which their transactions ended.
func TestMeasure(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       Nearness
		distance   int
	}{
		{"one after the other", `
s1 T1 [1,2]: r(x,0) w(x,1)
s2 T2 [3,4]: r(x,1) w(x,2)
s1 T3 [5,6]: r(x,2)`, Nearness{Txns: 3, Fresh: 2}, Nothing},
		{"overlapping and apart", `
s1 T1 [1,4]: r(x,0) w(x,1)
s2 T2 [2,5]: r(y,0) w(y,2)`, Nearness{Txns: 2, Overlapping: 2}, Overlap},
		{"a reader beside a writer", `
s1 T1 [1,4]: w(x,1)
s2 T2 [2,5]: r(x,1)`, Nearness{Txns: 2, Overlapping: 2, WR: 1, Fresh: 1}, Conflict},
		{"a refused update", `
s1 T1 [1,4]: r(x,0) w(x,1)
s2 T2 [2,5]: r(x,0) w(x,2) abort`, Nearness{Txns: 1, Refused: 1}, Conflict},
		{"a chain of three", `
s1 T1 [1,6]: r(x,0) w(z,1)
s2 T2 [2,7]: r(y,0) w(x,2)
s3 T3 [3,8]: w(y,3)`, Nearness{Txns: 3, Overlapping: 3, RW: 2, Pivots: 1}, Pivot},
		{"write skew", `
s1 T1 [1,6]: r(x,0) r(y,0) w(x,1)
s2 T2 [2,7]: r(x,0) r(y,0) w(y,2)`, Nearness{Txns: 2, Overlapping: 2, RW: 2, Pivots: 2, Cyclic: 2}, Cycle},
		{"a lost update", `
s1 T1 [1,6]: r(x,0) w(x,1)
s2 T2 [2,7]: r(x,0) w(x,2)`, Nearness{Txns: 2, Overlapping: 2, WW: 1, RW: 1, Cyclic: 2}, Cycle},
		{"an old value", `
s1 T1 [1,2]: w(x,1)
s1 T2 [3,4]: w(x,2)
s2 T3 [5,6]: r(x,1)`, Nearness{Txns: 3, Fresh: 1, Stale: 1}, Nothing},
		{"a row that somebody inserts", `
initial nil
s1 T1 [1,6]: r(x,nil)
s2 T2 [2,7]: w(x,1)`, Nearness{Txns: 2, Overlapping: 2, RW: 1, Absent: 1}, Conflict},
		{"two keys of one writer, its own session, and again", `
s1 T1 [1,2]: w(x,1) w(y,2)
s2 T2 [3,4]: r(x,1) r(y,2) r(x,1)
s1 T3 [5,6]: r(x,1)`, Nearness{Txns: 3, Fresh: 3, Own: 1, Again: 1, Pairs: 1}, Nothing},
		{"a scan beside a writer", `
s1 T1 [1,6]: w(x,9)
s2 T2 [2,7]: p(v>10;)`, Nearness{Txns: 2, Overlapping: 2, Scans: 1}, Overlap},
		{"intermediate writes are no versions", `
s1 T1 [1,4]: w(x,1) w(x,2)
s2 T2 [2,5]: r(x,1)`, Nearness{Txns: 2, Overlapping: 2}, Overlap},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, err := dsl.Parse(tc.text, "test")
			if err != nil {
				t.Fatal(err)
			}
			got := Measure(h)
			if *got != tc.want || got.Distance() != tc.distance {
				t.Errorf("%+v, distance %d\nwant %+v, %d", *got, got.Distance(), tc.want, tc.distance)
			}
		})
	}
}

// TestStretch: of a long run the middle is measured.
func TestStretch(t *testing.T) {
	var b strings.Builder
	for n := range 3 * Most {
		// Two sessions whose transactions overlap pairwise, in the middle third only.
		begin, session := 2*n, 1
		if n%2 == 1 {
			session = 2
			if n > Most && n < 2*Most {
				begin -= 3
			}
		}
		fmt.Fprintf(&b, "s%d [%d,%d]: w(x%d,%d)\n", session, begin+10, 2*n+11, n%7, n+1)
	}
	h, err := dsl.Parse(b.String(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if got := Measure(h); got.Txns != Most || got.Overlapping < Most-10 {
		t.Errorf("%+v", *got)
	}
}

// TestCyclic: against reachability by Warshall's algorithm.
func TestCyclic(t *testing.T) {
	seed := randhist.Seed(t, 1)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 3000 {
		n := 1 + r.IntN(12)
		var edges [][2]int32
		var reach [12][12]bool
		for range r.IntN(2*n + 1) {
			e := [2]int32{int32(r.IntN(n)), int32(r.IntN(n))}
			if e[0] != e[1] {
				edges = append(edges, e)
				reach[e[0]][e[1]] = true
			}
		}
		for k := range n {
			for a := range n {
				for b := range n {
					reach[a][b] = reach[a][b] || reach[a][k] && reach[k][b]
				}
			}
		}
		want := 0
		for v := range n {
			if reach[v][v] {
				want++
			}
		}
		if got := cyclic(n, edges); got != want {
			t.Fatalf("seed %d, round %d: %d on cycles, want %d: %s", seed, round, got, want, fmt.Sprint(edges))
		}
	}
}
