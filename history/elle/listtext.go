package elle

import (
	"strconv"
	"strings"
)

// ListWorkload is the workload whose values are lists: a history whose header
// names it is written with appends, where that is faithful.
const ListWorkload = "append"

// Tail is the text that appending an element adds to a list. The text of a list
// is the tails of its elements, 4,17,3, say, so that a list is a prefix of
// another exactly when its text is, and an insertion of the first element has
// the same text as its appending.
func Tail(element int64) string { return strconv.FormatInt(element, 10) + "," }

// parseList takes the text of a list apart, without the quotes of JSON. The
// empty text is no list: one without elements is absent.
func parseList(text string) (elements []int64, ok bool) {
	for text != "" {
		one, rest, cut := strings.Cut(text, ",")
		n, err := strconv.ParseInt(one, 10, 64)
		if !cut || err != nil || strconv.FormatInt(n, 10) != one {
			return nil, false
		}
		elements = append(elements, n)
		text = rest
	}
	return elements, len(elements) > 0
}
