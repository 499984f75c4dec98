package rounds

import (
	"maps"
	"slices"

	"github.com/isohound/isohound/history"
)

// State is what a later window has to know of the windows that a Run has entered: ids of transactions of
// unknown outcome, in order.
type State struct {
	// Used took effect in one of these windows. Perhaps are those of which that is possible, but not
	// certain. Seen are all.
	Used    []int64 `json:"used,omitempty"`
	Perhaps []int64 `json:"perhaps,omitempty"`
	Seen    []int64 `json:"seen,omitempty"`
}

// State returns what is known after the window that was entered last. It depends on the histories of the
// windows alone, and on no verdict.
func (r *Run) State() State {
	ids := func(set map[int64]bool) []int64 { return slices.Sorted(maps.Keys(set)) }
	return State{Used: ids(r.used), Perhaps: ids(r.perhaps), Seen: ids(r.seen)}
}

// Of returns what s has of some ids, which are in order.
func (s State) Of(ids []int64) State {
	some := func(have []int64) []int64 {
		return slices.DeleteFunc(slices.Clone(have), func(id int64) bool {
			_, is := slices.BinarySearch(ids, id)
			return !is
		})
	}
	return State{Used: some(s.Used), Perhaps: some(s.Perhaps), Seen: some(s.Seen)}
}

// Since returns what s has and before, an earlier State of the same run, lacks.
func (s State) Since(before State) State {
	more := func(now, then []int64) []int64 {
		return slices.DeleteFunc(slices.Clone(now), func(id int64) bool {
			_, known := slices.BinarySearch(then, id)
			return known
		})
	}
	return State{Used: more(s.Used, before.Used), Perhaps: more(s.Perhaps, before.Perhaps), Seen: more(s.Seen, before.Seen)}
}

// Learn adds what a window told, Since. All windows before it must have been entered or learned, or else Skip called. It may be
// called again with the same.
func (r *Run) Learn(s State) {
	if r.used == nil {
		*r = Run{used: map[int64]bool{}, perhaps: map[int64]bool{}, seen: map[int64]bool{}, gap: r.gap}
	}
	for _, id := range s.Seen {
		r.seen[id] = true
	}
	for _, id := range s.Perhaps {
		if !r.used[id] {
			r.perhaps[id] = true
		}
	}
	for _, id := range s.Used {
		r.used[id] = true
		delete(r.perhaps, id)
	}
}

// Restore makes r a Run that has entered the windows after which s was known.
func Restore(s State) Run {
	set := func(ids []int64) map[int64]bool {
		out := map[int64]bool{}
		for _, id := range ids {
			out[id] = true
		}
		return out
	}
	return Run{used: set(s.Used), perhaps: set(s.Perhaps), seen: set(s.Seen)}
}

// Alone reports whether a window can be judged, and leaves the State as it is, whatever is known of the
// windows before: it has no transaction of unknown outcome.
func Alone(h *history.History) bool {
	return !slices.ContainsFunc(h.Txns, func(t history.Txn) bool { return t.Status == history.Unknown })
}
