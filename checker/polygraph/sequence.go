package polygraph

import "math/bits"

// sequence is a list of nodes in which a few can be moved without renumbering the others. The
// position of a node is a number. Between two positions there is mostly a free one (order
// maintenance: Bender et al., "Two simplified algorithms for maintaining order in a list", ESA
// 2002).
type sequence struct {
	pos []int32 // by node: its position, above 0 and mostly below span
	// next and prev are the neighbours in the list. The list is circular: the number of nodes
	// stands for its end.
	next, prev []int32
	gap        int32 // the first distance between neighbours
}

// span bounds positions. Twice a position is then an int32, too, unless there are more nodes than
// span.
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

// end is the sentinel after the last node and before the first one.
func (s *sequence) end() int32 { return int32(len(s.pos) - 1) }

// low returns the position of v as a lower bound: 0 for the sentinel.
func (s *sequence) low(v int32) int32 {
	if v == s.end() {
		return 0
	}
	return s.pos[v]
}

// high returns the position of v as an upper bound: above all positions for the sentinel.
func (s *sequence) high(v int32) int32 {
	if v == s.end() {
		return max(span, (s.end()+2)*s.gap)
	}
	return s.pos[v]
}

// cut removes a node from the list.
func (s *sequence) cut(v int32) {
	s.next[s.prev[v]], s.prev[s.next[v]] = s.next[v], s.prev[v]
}

// put inserts nodes that were cut, in their order, right after node behind.
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

// number spaces the n nodes between two others evenly.
func (s *sequence) number(behind, before, n int32) {
	low := s.low(behind)
	room, i := int64(s.high(before)-low), int64(1)
	for v := s.next[behind]; v != before; v = s.next[v] {
		s.pos[v] = low + int32(room*i/int64(n+1))
		i++
	}
}

// spread makes room for the n nodes between two others. It gives new positions to the nodes around
// them, in a range that grows until it is not too dense. The larger the range, the larger the
// distance between its positions must be, up to half of the first distance. So there is room left
// in each part of the range.
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
