package sim

import "slices"

// node is a replica: the commits that it has not shown yet. Nothing is copied;
// a replica is a set of commits, and what it has of a key is what that set
// shows. Time is counted in commits, so that how far it is behind does not
// depend on the machine.
type node struct{ pending []*arrival }

// arrival is a commit on its way to a node.
type arrival struct {
	t *tx
	// at is the number of the commit with which it shows here.
	at int64
}

// whole is the commit up to which the node has them all.
func (n *node) whole(now int64) int64 {
	for _, a := range n.pending {
		if a.at > now {
			return min(now, a.t.commit-1)
		}
	}
	return now
}

// snapshot is what the node has, and what is asked of it besides: all commits
// up to least.
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

// replicate sends a commit to all nodes. That of its session shows it at once,
// the others within lag commits; each shows first what the commit must not
// overtake.
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

// show has a node show a commit now, and before that what it must not overtake.
// These have been sent with the same care, so that the node has what they
// depend on, or gets it here too.
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

// dependsOn reports whether t, which committed later, may have learnt of u or
// changed what u read: it must not show where u does not.
func (t *tx) dependsOn(u *tx) bool { return t.snap.has(u.commit) || t.s == u.s || t.overwrote(u) }
