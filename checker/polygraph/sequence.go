package polygraph

import "math/bits"

// sequence keeps nodes in a sequence, in which a few are moved now and then without
// touching the others: a place is a number, and between two there mostly is
// another (Bender et al., "Two simplified algorithms for maintaining order in a
// list", ESA 2002).
type sequence struct {
	pos []int32 // by node: its place, above 0 and mostly below span
	// next and prev are the neighbours in the sequence; behind the last node, and
	// before the first one, comes the number of nodes.
	next, prev []int32
	gap        int32 // between neighbours, to begin with
}

// span bounds places, so that their doubles are numbers, too, unless there are more
// nodes than that.
const span = 1 << 29

func newSequence(nodes []int32, count int32) sequence {
	s := sequence{pos: make([]int32, count+1), next: make([]int32, count+1), prev: make([]int32, count+1)}
	s.gap = max(1, span/(count+2))
	last := count
	for i, v := range nodes {
		s.pos[v] = int32(i+1) * s.gap
		s.next[last], s.prev[v] = v, last
		last = v
	}
	s.next[last], s.prev[count] = count, last
	return s
}

// first returns the first node, or end if there is none.
func (s *sequence) first() int32 { return s.next[s.end()] }

// end stands behind the last node.
func (s *sequence) end() int32 { return int32(len(s.pos) - 1) }

// low returns the place of a node that others come behind.
func (s *sequence) low(v int32) int32 {
	if v == s.end() {
		return 0
	}
	return s.pos[v]
}

// high returns the place of a node that others come before.
func (s *sequence) high(v int32) int32 {
	if v == s.end() {
		return max(span, (s.end()+2)*s.gap)
	}
	return s.pos[v]
}

// cut takes a node out.
func (s *sequence) cut(v int32) {
	s.next[s.prev[v]], s.prev[s.next[v]] = s.next[v], s.prev[v]
}

// put puts nodes that were cut, in their order, right behind another.
func (s *sequence) put(nodes []int32, behind int32) {
	last, end := behind, s.next[behind]
	for _, v := range nodes {
		s.next[last], s.prev[v] = v, last
		last = v
	}
	s.next[last], s.prev[end] = end, last
	n := int32(len(nodes))
	if s.high(end)-s.low(behind) > n {
		s.number(behind, end, n)
	} else {
		s.spread(behind, end, n)
	}
}

// number gives the n nodes between two others places at the same distance.
func (s *sequence) number(behind, before, n int32) {
	low := s.low(behind)
	room, i := int64(s.high(before)-low), int64(1)
	for v := s.next[behind]; v != before; v = s.next[v] {
		s.pos[v] = low + int32(room*i/int64(n+1))
		i++
	}
}

// spread makes room for the n nodes between two others by giving new places to
// those around them, as far as they stand too close together. The more there are,
// the less is too close, up to half of the distance to begin with, so that there is
// room left in each part of what was spread.
func (s *sequence) spread(behind, before, n int32) {
	levels := int32(bits.Len32(uint32(s.end())))
	for step, level := n, int32(1); ; step, level = step*2, min(level+1, levels) {
		for range step {
			if behind != s.end() {
				behind, n = s.prev[behind], n+1
			}
			if before != s.end() {
				before, n = s.next[before], n+1
			}
		}
		if behind == before || s.high(before)-s.low(behind) > n*(s.gap/2/levels*level+1) {
			s.number(behind, before, n)
			return
		}
	}
}
