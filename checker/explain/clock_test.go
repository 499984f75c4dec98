package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// TestClock: moments that differ are written differently, and others not longer than needed.
func TestClock(t *testing.T) {
	for _, tc := range []struct {
		moments []int64
		seconds string // of the last one
		millis  string
	}{
		{[]int64{1_500, 1_234_567_890}, "1.234568 s", "1234.568"},
		{[]int64{2, 3}, "0.000000003 s", "0.000003"},
		{[]int64{3, 2, 3}, "0.000000003 s", "0.000003"},
		{[]int64{history.NoTime, 1_499, 1_500}, "0.000002 s", "0.002"},
		{[]int64{1_700_000_000_000_000_001, 1_700_000_000_000_000_002}, "1700000000.000000002 s", "1700000000000.000002"},
		{[]int64{-1_500_000}, "-0.001500 s", "-1.500"},
	} {
		c, last := NewClock(tc.moments...), tc.moments[len(tc.moments)-1]
		if c.Seconds(last) != tc.seconds || c.Millis(last) != tc.millis {
			t.Errorf("%d: %s, %s ms", tc.moments, c.Seconds(last), c.Millis(last))
		}
	}
}

// TestCloseMoments: listings and timelines tell moments apart that are nanoseconds from each other.
func TestCloseMoments(t *testing.T) {
	h := dsl.MustParse("s0 T1 [1,2]: w(x,1)\ns1 T2 [3,2000000]: r(x,0)\ns2 T3 [2000001,2000002]: r(x,0)")
	if s := Listing(h); !strings.Contains(s, "0.000000001 s to 0.000000002 s") || !strings.Contains(s, "0.000000003 s to 0.002000000 s") {
		t.Error(s)
	}
	p := &Picture{}
	for i := range h.Txns {
		p.Txns = append(p.Txns, NewTxn(h, int32(i), nil, nil))
	}
	if svg := TimelineSVG(p); !strings.Contains(svg, "committed, 0.000000001 s to 0.000000002 s") {
		t.Error(svg)
	}
	times := newTimeline(p, opsWidth).times()
	if slices.Sort(times); len(slices.Compact(times)) != 6 {
		t.Error(times)
	}
}
