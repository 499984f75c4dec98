// Package nearness measures how near a run came to a violation. It decides nothing: a run that came near may be
// correct, and one that did not may be violated.
//
// The versions of each key are put in the order in which their writers ended, which is a guess at the database's order.
// With it every read of a known version gives dependencies WR and RW, and every version but the first one WW, as in the
// direct serialization graph of Adya, Liskov and O'Neil (ICDE 2000), section 4. A dependency counts if its two
// transactions overlapped in time and belong to two sessions: only such transactions can meet in the database.
//
// The time is linear in the operations, but for a binary search for each read. Values are compared with the last few
// versions only: an older version is not near. Of a run with more than Most transactions a stretch from its middle is
// measured, so that the time has a limit.
package nearness

import (
	"slices"
	"sort"

	"github.com/isohound/isohound/history"
)

// Nearness are the counts of a run. All but Scans count committed transactions or what they did, if nothing
// else is said. The final read of a run does not count.
type Nearness struct {
	Txns int `json:"txns"` // committed, in the stretch that was measured
	// Overlapping transactions overlapped in time with one of another session.
	Overlapping int `json:"overlapping"`
	// Refused are aborted transactions that had a conflict with one that overlapped and committed: both used a key, and at
	// least the committed one wrote it.
	Refused int `json:"refused"`
	// WR, WW and RW are dependencies between transactions that overlapped.
	WR int `json:"wr"`
	WW int `json:"ww"`
	RW int `json:"rw"`
	// Absent are those of RW whose reader did not find the key.
	Absent int `json:"absent"`
	// Fresh are reads of a version of another session whose writer is one of the last transactions before the reader.
	Fresh int `json:"fresh"`
	// Own are reads of the latest of another transaction's versions of the own session.
	Own int `json:"own"`
	// Again are reads of a key that the same transaction had read or written.
	Again int `json:"again"`
	// Pairs are transactions that read two keys from one other transaction that is fresh or overlapped.
	Pairs int `json:"pairs"`
	// Scans are statements with conditions in transactions that overlapped with another one that wrote.
	Scans int `json:"scans"`
	// Stale are reads of a version that was overwritten before the reader began: only real time is against it.
	Stale int `json:"stale"`
	// Pivots have an RW dependency in and one out, both of transactions that overlapped: the dangerous structure of
	// Fekete and others (TODS 2005), Theorem 2.1. A cycle lacks the way back.
	Pivots int `json:"pivots"`
	// Cyclic are transactions on cycles of dependencies. In a satisfied run the level allows the cycle, or the guessed
	// order of versions is not the database's.
	Cyclic int `json:"cyclic"`
}

// Kinds are the names of the counts that Values returns, in its order.
var Kinds = []string{"overlapping", "refused", "WR", "WW", "RW", "absent", "fresh", "own", "again", "pairs", "scans", "stale", "pivots", "cyclic"}

// Values are the counts of each kind of opportunity.
func (n *Nearness) Values() []int {
	return []int{n.Overlapping, n.Refused, n.WR, n.WW, n.RW, n.Absent, n.Fresh, n.Own, n.Again, n.Pairs, n.Scans, n.Stale, n.Pivots, n.Cyclic}
}

// Distances from a cycle.
const (
	Cycle    = iota // transactions lie on cycles, which the level allows or the guessed order made
	Pivot           // two adjacent anti-dependencies of overlapping transactions: the way back is missing
	Conflict        // overlapping transactions depend on each other, or one was refused for it
	Overlap         // transactions overlapped, and never met
	Nothing
)

// Distance says what was missing for a cycle, from 0 (nothing) to 4 (no transactions overlapped).
func (n *Nearness) Distance() int {
	switch {
	case n.Cyclic > 0:
		return Cycle
	case n.Pivots > 0:
		return Pivot
	case n.WR+n.WW+n.RW+n.Refused > 0:
		return Conflict
	case n.Overlapping > 0:
		return Overlap
	}
	return Nothing
}

// Most is the number of transactions that are measured at most, whatever their outcome.
const Most = 10_000

const (
	// window is how many transactions before a reader are the last ones.
	window = 16
	// older and newer are how many versions before and after the reader's place are compared with a value.
	older, newer = 8, 4
)

// version is a version of a key.
type version struct {
	value  history.Value
	writer int32 // index of the transaction
}

type measure struct {
	h       *history.History
	txns    []history.Txn
	first   int     // index of the first of txns
	from    []int32 // versions of key k are from[k] up to from[k+1]
	all     []version
	edges   [][2]int32
	in, out []bool // an RW dependency of overlapping transactions
	n       Nearness
}

// Measure measures a history. Transactions stand in the order in which they ended, as a run records them; of a history in
// another order, or without times of one clock, the counts say little.
func Measure(h *history.History) *Nearness {
	m := &measure{h: h, txns: h.Txns[:h.Fences()]}
	if n := len(m.txns); n > Most {
		m.first = (n - Most) / 2
		m.txns = m.txns[m.first : m.first+Most]
	}
	m.in, m.out = make([]bool, len(m.txns)), make([]bool, len(m.txns))
	m.versions()
	m.overlapping()
	for i := range m.txns {
		switch m.txns[i].Status {
		case history.Committed:
			m.n.Txns++
			m.reads(i)
		case history.Aborted:
			if m.refused(i) {
				m.n.Refused++
			}
		}
	}
	m.writes()
	for i := range m.txns {
		if m.in[i] && m.out[i] {
			m.n.Pivots++
		}
	}
	m.n.Cyclic = cyclic(len(m.txns), m.edges)
	return &m.n
}

// last reports whether ops[at] is the last write of its key in a transaction.
func last(ops []history.Op, at int) bool {
	for _, later := range ops[at+1:] {
		if later.Kind == history.Write && later.Key == ops[at].Key {
			return false
		}
	}
	return true
}

// versions lists the versions of each key, in the order in which their writers ended.
func (m *measure) versions() {
	m.from = make([]int32, m.h.KeyCount()+1)
	for pass := range 2 {
		for i := range m.txns {
			if m.txns[i].Status != history.Committed {
				continue
			}
			ops := m.h.Ops(&m.txns[i])
			for at, op := range ops {
				if op.Kind != history.Write || !last(ops, at) {
					continue
				}
				if pass == 1 {
					m.all[m.from[op.Key]] = version{op.Value, int32(i)}
				}
				m.from[op.Key]++
			}
		}
		if pass == 0 { // counts become the places where each key's versions begin
			sum := int32(0)
			for k, n := range m.from {
				m.from[k], sum = sum, sum+n
			}
			m.all = make([]version, sum)
		}
	}
	// Each place has moved to the end of its key's versions, where the next key's begin.
	copy(m.from[1:], m.from)
	m.from[0] = 0
}

func (m *measure) of(k history.Key) []version { return m.all[m.from[k]:m.from[k+1]] }

// met reports whether two transactions overlapped and belong to two sessions.
func (m *measure) met(a, b int) bool {
	s, t := &m.txns[a], &m.txns[b]
	return s.Session != t.Session && s.End >= t.Begin && t.End >= s.Begin
}

// overlapping counts the transactions that overlapped with one of another session, among those that ended next to
// them, and the scans beside writers.
func (m *measure) overlapping() {
	n := len(m.txns)
	met, beside := make([]bool, n), make([]bool, n)
	writes := make([]bool, n)
	for i := range m.txns {
		writes[i] = m.txns[i].Status == history.Committed && slices.ContainsFunc(m.h.Ops(&m.txns[i]), func(op history.Op) bool { return op.Kind == history.Write })
		for j := max(0, i-window); j < i; j++ {
			if (met[i] || m.txns[i].Status != history.Committed) && (met[j] || m.txns[j].Status != history.Committed) && !m.h.HasPredicates() {
				continue
			}
			if m.txns[i].Status == history.Committed && m.txns[j].Status == history.Committed && m.met(i, j) {
				met[i], met[j] = true, true
				beside[i], beside[j] = beside[i] || writes[j], beside[j] || writes[i]
			}
		}
	}
	for i := range m.txns {
		if met[i] {
			m.n.Overlapping++
		}
		if beside[i] {
			m.n.Scans += len(m.h.Predicates(m.first + i))
		}
	}
}

// place is the number of a key's versions whose writers ended before a transaction.
func place(all []version, i int) int {
	return sort.Search(len(all), func(n int) bool { return int(all[n].writer) >= i })
}

// reads adds the dependencies of what a transaction read.
func (m *measure) reads(i int) {
	ops := m.h.Ops(&m.txns[i])
	source, pair := int32(-1), false
	for at, op := range ops {
		if op.Kind != history.Read {
			continue
		}
		own, again := false, false
		for _, before := range ops[:at] {
			if before.Key == op.Key {
				again, own = true, own || before.Kind == history.Write
			}
		}
		if again {
			m.n.Again++
		}
		if own {
			continue // its own write, or a defect that needs no other transaction
		}
		all := m.of(op.Key)
		v := find(all, place(all, i), op.Value)
		if v < 0 && op.Value != m.h.Initial(op.Key) {
			continue // an old version, or nobody's
		}
		if v >= 0 {
			w := int(all[v].writer)
			if w == i {
				continue
			}
			m.edges = append(m.edges, [2]int32{int32(w), int32(i)})
			met := m.met(w, i)
			fresh := m.txns[w].Session != m.txns[i].Session && w < i && i-w <= window
			if met {
				m.n.WR++
			}
			if fresh {
				m.n.Fresh++
			}
			if m.txns[w].Session == m.txns[i].Session {
				m.n.Own++
			}
			if met || fresh {
				pair = pair || int32(w) == source
				source = int32(w)
			}
		}
		if v+1 < len(all) && (v >= 0 || place(all, i) <= older) {
			m.overwritten(i, int(all[v+1].writer), op.Value == history.Absent)
		}
	}
	if pair {
		m.n.Pairs++
	}
}

// overwritten adds the RW dependency of a reader on the writer of the next version.
func (m *measure) overwritten(i, next int, absent bool) {
	if next == i {
		return
	}
	m.edges = append(m.edges, [2]int32{int32(i), int32(next)})
	switch {
	case m.met(i, next):
		m.n.RW++
		m.out[i], m.in[next] = true, true
		if absent {
			m.n.Absent++
		}
	case next < i && m.txns[next].End < m.txns[i].Begin:
		m.n.Stale++
	}
}

// find looks for a value among the versions near a place, -1 if it is not there.
func find(all []version, at int, v history.Value) int {
	for n := at - 1; n >= 0 && n >= at-older; n-- {
		if all[n].value == v {
			return n
		}
	}
	for n := at; n < len(all) && n < at+newer; n++ {
		if all[n].value == v {
			return n
		}
	}
	return -1
}

// writes adds the WW dependencies.
func (m *measure) writes() {
	for k := range len(m.from) - 1 {
		all := m.all[m.from[k]:m.from[k+1]]
		for n := 1; n < len(all); n++ {
			a, b := int(all[n-1].writer), int(all[n].writer)
			m.edges = append(m.edges, [2]int32{int32(a), int32(b)})
			if m.met(a, b) {
				m.n.WW++
			}
		}
	}
}

// refused reports whether an aborted transaction used a key that an overlapping one wrote.
func (m *measure) refused(i int) bool {
	for _, op := range m.h.Ops(&m.txns[i]) {
		all := m.of(op.Key)
		at := place(all, i)
		for n := max(0, at-2); n < min(len(all), at+2); n++ {
			if m.met(i, int(all[n].writer)) {
				return true
			}
		}
	}
	return false
}

// Add adds the counts of another run.
func (n *Nearness) Add(o *Nearness) {
	n.Txns += o.Txns
	to := []*int{&n.Overlapping, &n.Refused, &n.WR, &n.WW, &n.RW, &n.Absent, &n.Fresh, &n.Own, &n.Again, &n.Pairs, &n.Scans, &n.Stale, &n.Pivots, &n.Cyclic}
	for k, v := range o.Values() {
		*to[k] += v
	}
}
