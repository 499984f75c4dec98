package polygraph

import (
	"context"

	"github.com/isohound/isohound/accel"
)

// An entry is about a node and a chain: the last position of the chain from which the node can be
// reached. If the closure keeps rows along sessions, they have the entries. Any other closure is
// asked, before keys are visited, which nodes that access a key reach which others. Each
// transaction then is a chain by itself.

// groups has the answers for some keys, one group for each key. The members of a group are the
// commits of the writers, their starts if these differ, and the starts of the readers.
type groups struct {
	accel.Groups
	of []int32 // by index of the contested key: its group, or none
}

// maxAsked bounds the size of one answer, in words.
const maxAsked = 4 << 20

// ask asks the closure about the first of the given runs, up to maxAsked words, and there about the
// keys that have news. It returns how many runs it covered.
func (s *saturator) ask(ctx context.Context, runs []int32, all bool) (asked int, err error) {
	g := &s.groups
	if g.of == nil {
		g.of = make([]int32, len(s.contested.keys))
		g.Start = make([]int32, 0, len(s.contested.keys)+1)
		g.Members = make([]int32, 0, s.contested.accesses<<s.g.split)
	}
	g.Start, g.Members = append(g.Start[:0], 0), g.Members[:0]
	for words := 0; asked < len(runs) && words < maxAsked; asked++ {
		for at := s.contested.runs[runs[asked]]; at < s.contested.runs[runs[asked]+1]; at++ {
			g.of[at] = none
			k, before := s.contested.keys[at], len(g.Members)
			if !s.worthALook(k, s.contested.of(at), all) {
				continue
			}
			s.members(k)
			if size := len(g.Members) - before; size <= maxLocal/size {
				g.of[at] = int32(len(g.Start) - 1)
				g.Start = append(g.Start, int32(len(g.Members)))
				words += size * ((size + 63) / 64)
			} else {
				g.Members = g.Members[:before]
			}
		}
	}
	return asked, s.reach.closure.Among(ctx, &g.Groups)
}

// members appends the members of key k to the group.
func (s *saturator) members(k int32) {
	writers, readers := s.m.writer[s.m.keyFrom[k]:s.m.keyFrom[k+1]], s.m.readsOn.of(k)
	list := s.groups.Members
	for _, t := range writers {
		list = append(list, s.g.commit(t))
	}
	if s.g.split == 1 {
		for _, t := range writers {
			list = append(list, s.g.start(t))
		}
	}
	for _, r := range readers {
		list = append(list, s.g.start(s.m.reads[r].txn))
	}
	s.groups.Members = list
}

// Indices of the members of the current key's group.
func (w *worker) commitMember(writer int32) int32 { return writer }
func (w *worker) startMember(writer int32) int32  { return writer + int32(len(w.writers))*w.g.split }
func (w *worker) readerMember(reader int32) int32 { return reader + int32(len(w.writers))<<w.g.split }

// answered returns the answer about a member: one bit for each member, set if that member reaches it.
func (w *worker) answered(member int32) []uint64 {
	g := &w.groups
	words := int64(g.Start[w.group+1]-g.Start[w.group]+63) / 64
	return g.Bits[g.At[w.group]+int64(member)*words:][:words]
}

func bit(bits []uint64, i int32) uint64 { return bits[i>>6] >> (i & 63) & 1 }

// fillRow fills out with the entries of a node, by local chain, for as many chains as out has room.
// The node accesses the current key, and member is its index in the group.
func (w *worker) fillRow(node, member int32, out []int32) {
	if w.reach.rows != nil {
		row := w.reach.rows.Row(node)
		for i, c := range w.chains[:len(out)] {
			out[i] = row[c]
		}
		return
	}
	bits, isCommit := w.answered(member), w.g.split == 1 && member < w.startMember(0)
	for i := range int32(len(out)) {
		out[i] = int32(bit(bits, i)) << w.g.split
		if isCommit { // a start reaches all that its commit reaches
			out[i] = int32(bit(bits, i) + bit(bits, w.startMember(i)))
		}
	}
}
