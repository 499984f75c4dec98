package explain

import (
	"fmt"
	"strings"

	"github.com/isohound/isohound/history"
)

// maxInitials bounds the initial values in a listing.
const maxInitials = 20

// Listing writes a sub-history for people: initial values, then each transaction with its session,
// outcome and times, and each of its statements on a line.
func Listing(h *history.History) string {
	var b strings.Builder
	var initial []string
	w := words{h: h}
	_ = h.OwnInitials(func(k history.Key, v history.Value) error {
		initial = append(initial, w.pair(k, v))
		return nil
	})
	if more := len(initial) - maxInitials; more > 1 {
		initial = append(initial[:maxInitials], fmt.Sprintf("… %d more", more))
	}
	if len(initial) > 0 {
		fmt.Fprintf(&b, "initially %s\n", strings.Join(initial, ", "))
	}
	var moments []int64
	for i := range h.Txns {
		moments = append(moments, h.Txns[i].Begin, h.Txns[i].End)
	}
	clock := NewClock(moments...)
	for i := range h.Txns {
		t := &h.Txns[i]
		fmt.Fprintf(&b, "%s, %s, %s:\n", w.introduce(int32(i)), t.Status, clock.span(times(h, t)))
		for _, line := range Lines(Steps(h, i)) {
			b.WriteString("    " + line + "\n")
		}
	}
	return b.String()
}
