package history

import "slices"

// Claim is the place that the database says it gave a transaction in its own order. Positions are the
// database's own numbers: commit timestamps, revisions, numbers of commits. A later position is larger. A
// claim proves nothing: the database may be wrong about itself.
type Claim struct {
	// Commit is the position at which the transaction committed, at least 1; 0 if it is not known, or if the
	// transaction changed nothing and has none.
	Commit int64
	// Snapshot, if Snapped, is the position of the state that the transaction read: it saw exactly the commits
	// up to and including this position. 0 is the state before the first commit.
	Snapshot int64
	Snapped  bool
	// Visible is the snapshot as a set of transactions, nil if none is told.
	Visible *Visible
}

// Placed reports whether a position is claimed.
func (c Claim) Placed() bool { return c.Commit != 0 || c.Snapped }

// Empty reports whether nothing is claimed.
func (c Claim) Empty() bool { return c == Claim{} }

// Claim returns what the database claims of the transaction at index i.
func (h *History) Claim(i int) Claim {
	if h.claims == nil {
		return Claim{}
	}
	return h.claims[i]
}

// HasClaims reports whether the database claims a position of any transaction.
func (h *History) HasClaims() bool { return h.placed }

// HasVisible reports whether the database tells the snapshot of any transaction as a set of transactions.
func (h *History) HasVisible() bool { return h.visible }

// WithClaims returns h with these claims, one for each transaction, or nil. It shares everything else with h,
// and assumes nothing.
func (h *History) WithClaims(claims []Claim) *History {
	out := *h.plain()
	out.claims, out.assumed, out.placed, out.snapped, out.visible = claims, false, false, false, false
	for _, c := range claims {
		out.note(c)
	}
	return &out
}

// note records what kinds of claims h has.
func (h *History) note(c Claim) {
	h.placed, h.snapped, h.visible = h.placed || c.Placed(), h.snapped || c.Snapped, h.visible || c.Visible != nil
}

// AssumeOrder returns h with three parts of the claims as a part of what is judged. The order of versions: of two
// transactions that wrote a key, and that both count, the one with the lower Place wrote the earlier version. At snapshot
// levels the snapshots, too: see Shows. And the versions that were read: see ByVersion. Without claims it returns h. Parts of the result assume the same of what is left
// of them. A number of the database that several transactions have names none of them: the result has 0 instead.
func (h *History) AssumeOrder() *History {
	if !h.placed && !h.visible || h.assumed {
		return h
	}
	out := *h.ByVersion()
	out.assumed = true
	if h.visible {
		out.dbIDs = unique(h.dbIDs)
	}
	return &out
}

// unique returns numbers with 0 instead of those that occur more than once.
func unique(numbers []int64) []int64 {
	sorted := slices.Clone(numbers)
	slices.Sort(sorted)
	var out []int64
	for i := 1; i < len(sorted); i++ {
		if sorted[i] != sorted[i-1] || sorted[i] == 0 {
			continue
		}
		out = slices.Clone(numbers)
		for n, id := range out {
			if at, _ := slices.BinarySearch(sorted, id); at+1 < len(sorted) && sorted[at+1] == id {
				out[n] = 0
			}
		}
		return out
	}
	return numbers
}

// Reassume returns h, of which the claims are assumed, with the versions of reads assumed anew: what follows from them depends
// on which transactions h has.
func (h *History) Reassume() *History {
	out := *h.plain()
	out.assumed = false
	return out.AssumeOrder()
}

// OrderOnly returns h, of which the claims are assumed, without the snapshots.
func (h *History) OrderOnly() *History {
	out := *h
	out.claims, out.snapped, out.visible = make([]Claim, len(h.claims)), false, false
	for i := range out.claims {
		out.claims[i].Commit = h.claims[i].Commit
	}
	return &out
}

// OrderAssumed reports whether the claimed order of versions is a part of what is judged.
func (h *History) OrderAssumed() bool { return h.assumed && h.placed }

// SnapshotsAssumed reports whether the claimed snapshots are a part of what is judged at snapshot levels.
func (h *History) SnapshotsAssumed() bool { return h.assumed && (h.snapped || h.visible) }

// Place returns the position that orders the versions of the transaction at index i, at least 1. It is 0 if nothing is
// assumed about them.
func (h *History) Place(i int) int64 {
	if !h.assumed || h.Txns[i].Status == Aborted {
		return 0
	}
	return h.claims[i].Commit
}

// Shows says what is assumed about two transactions, by their indices: has, that the snapshot of s has what t wrote, so
// that t commits before s starts if both count; lacks, that it does not, so that s starts before t commits. Claims that
// contradict each other say both. Nothing is assumed about a transaction that wrote nothing, or that has neither a position
// nor a number of its own. A position of a snapshot that would have the transaction's own commit says nothing.
func (h *History) Shows(s, t int) (has, lacks bool) {
	if !h.assumed || s == t || h.Txns[s].Status == Aborted || h.Txns[t].Status == Aborted {
		return false, false
	}
	if at, told := h.SnapshotAt(s); told && h.claims[t].Commit != 0 {
		has = h.claims[t].Commit <= at
		lacks = !has
	}
	if v := h.claims[s].Visible; v != nil && h.DBTxn(t) > 0 {
		in := v.Has(h.DBTxn(t))
		has, lacks = has || in, lacks || !in
	}
	if (has || lacks) && !h.writes(t) {
		return false, false
	}
	return has, lacks
}

// SnapshotAt returns the position of the snapshot of the transaction at index i, as far as it is assumed.
func (h *History) SnapshotAt(i int) (at int64, told bool) {
	if !h.assumed {
		return 0, false
	}
	c := &h.claims[i]
	return c.Snapshot, c.Snapped && (c.Commit == 0 || c.Commit > c.Snapshot)
}

// writes reports whether the transaction at index i wrote anything.
func (h *History) writes(i int) bool {
	for _, op := range h.Ops(&h.Txns[i]) {
		if op.Kind == Write {
			return true
		}
	}
	return false
}
