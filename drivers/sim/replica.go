package sim

import "slices"

// node is a replica: the commits that it does not show yet. Nothing is copied: a replica is a
// set of commits, and its state is what that set shows. Time is counted in commits, so that the
// lag does not depend on the machine.
type node struct{ pending []*arrival }

// arrival is a commit that a node does not show yet.
type arrival struct {
	t *tx
	// at is the number of the commit from which on it shows here.
	at int64
}

// whole is the last commit up to which the node shows all.
func (n *node) whole(now int64) int64 {
	for _, a := range n.pending {
		if a.at > now {
			return min(now, a.t.commit-1)
		}
	}
	return now
}

// snapshot is the state of the node, plus all commits up to least.
func (n *node) snapshot(now, least int64) snapshot {
	n.pending = slices.DeleteFunc(n.pending, func(a *arrival) bool { return a.at <= now })
	s := snapshot{upto: now}
	for _, a := range n.pending {
		if a.t.commit > least {
			s.hidden = append(s.hidden, a.t.commit)
		}
	}
	return s
}

// replicate sends a commit to all nodes. The session's own node shows it at once, the others
// within lag commits. Each node first shows the commits that this one must not overtake.
func (d *db) replicate(t *tx) {
	inOrder, causal := t.s.keeps(replicationOrder), t.s.keeps(causality)
	if !d.iso.keeps[replicationOrder] {
		inOrder, causal = true, true
	}
	for n, node := range d.nodes {
		a := &arrival{t: t, at: t.commit}
		before := func(b *arrival) bool { return causal && (inOrder || t.dependsOn(b.t)) }
		if n == t.s.home {
			node.show(a, before)
			continue
		}
		a.at += t.s.rng.Int64N(d.opt.lag + 1)
		for _, b := range node.pending {
			if before(b) {
				a.at = max(a.at, b.at)
			}
		}
		node.pending = append(node.pending, a)
	}
}

// catchUp shows at each node what is pending earlier, by more than an eighth of the lag. It is called for a transaction that only
// read and was rolled back: if all sessions do that, waiting for a commit, nodes must catch up without one, and soon.
func (d *db) catchUp() {
	for _, n := range d.nodes {
		for _, a := range n.pending {
			a.at -= 1 + d.opt.lag/8
		}
	}
}

// show makes a node show a commit at a.at, and before it those that it must not overtake,
// together with the commits on which these depend.
func (n *node) show(a *arrival, before func(*arrival) bool) {
	must := map[*tx]bool{}
	for i := len(n.pending) - 1; i >= 0; i-- {
		b := n.pending[i]
		needed := before(b)
		for later := range must {
			needed = needed || later.dependsOn(b.t)
		}
		if needed {
			must[b.t] = true
			b.at = min(b.at, a.at)
		}
	}
}

// dependsOn reports whether t, which committed later, may have read from u, or overwritten what
// u read. Then t must not show where u does not.
func (t *tx) dependsOn(u *tx) bool { return t.snap.has(u.commit) || t.s == u.s || t.overwrote(u) }
