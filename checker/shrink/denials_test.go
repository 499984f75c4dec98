package shrink

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// TestDenials checks that all denying reads of a key are found from all its writes, and each at most twice.
func TestDenials(t *testing.T) {
	const each = 1_000
	h := dsl.MustParse("s1:" + strings.Repeat(" w(x,1) w(x,2)", each) + "\ns2:" + strings.Repeat(" n(x,1) n(x,2) n(x,3)", each))
	n := newNeeds(h, Rules{Level: level.SER})
	n.learn(h.AllOps()[0].Key)
	through, found, calls := denials{}, map[int32]bool{}, 0
	for at, op := range h.AllOps() {
		if op.Kind == history.Write {
			n.eachNeeder(int32(at), through, func(r int32) {
				found[r] = true
				calls++
			})
		}
	}
	if len(found) != 3*each || calls > 2*len(found) {
		t.Errorf("%d found in %d calls", len(found), calls)
	}
}
