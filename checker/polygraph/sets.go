package polygraph

import (
	"github.com/isohound/isohound/history"
)

// withoutValue finds the reads of a transaction that returned no value: failed compare-and-sets,
// which only say which value they did not find. All reads of a key before the transaction's first
// write of it read the same version. So several such reads of a key become one. If another read
// returned the value of that version, they add nothing.
func (p *readsOf) withoutValue(t int32, ops []history.Op) {
	type seen struct {
		own   int32   // the write, or else the first read, that determines the value of the key; or none
		reads []int32 // reads without a value before own
	}
	keys := map[history.Key]*seen{}
	var order []history.Key // keeps the result deterministic
	for j, op := range ops {
		s := keys[op.Key]
		if s == nil {
			s = &seen{own: none}
			keys[op.Key] = s
			order = append(order, op.Key)
		}
		switch {
		case op.Kind == history.ReadNot && s.own == none:
			s.reads = append(s.reads, int32(j))
		case op.Kind == history.ReadNot:
			if ops[s.own].Value == op.Value {
				p.contradicts(t, s.own, int32(j))
			}
		case op.Kind == history.Write:
			if s.own == none {
				p.without(t, ops, s.reads)
			}
			s.own = int32(j)
		case s.own == none:
			s.own = int32(j)
			for _, i := range s.reads {
				if ops[i].Value == op.Value {
					p.contradicts(t, i, s.own)
				}
			}
		}
	}
	for _, k := range order {
		if s := keys[k]; s.own == none {
			p.without(t, ops, s.reads)
		}
	}
}

// contradicts records that operation j of t contradicts operation own of t.
func (p *readsOf) contradicts(t, own, j int32) {
	if p.m.broken[t] = true; !p.m.optional[t] {
		p.wrong = append(p.wrong, wrongRead{t, own, j})
	}
}

// without adds one read with a set of values for all given reads of one key.
func (p *readsOf) without(t int32, ops []history.Op, reads []int32) {
	var x set
	for _, j := range reads {
		r := read{key: ops[j].Key}
		if p.versions.explain(&r, ops[j].Value); r.class != none {
			x.except = append(x.except, r.class)
		}
	}
	if len(x.except) > 0 {
		p.sets = append(p.sets, x)
		p.reads = append(p.reads, read{txn: t, key: ops[reads[0]].Key, class: -1 - int32(len(p.sets)), source: fromOpen})
	}
}

// addSets gives the sets that p found their class numbers.
func (m *model) addSets(p *readsOf) {
	if len(p.sets) == 0 {
		return
	}
	first := m.values() + int32(len(m.sets))
	m.sets = append(m.sets, p.sets...)
	for i := m.readFrom[p.from]; i < m.readFrom[p.to]; i++ {
		if r := &m.reads[i]; r.class < none {
			r.class = first + (-1 - r.class) - 1
		}
	}
}
