// Package explain names anomalies and describes in words what happened and why it is wrong.
package explain

import (
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Names of the MTC paper's Figure 5.
const (
	ThinAirRead               = "ThinAirRead"
	AbortedRead               = "AbortedRead"
	FutureRead                = "FutureRead"
	NotMyLastWrite            = "NotMyLastWrite"
	NotMyOwnWrite             = "NotMyOwnWrite"
	IntermediateRead          = "IntermediateRead"
	NonRepeatableReads        = "NonRepeatableReads"
	SessionGuaranteeViolation = "SessionGuaranteeViolation"
	NonMonotonicRead          = "NonMonotonicRead"
	FracturedRead             = "FracturedRead"
	CausalityViolation        = "CausalityViolation"
	LongFork                  = "LongFork"
	LostUpdate                = "LostUpdate"
	WriteSkew                 = "WriteSkew"
)

// LostWrite is a cycle with one anti-dependency, from a transaction of a run's final read: it found
// an older version than a committed transaction had left.
const LostWrite = "LostWrite"

// ClaimedSnapshot is a cycle of which snapshots that the database claims are a part (--versions assume).
const ClaimedSnapshot = "ClaimedSnapshot"

// Names of cycles in which a scan did not find a row.
const (
	// Phantom is a cycle with one anti-dependency, from a transaction that did not find a row to
	// one that inserted or changed it.
	Phantom = "Phantom"
	// PredicateWriteSkew is a write skew in which at least one transaction did not find a row that
	// the other one inserted or changed.
	PredicateWriteSkew = "PredicateWriteSkew"
)

// kindNames are the names of the anomalies that are not cycles: the MTC paper's first, then Adya's
// or Elle's. A lost update is G-single, whichever of the two writes came second: the transaction of
// the second write read the version that the first one overwrote.
var kindNames = map[verdict.Kind][]string{
	verdict.ThinAirRead:        {ThinAirRead},
	verdict.AbortedRead:        {AbortedRead, "G1a"},
	verdict.FutureRead:         {FutureRead, "future-read", "internal"},
	verdict.NotMyLastWrite:     {NotMyLastWrite, "internal"},
	verdict.NotMyOwnWrite:      {NotMyOwnWrite, "internal"},
	verdict.IntermediateRead:   {IntermediateRead, "G1b"},
	verdict.NonRepeatableReads: {NonRepeatableReads, "internal"},
	verdict.Divergence:         {LostUpdate, "lost-update", "G-single"},
	verdict.DoubleInsert:       {"DoubleInsert"},
	verdict.ImpossibleFailure:  {"ImpossibleFailure"},
	verdict.Contradiction:      {"Contradiction"},
	verdict.NoChoice:           {"Contradiction"},
	verdict.DuplicateRow:       {DuplicateRow},
}

// shape has the properties of a cycle on which its names depend.
type shape struct {
	edges, so, rt, wr, ww, rw int
	// adjacent: two anti-dependencies are adjacent.
	adjacent bool
	// oneKey: all edges except session order and real time are about one key. oneVersion: all
	// anti-dependencies are about one version of one key.
	oneKey, oneVersion bool
	// inferred counts the WW edges that are not shown by a transaction that read what it overwrote.
	// They follow from the reads of others. If the database had the other order, one of those reads
	// missed a write, which is a cycle of one anti-dependency: G-single. fractured: two such edges
	// follow from reads of one transaction.
	inferred  int
	fractured bool
	// overwrites: every edge, except session order and real time, leads to a transaction that
	// overwrote, on the edge's key, what the previous one wrote.
	overwrites bool
	// newThenOld: in a cycle of one WR edge and one anti-dependency, the reader read the new value
	// before the old one.
	newThenOld bool
	// oldWritten: a transaction wrote the old value of that cycle; it is not the initial value.
	oldWritten bool
	// scans counts the reads that follow from the conditions of a scan, and missed those
	// anti-dependencies from a transaction that did not find a row.
	scans, missed int
	// atEnd: the first transaction of an anti-dependency belongs to a final read.
	atEnd bool
}

// two reports whether s is a cycle of two edges with the given numbers of WR, WW and RW edges.
func (s shape) two(wr, ww, rw int) bool {
	return s.edges == 2 && s.wr == wr && s.ww == ww && s.rw == rw
}

// lostUpdate: two transactions overwrote one version, or one read a version, the other overwrote
// it, and then the first one overwrote that in turn.
func (s shape) lostUpdate() bool {
	return s.two(0, 0, 2) && s.oneVersion || s.two(0, 1, 1) && s.oneKey
}

func (s shape) writeSkew() bool { return s.two(0, 0, 2) && !s.oneKey }

// cycleNames lists the names of cycles with the shapes that have them, the most specific first. The
// rows from LostUpdate to LongFork, without those of scans, are those of the MTC paper's Table I. NonMonotonicRead comes before or after
// FracturedRead, depending on the order of the reads. Then come Elle's names for the same shapes.
// The last rows are Adya's phenomena, as Elle divides them.
var cycleNames = []struct {
	name string
	fits func(s shape) bool
}{
	{LostWrite, func(s shape) bool { return s.atEnd && s.rw == 1 }},
	{LostUpdate, shape.lostUpdate},
	{Phantom, func(s shape) bool { return s.missed > 0 && s.rw == 1 }},
	{PredicateWriteSkew, func(s shape) bool { return s.missed > 0 && s.writeSkew() }},
	{WriteSkew, shape.writeSkew},
	{SessionGuaranteeViolation, func(s shape) bool { return s.rw == 1 && s.so == s.edges-1 && s.so > 0 }},
	{NonMonotonicRead, func(s shape) bool { return s.two(1, 0, 1) && s.newThenOld && s.oldWritten }},
	{FracturedRead, func(s shape) bool { return s.two(1, 0, 1) || s.two(0, 2, 0) && s.fractured }},
	{NonMonotonicRead, func(s shape) bool { return s.two(1, 0, 1) && s.newThenOld && !s.oldWritten }},
	{CausalityViolation, func(s shape) bool { return s.edges > 2 && s.rw == 1 && s.wr > 0 && s.rt == 0 }},
	{LongFork, func(s shape) bool { return s.rw == 2 && !s.adjacent && s.rt == 0 }},
	{"lost-update", shape.lostUpdate},
	{"write-skew", shape.writeSkew},
	{"long-fork", func(s shape) bool { return s.rw == 2 && !s.adjacent && s.rt == 0 }},
	{"G0", func(s shape) bool { return s.rw == 0 && s.overwrites && s.wr+s.ww > 0 && s.inferred == 0 }},
	{"G1c", func(s shape) bool { return s.rw == 0 && s.wr > 0 && s.inferred == 0 }},
	{"G1-predicate", func(s shape) bool { return s.rw == 0 && s.scans > 0 && s.inferred == 0 }},
	{"G-single-predicate", func(s shape) bool { return s.rw == 1 && s.scans > 0 }},
	{"G-single", func(s shape) bool { return s.rw == 1 || s.rw == 0 && s.inferred > 0 || s.lostUpdate() }},
	{"G-nonadjacent", func(s shape) bool { return s.rw > 1 && !s.adjacent }},
	{"G2-item", func(s shape) bool { return s.missed == 0 && s.rw > 1 && s.adjacent && !s.lostUpdate() }},
	{"G2", func(s shape) bool { return s.missed > 0 && s.rw > 1 && s.adjacent && !s.lostUpdate() }},
}

// Classify returns the names of a cycle, the most specific first. Adya's phenomena get Elle's
// suffix if session order or real time takes part. forced is Anomaly.Forced.
func Classify(h *history.History, cycle []verdict.Edge, forced map[int]verdict.OpRef) []string {
	if slices.ContainsFunc(cycle, func(e verdict.Edge) bool { return e.Kind == verdict.VS || e.Kind == verdict.NV }) {
		return []string{ClaimedSnapshot}
	}
	s := shapeOf(h, cycle, forced)
	s.fractured = len(forced) == 2 && !s.oneKey && forced[0].Txn == forced[1].Txn
	suffix := ""
	switch {
	case s.rt > 0:
		suffix = "-realtime"
	case s.so > 0:
		suffix = "-process"
	}
	var names []string
	for _, row := range cycleNames {
		if !row.fits(s) {
			continue
		}
		name := row.name
		if name[0] == 'G' {
			name += suffix
		}
		names = append(names, name)
	}
	return names
}

func shapeOf(h *history.History, cycle []verdict.Edge, forced map[int]verdict.OpRef) shape {
	s := shape{edges: len(cycle), oneKey: true, oneVersion: true, overwrites: true}
	var wr, rw, last verdict.Edge
	for n, e := range cycle {
		switch e.Kind {
		case verdict.SO:
			s.so++
		case verdict.RT:
			s.rt++
		case verdict.WR:
			s.wr++
			wr = e
		case verdict.VO:
			s.ww++
		case verdict.WW:
			s.ww++
			// What the second transaction read may be of somebody else, if values repeat.
			if _, ok := forced[n]; ok || !readBy(h, e) {
				s.inferred++
			}
		case verdict.RW:
			if s.rw > 0 && (rw.Key != e.Key || rw.Value != e.Value) {
				s.oneVersion = false
			}
			s.rw++
			rw = e
			s.atEnd = s.atEnd || h.AtEnd(int(e.From))
			if cycle[(n+1)%len(cycle)].Kind == verdict.RW {
				s.adjacent = true
			}
		}
		if e.Kind == verdict.SO || e.Kind == verdict.RT {
			continue
		}
		scan, missed := scanOf(h, e)
		if scan != nil {
			s.scans++
		}
		if missed && e.Kind == verdict.RW {
			s.missed++
		}
		if e.Kind != verdict.WW && e.Kind != verdict.VO && !(e.Kind == verdict.WR && writesKey(h, e.To, e.Key)) {
			s.overwrites = false
		}
		if last.Kind != 0 && last.Key != e.Key {
			s.oneKey = false
		}
		last = e
	}
	if s.two(1, 0, 1) {
		s.newThenOld = readAt(h, wr) < readAt(h, rw)
		s.oldWritten = rw.Value != h.Initial(rw.Key)
	}
	return s
}

func writesKey(h *history.History, i int32, k history.Key) bool {
	for _, op := range h.Ops(&h.Txns[i]) {
		if op.Kind == history.Write && op.Key == k {
			return true
		}
	}
	return false
}

// readAt returns the index of the operation with which the reader of e saw its version.
func readAt(h *history.History, e verdict.Edge) int {
	reader, writer := reader(e)
	for n, op := range h.Ops(&h.Txns[reader]) {
		if op.Kind == history.Read && op.Key == e.Key && op.Value == e.Value {
			return n
		}
	}
	return denying(h, reader, e.Key, writer)
}

// dirtyUpdate reports whether the transaction with an aborted read then wrote the key, too.
func dirtyUpdate(h *history.History, a *verdict.Anomaly) bool {
	if a.Kind != verdict.AbortedRead {
		return false
	}
	read := a.Ops[len(a.Ops)-1]
	return writesKey(h, read.Txn, h.Ops(&h.Txns[read.Txn])[read.Op].Key)
}

// Skews returns those names of a cycle that snapshot isolation allows: write skew, G2-item and G2. If
// there are none, it returns G2-item, with the suffix of the names.
func Skews(names []string) []string {
	var out []string
	suffix := ""
	for _, n := range names {
		if n == PredicateWriteSkew || n == WriteSkew || n == "write-skew" || strings.HasPrefix(n, "G2") {
			out = append(out, n)
		}
		for _, s := range []string{"-process", "-realtime"} {
			if strings.HasSuffix(n, s) {
				suffix = s
			}
		}
	}
	if len(out) == 0 {
		out = []string{"G2-item" + suffix}
	}
	return out
}
