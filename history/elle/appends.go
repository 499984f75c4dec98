package elle

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/isohound/isohound/history"
)

// appends turns registers that hold lists into lists with append. It is the inverse of lists. It
// only does so for a history of the workload "append", and for all of it or none of it, because
// Elle judges a history by one model. The lists must carry the same information as the
// registers:
//
//   - every value is a list or absence, and no write deletes;
//   - a committed transaction writes what it has just read or written of the
//     key, plus one element. Its read stays in the file, so nothing is lost
//     if no other transaction sees the element;
//   - reads of other transactions are not in the file. Their writes are taken
//     for appends, since the workload does nothing else. But if the outcome is
//     unknown, the list that the transaction appended to must have been
//     written: when its element is seen, the transaction counts as having
//     read that list;
//   - no two writes of a key append the same element.
//
// Then a list and its last element identify the same write. A list that nobody wrote gives one
// of its elements two predecessors, an aborted appender, or no appender. Each of these is as
// wrong as a read of a value that nobody wrote. So the verdict is the same, at serializability
// and at snapshot isolation.
// isolation.
type appends struct {
	h *history.History
	// lists caches the elements of lists by their values.
	lists map[history.Value][]int64
	// fences has the lists of the values of fences.
	fences map[history.Value][]int64
	// written maps a list's last element to the value written. It finds elements appended twice.
	written map[last]history.Value
}

// last is the last element of a list of a key.
type last struct {
	key     history.Key
	element int64
}

// Appends reports whether h, which fit.To has prepared, is written with appends. If h is of the
// append workload and cannot be, why gives the reason.
func Appends(h *history.History) (ok bool, why string) {
	if h.Workload != ListWorkload {
		return false, ""
	}
	_, why = newAppends(h)
	return why == "", why
}

// Notes reports what a reader of the file might not expect.
func Notes(h *history.History) []string {
	if _, why := Appends(h); why != "" {
		return []string{"written as registers, not as lists with append: " + why}
	}
	return nil
}

// newAppends finds out whether h can be written with appends; why gives the reason if not.
func newAppends(h *history.History) (a *appends, why string) {
	a = &appends{h: h, lists: map[history.Value][]int64{}, written: map[last]history.Value{}}
	a.listFences()
	if why := a.values(); why != "" {
		return nil, why
	}
	for i := range h.Txns {
		if why := a.bases(&h.Txns[i]); why != "" {
			return nil, fmt.Sprintf("transaction %d %s", h.Txns[i].ID, why)
		}
	}
	return a, ""
}

// listFences makes the numbers in fences (history.Fence), which are no lists, the lists of all numbers
// that were there before and themselves.
func (a *appends) listFences() {
	a.fences = map[history.Value][]int64{}
	for i := range a.h.Txns {
		had := map[history.Key]history.Value{}
		for _, op := range a.h.Ops(&a.h.Txns[i]) {
			switch {
			case !a.h.IsFence(op.Key):
			case op.Kind == history.Read:
				had[op.Key] = op.Value
			case op.Value != history.Absent:
				before := a.fences[had[op.Key]]
				a.fences[op.Value] = append(before[:len(before):len(before)], int64(op.Value))
			}
		}
	}
}

// values checks each value, and the element that each write appends.
func (a *appends) values() (why string) {
	h := a.h
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			list, ok := a.list(op.Key, op.Value)
			switch {
			case !ok:
				why = fmt.Sprintf("has %s of key %s, which is not a list", h.ValueText(op.Value), h.KeyName(op.Key))
			case op.Kind == history.ReadNot:
				why = "has a failed compare-and-set"
			case op.Kind == history.Read:
			case len(list) == 0:
				why = "deletes key " + h.KeyName(op.Key)
			default:
				l := last{op.Key, list[len(list)-1]}
				if _, twice := a.written[l]; twice {
					why = fmt.Sprintf("appends %d to key %s, as another write does", l.element, h.KeyName(op.Key))
				}
				a.written[l] = op.Value
			}
			if why != "" {
				return fmt.Sprintf("transaction %d %s", h.Txns[i].ID, why)
			}
		}
	}
	return ""
}

// bases checks the lists that a transaction appends to.
func (a *appends) bases(t *history.Txn) (why string) {
	if t.Status == history.Aborted {
		return ""
	}
	have := map[history.Key]history.Value{}
	for _, op := range a.h.Ops(t) {
		base, known := have[op.Key]
		have[op.Key] = op.Value
		if op.Kind != history.Write {
			continue
		}
		list, _ := a.list(op.Key, op.Value)
		before := list[:len(list)-1]
		if !known && t.Status == history.Unknown {
			if !a.exists(op.Key, before) {
				return fmt.Sprintf("has an unknown outcome, and appended to a list of key %s without a known writer", a.h.KeyName(op.Key))
			}
			continue
		}
		if had, _ := a.list(op.Key, base); !known || !slices.Equal(had, before) {
			return fmt.Sprintf("writes %s to key %s, which is not the list that it read plus one element", a.h.ValueText(op.Value), a.h.KeyName(op.Key))
		}
	}
	return ""
}

// exists reports whether a list was written or is the initial one.
func (a *appends) exists(k history.Key, list []int64) bool {
	if len(list) == 0 {
		return true
	}
	v, ok := a.written[last{k, list[len(list)-1]}]
	if !ok {
		return false
	}
	same, _ := a.list(k, v)
	return slices.Equal(same, list)
}

// list returns the elements of a key's value; absence has none.
func (a *appends) list(k history.Key, v history.Value) ([]int64, bool) {
	if v == history.Absent {
		return nil, true
	}
	if a.h.IsFence(k) {
		list, known := a.fences[v]
		return list, known
	}
	list, done := a.lists[v]
	if !done {
		text := a.h.ValueText(v)
		if n := len(text); n > 2 && text[0] == '"' {
			list, _ = parseList(text[1 : n-1])
		}
		a.lists[v] = list
	}
	return list, len(list) > 0
}

// appendValue appends what follows the key in a micro-operation: the element that a write
// appended, or the list that a read returned.
func (a *appends) appendValue(b []byte, op history.Op, asJSON bool) []byte {
	list, _ := a.list(op.Key, op.Value)
	if op.Kind == history.Write {
		return strconv.AppendInt(b, list[len(list)-1], 10)
	}
	b = append(b, '[')
	for i, e := range list {
		switch {
		case i > 0 && asJSON:
			b = append(b, ',')
		case i > 0:
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, e, 10)
	}
	return append(b, ']')
}
