package scans

import "github.com/isohound/isohound/history"

// disturbed returns an entry whose transaction reads, or finds, what the writes in the log have just
// changed, or -1.
func (s *schedule) disturbed(n int32) int32 {
	for i := range s.log {
		k, old := s.log[i].key, s.log[i].old
		now := s.values[k]
		if now == old {
			continue
		}
		for at := s.readers[k]; at > 0; at = s.nodes[at-1].next {
			if r := &s.nodes[at-1]; r.entry != n && r.value == old {
				return r.entry
			}
		}
		p := &s.places[k]
		if p.t == nil {
			continue
		}
		if g := s.groups[p.t.first+int(p.group)]; g != nil {
			if other := s.found(g, n, p.row, g.of(old), g.now[p.row]); other >= 0 {
				return other
			}
		}
	}
	return -1
}

// found is disturbed for a row that changed in a group.
func (s *schedule) found(g *stored, n, row, old, now int32) int32 {
	for _, c := range g.columns {
		was, is := int32(-1), int32(-1)
		if old >= 0 {
			was = c.rank[old]
		}
		if now >= 0 {
			is = c.rank[now]
		}
		if was == is {
			continue
		}
		for i := range c.pending {
			p := &c.pending[i]
			width := uint32(p.to - p.from)
			before, after := uint32(was-p.from) < width, uint32(is-p.from) < width
			if !before && !after || p.entry == n {
				continue
			}
			q := &s.entries[p.entry].queries[p.query]
			if x := &q.demands[p.demand]; len(x.conditions) > 0 {
				before, after = x.has(old), x.has(now)
			}
			if before != after && q.matches(row, int(p.demand)) && s.hadRight(q, row, before) {
				return p.entry
			}
		}
	}
	if (old < 0) != (now < 0) {
		at := g.t.keyAt[row]
		for i := range g.pending {
			p := &g.pending[i]
			if p.entry == n || at < p.from || at >= p.to {
				continue
			}
			if q := &s.entries[p.entry].queries[p.query]; q.matches(row, 0) && s.hadRight(q, row, old >= 0) {
				return p.entry
			}
		}
	}
	return -1
}

// hadRight reports whether a row that has just begun or ceased to fulfil the conditions of a statement should
// not have. before says whether it fulfilled them. What a count needs is that there are not too many rows, or
// too few.
func (s *schedule) hadRight(q *query, row int32, before bool) bool {
	if q.p.Kind != history.ScanCount {
		return s.returned(q, row) == before
	}
	if n := q.count(); before {
		return n < q.p.Count
	} else {
		return n > q.p.Count
	}
}

// fewFound is up to how many operations of a statement are gone through each time.
const fewFound = 64

// returned reports whether a statement found a row.
func (s *schedule) returned(q *query, row int32) bool {
	if len(q.ops) > fewFound {
		if q.found == nil {
			q.found = make(map[int32]bool, len(q.ops))
			for i := range q.ops {
				q.found[s.places[q.ops[i].Key].row] = true
			}
		}
		return q.found[row]
	}
	for i := range q.ops {
		if s.places[q.ops[i].Key].row == row {
			return true
		}
	}
	return false
}
