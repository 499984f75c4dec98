package polygraph

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/sat"
	"github.com/isohound/isohound/checker/verdict"
)

// unfinished is called with the error of a check. If the context has ended, it adds the progress to
// the error. Otherwise it returns the error unchanged.
func (c *check) unfinished(err error) error {
	if c.ctx.Err() == nil {
		return err
	}
	u := &engine.Unfinished{Cause: err, Result: c.res}
	switch s, x := c.saturator, c.search; {
	case c.res.Verdict == verdict.Violated:
		u.Progress = "a violation was found, but no counterexample was extracted yet"
	case x != nil:
		u.Progress = fmt.Sprintf("%s; search: %s, %s, %s", openReads(s, "after saturation"), count(x.s.Stats.Variables, "variable"),
			count(x.s.Stats.Clauses, "clause"), count(int(x.s.Stats.Conflicts), "conflict"))
		if p := x.pipe; p != nil && p.constraints > 0 {
			u.Progress += fmt.Sprintf("; %d of %s made up front left open by the known graph", p.left, count(p.constraints, "constraint"))
		}
		if txns, keys := x.largestComponent(); txns > 0 {
			u.Progress += fmt.Sprintf("; the largest component of the clauses has %s on %s", count(txns, "transaction"), count(keys, "key"))
		}
	case s != nil:
		u.Progress = fmt.Sprintf("saturation: %s, %s added, %s", count(s.passes, "pass"), count(len(s.g.edges)-s.given, "edge"), openReads(s, "so far"))
	}
	// A part of a proof proves nothing.
	c.res.Verdict, c.res.Anomalies, c.res.Witness = verdict.Unknown, nil, nil
	return u
}

func openReads(s *saturator, when string) string {
	return fmt.Sprintf("%d of %s with several possible writers still open %s", len(s.open)+len(s.pending), count(s.opened, "read"), when)
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case what == "pass":
		return fmt.Sprintf("%d passes", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// largestComponent measures the largest connected component of the clauses that are not decided
// yet, learnt clauses included. It returns the number of its transactions and the number of keys
// that two of them access, one of them by a write. Literals at level 0 connect nothing.
func (x *search) largestComponent() (txns, keys int) {
	n := int32(len(x.m.txns))
	parent := make([]int32, n)
	size := make([]int, n)
	for t := range parent {
		parent[t], size[t] = int32(t), 1
	}
	find := func(t int32) int32 {
		for parent[t] != t {
			parent[t] = parent[parent[t]]
			t = parent[t]
		}
		return t
	}
	best := none
	x.s.EachClause(func(lits []sat.Lit) {
		if slices.ContainsFunc(lits, func(l sat.Lit) bool { return x.s.Fixed(l) && x.s.True(l) }) {
			return
		}
		first := none // of the clause
		join := func(t int32) {
			if t = find(t); first == none {
				first = t
			} else if first = find(first); first != t {
				parent[t] = first
				size[first] += size[t]
			}
		}
		for _, l := range lits {
			if x.s.Fixed(l) {
				continue
			}
			switch v := x.vars[l.Var()]; v.kind {
			case isBefore, isWriteChains:
				from, to := x.edgeOf(l)
				join(x.g.txnOf(from))
				join(x.g.txnOf(to))
			case isCounted:
				join(v.a)
			case isOther:
				join(x.m.reads[v.a].txn)
			case isSource:
				join(x.m.reads[v.a].txn)
				if w := x.sources[v.a].list[v.b].write; w != fromInitial {
					join(x.m.writer[w])
				}
			}
		}
		if first != none && (best == none || size[first] > size[find(best)]) {
			best = first
		}
	})
	if best == none {
		return 0, 0
	}
	best = find(best)
	meet := func(k int32) bool {
		seen := none
		for w := x.m.keyFrom[k]; w < x.m.keyFrom[k+1]; w++ {
			if t := x.m.writer[w]; find(t) == best {
				if seen != none {
					return true
				}
				seen = t
			}
		}
		if seen == none {
			return false
		}
		for _, r := range x.m.readsOn.of(k) {
			if t := x.m.reads[r].txn; t != seen && find(t) == best {
				return true
			}
		}
		return false
	}
	for k := range int32(x.m.h.KeyCount()) {
		if meet(k) {
			keys++
		}
	}
	return size[best], keys
}
