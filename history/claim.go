package history

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
	out := *h
	out.claims, out.assumed, out.placed, out.visible = claims, false, false, false
	for _, c := range claims {
		out.placed, out.visible = out.placed || c.Placed(), out.visible || c.Visible != nil
	}
	return &out
}

// AssumeOrder returns h with the claimed order of versions as a part of what is judged: of two transactions that
// wrote a key, and that both count, the one with the lower Place wrote the earlier version. Without claims it
// returns h. Parts of the result assume the same of what is left of them.
func (h *History) AssumeOrder() *History {
	if !h.placed || h.assumed {
		return h
	}
	out := *h
	out.assumed = true
	return &out
}

// OrderAssumed reports whether the claimed order of versions is a part of what is judged.
func (h *History) OrderAssumed() bool { return h.assumed }

// Place returns the position that orders the versions of the transaction at index i, at least 1. It is 0 if nothing is
// assumed about them.
func (h *History) Place(i int) int64 {
	if !h.assumed || h.Txns[i].Status == Aborted {
		return 0
	}
	return h.claims[i].Commit
}
