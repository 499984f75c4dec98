package elle

import (
	"strconv"
	"strings"
)

// ListWorkload is the workload whose values are lists. A history whose header names it is
// written with appends if Appends allows it.
const ListWorkload = "append"

// Tail is the text that appending an element adds to a list. The text of a list is the tails of
// its elements, such as 4,17,3, with a final comma. So a list is a prefix of another exactly
// when its text is, and inserting the first element gives the same text as appending it.
func Tail(element int64) string { return strconv.FormatInt(element, 10) + "," }

// parseList splits the text of a list, given without its JSON quotes, into elements. The empty
// text is not a list: a list without elements is absence.
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
