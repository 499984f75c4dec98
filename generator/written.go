package generator

import (
	"slices"
	"strings"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// place is where a transaction wrote: a key, or a row of a table.
type place struct {
	table *schema.Table // nil for a key
	row   []any         // the row's primary key
}

// written are the places that transactions wrote since the last cut, by the key or the row's first
// item. Transactions that aborted do not count.
type written map[string]place

// maxWritten bounds the places that one session remembers. A place needs about 200 bytes.
const maxWritten = 1 << 20

// note adds what an attempt wrote. It returns how many places found no room.
func (w written) note(ops []op) (lost int) {
	for i := range ops {
		o := &ops[i]
		if o.kind != history.Write || strings.HasPrefix(o.key, history.Fence) {
			continue
		}
		name := o.key
		if o.table != nil {
			name = o.table.Item(o.row, 0)
		}
		if _, known := w[name]; known {
			continue
		}
		if len(w) >= maxWritten {
			lost++
			continue
		}
		w[name] = place{o.table, slices.Clone(o.row)}
	}
	return lost
}
