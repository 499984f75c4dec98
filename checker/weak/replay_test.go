package weak_test

import (
	"fmt"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// replay checks a cycle by the definitions. It returns what is wrong, or "".
func (d *definition) replay(a *verdict.Anomaly) string {
	txns := map[int32]bool{}
	for _, t := range a.Txns {
		txns[t] = true
	}
	context := map[verdict.Edge]bool{}
	for _, e := range a.Context {
		if why := d.known(e); why != "" {
			return why
		}
		context[e] = true
	}
	if len(a.Cycle) < 2 && d.lvl != level.RU {
		return "a cycle has one edge"
	}
	for n, e := range a.Cycle {
		if next := a.Cycle[(n+1)%len(a.Cycle)]; next.From != e.To {
			return "the cycle is broken"
		}
		if !txns[e.From] || !txns[e.To] {
			return "a transaction is not listed"
		}
		switch {
		case e.Kind == verdict.SO || e.Kind == verdict.WR:
			if why := d.known(e); why != "" {
				return why
			}
		case e.Kind == verdict.WW && d.lvl == level.RU:
			if !d.reads1(int(e.To), e.Key, e.Value, nil) || !d.wrote(int(e.From), e.Key, e.Value) || !d.writes(int(e.To), e.Key) {
				return "no version was overwritten"
			}
		case e.Kind == verdict.WW:
			read, ok := a.Forced[n]
			if !ok {
				return "an edge is not forced"
			}
			op := d.ops(int(read.Txn))[read.Op]
			switch {
			case op.Key != e.Key || !d.wrote(int(e.To), e.Key, op.Value) && op.Kind == history.Read:
				return "the read that forces an edge is not of its end"
			case !d.wrote(int(e.From), e.Key, e.Value):
				return "the edge does not begin at its version"
			case !d.path(context, e.From, read):
				return fmt.Sprintf("no path shows that T%d sees T%d", read.Txn, e.From)
			case !txns[read.Txn]:
				return "the reader is not listed"
			}
		case e.Kind == verdict.RW:
			rest := map[verdict.Edge]bool{}
			for i, other := range a.Cycle {
				if i != n {
					rest[other] = true
				}
			}
			if e.Value != d.h.Initial(e.Key) || !d.writes(int(e.To), e.Key) {
				return "an anti-dependency is not of the initial value"
			}
			ok := false
			for j, op := range d.ops(int(e.From)) {
				if op.Kind != history.Write && op.Key == e.Key && (op.Kind == history.ReadNot || op.Value == e.Value) {
					ok = ok || d.path(rest, e.To, verdict.OpRef{Txn: e.From, Op: j})
				}
			}
			if !ok {
				return "no read of the initial value must see the write"
			}
		}
	}
	return ""
}

// known checks an edge of session order or a read.
func (d *definition) known(e verdict.Edge) string {
	a, b := &d.h.Txns[e.From], &d.h.Txns[e.To]
	switch {
	case a.Status == history.Aborted || b.Status == history.Aborted:
		return "an edge is at an aborted transaction"
	case e.Kind == verdict.SO && (a.Session != b.Session || e.From >= e.To || a.Status != history.Committed):
		return "there is no such session order"
	case e.Kind == verdict.WR && (!d.wrote(int(e.From), e.Key, e.Value) || !d.reads1(int(e.To), e.Key, e.Value, nil)):
		return "there is no such read"
	}
	return ""
}

// wrote reports whether t finally wrote v to k.
func (d *definition) wrote(t int, k history.Key, v history.Value) bool {
	last := false
	for _, op := range d.ops(t) {
		if op.Kind == history.Write && op.Key == k {
			last = op.Value == v
		}
	}
	return last
}

// reads1 reports whether t read v of k, or did not say which value it read, before it wrote the key, and
// before operation end if that is not nil.
func (d *definition) reads1(t int, k history.Key, v history.Value, end *int) bool {
	for j, op := range d.ops(t) {
		switch {
		case end != nil && j >= *end || op.Key == k && op.Kind == history.Write:
			return false
		case op.Key == k && (op.Kind == history.ReadNot && op.Value != v || op.Value == v):
			return true
		}
	}
	return false
}

// path reports whether edges have a path from a transaction to that of a read, as the level demands it.
func (d *definition) path(edges map[verdict.Edge]bool, from int32, read verdict.OpRef) bool {
	to := read.Txn
	has := func(a, b int32, kind verdict.EdgeKind) bool {
		for e := range edges {
			if e.From == a && e.To == b && e.Kind == kind {
				return true
			}
		}
		return false
	}
	// paths of given kinds
	var along func(a int32, kinds []verdict.EdgeKind) bool
	along = func(a int32, kinds []verdict.EdgeKind) bool {
		if len(kinds) == 0 {
			return a == to
		}
		for e := range edges {
			if e.From == a && e.Kind == kinds[0] && along(e.To, kinds[1:]) {
				return true
			}
		}
		return false
	}
	so, wr := verdict.SO, verdict.WR
	shapes := map[level.Level][][]verdict.EdgeKind{
		level.RA: {{so}, {wr}}, level.RYW: {{so}}, level.MR: {{wr, so}}, level.MW: {{so, wr}}, level.WFR: {{wr, wr}, {wr, so, wr}},
		level.Session: {{so}, {wr, so}, {so, wr}, {wr, wr}, {wr, so, wr}},
	}
	switch d.lvl {
	case level.RC:
		for e := range edges {
			if e.From == from && e.To == to && e.Kind == wr && d.reads1(int(to), e.Key, e.Value, &read.Op) {
				return true
			}
		}
		return false
	case level.CC:
		reached := map[int32]bool{from: true}
		for range edges {
			for e := range edges {
				if reached[e.From] && (has(e.From, e.To, so) || has(e.From, e.To, wr)) {
					reached[e.To] = true
				}
			}
		}
		return reached[to]
	}
	for _, kinds := range shapes[d.lvl] {
		if along(from, kinds) {
			return true
		}
	}
	return false
}
