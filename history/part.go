package history

import "slices"

// Part is what a sub-history keeps of a transaction: its index in the whole history, and the
// positions of the operations kept, ascending.
type Part struct {
	Txn int32
	Ops []int
	// Choices are the choices kept, ascending.
	Choices []ChoiceRef
}

// Sub returns the history of some parts of h. The parts must be in the order of h. Everything
// except the operations is kept: header, outcomes, times, sessions, and predicates. It shares
// its Symbols with h.
func (h *History) Sub(parts []Part) *History {
	n := 0
	for _, p := range parts {
		n += len(p.Ops)
	}
	sub := &History{
		Header: h.Header, Symbols: h.Symbols, Closed: h.Closed,
		Txns: make([]Txn, len(parts)), ops: make([]Op, 0, n),
	}
	partial := len(parts) < len(h.Txns) || n < len(h.ops)
	if h.versions != nil {
		sub.versions = make([]int64, 0, n)
	}
	if h.dbIDs != nil {
		sub.dbIDs = make([]int64, len(parts))
	}
	if h.claims != nil {
		sub.claims, sub.assumed = make([]Claim, len(parts)), h.assumed
		sub.placed, sub.snapped, sub.visible = h.placed, h.snapped, h.visible
	}
	numbers := map[int32]int32{} // of statements, by their numbers in h
	for i, p := range parts {
		t := h.Txns[p.Txn]
		all := h.Ops(&t)
		t.opFrom, t.opCount = int64(len(sub.ops)), uint32(len(p.Ops))
		for _, j := range p.Ops {
			sub.ops = append(sub.ops, all[j])
			if h.versions != nil {
				sub.versions = append(sub.versions, h.Version(&h.Txns[p.Txn], j))
			}
		}
		sub.Txns[i] = t
		if h.dbIDs != nil {
			sub.dbIDs[i] = h.dbIDs[p.Txn]
		}
		if h.claims != nil {
			sub.claims[i] = h.claims[p.Txn]
		}
		if list := h.cutPredicates(p, partial); len(list) > 0 {
			for n := range list {
				number, known := numbers[list[n].Number]
				if !known {
					number = int32(len(numbers))
					numbers[list[n].Number] = number
				}
				list[n].Number = number
			}
			sub.setPredicates(i, list)
			sub.noteTwice(i, h.twice[int(p.Txn)]) // Twice looks at what is left
		}
	}
	sub.statements = len(numbers)
	return sub
}

// Extract is Sub with its own Symbols, which hold only names that the sub-history needs.
func (h *History) Extract(parts []Part) *History {
	sub, sym := h.Sub(parts), NewSymbols()
	carry := func(v Value) Value { return sym.Carry(v, h.Symbols) }
	sym.DefaultInitial = carry(h.DefaultInitial)
	keys := map[Key]Key{}
	for i, op := range sub.ops {
		k, known := keys[op.Key]
		if !known {
			k = sym.Key(h.KeyName(op.Key))
			keys[op.Key] = k
			if v := h.Initial(op.Key); v != h.DefaultInitial {
				sym.SetInitial(k, carry(v))
			}
		}
		sub.ops[i] = Op{Kind: op.Kind, Key: k, Value: carry(op.Value)}
	}
	for _, c := range sub.AllChoices() {
		for _, list := range sub.Choice(c) {
			for i := range list {
				old, k := h.Key(string(list[i].Item)), sym.Key(string(list[i].Item))
				if v := h.Initial(old); v != h.DefaultInitial {
					sym.SetInitial(k, carry(v))
				}
				keys[old] = k
			}
		}
	}
	if len(sub.ops) == len(h.ops) && h.existsBeside(keys) {
		for _, list := range sub.predicates {
			for i := range list {
				list[i].Partial = true
			}
		}
	}
	for i := range sub.Txns {
		t := &sub.Txns[i]
		t.Session = sym.Session(h.SessionName(t.Session))
	}
	sub.Symbols = sym
	return sub
}

// existsBeside reports whether an item exists at first that is not one of these keys.
func (h *History) existsBeside(keys map[Key]Key) bool {
	for k := range Key(h.KeyCount()) {
		if _, kept := keys[k]; !kept && h.Initial(k) != Absent {
			return true
		}
	}
	return false
}

// PartRecord returns part of a transaction as a record.
func (h *History) PartRecord(p Part) Record {
	rec := h.Record(int(p.Txn))
	all := rec.Ops
	versions := rec.Versions
	rec.Ops, rec.Versions = make([]Op, len(p.Ops)), nil
	for i, j := range p.Ops {
		rec.Ops[i] = all[j]
		if len(versions) > 0 {
			rec.Versions = append(rec.Versions, versions[j])
		}
	}
	rec.Predicates = h.cutPredicates(p, true)
	return rec
}

// cutPredicates returns the predicates of a transaction of which a part is kept. They point to
// the operations kept, and list the items of the others as omitted. They are partial, unless nothing is
// left out: versions of rows may be missing that explain why the statement did not find them.
func (h *History) cutPredicates(p Part, partial bool) []Predicate {
	list := slices.Clone(h.Predicates(int(p.Txn)))
	all := h.Ops(&h.Txns[p.Txn])
	for i := range list {
		x := &list[i]
		from, _ := slices.BinarySearch(p.Ops, x.Ops[0])
		to, _ := slices.BinarySearch(p.Ops, x.Ops[1])
		returned, _ := slices.BinarySearch(p.Ops, x.Ops[0]+x.Implied)
		if to-from < x.Ops[1]-x.Ops[0] {
			x.Omitted = h.omitted(x, all, p.Ops[returned:to])
		}
		x.Ops, x.Implied, x.Added, x.Partial = [2]int{from, to}, returned-from, 0, x.Partial || partial
		var kept []Choice
		for _, c := range p.Choices {
			if c.Predicate == i {
				kept = append(kept, x.Choices[c.Choice])
			}
		}
		x.Choices, x.AddedChoices = kept, 0
	}
	return list
}

// omitted lists the items of a predicate of which no operation is kept.
func (h *History) omitted(x *Predicate, all []Op, kept []int) []string {
	seen := map[Key]bool{}
	for _, j := range kept {
		seen[all[j].Key] = true
	}
	names := slices.Clone(x.Omitted)
	for _, op := range all[x.Ops[0]+x.Implied : x.Ops[1]] {
		if !seen[op.Key] {
			seen[op.Key] = true
			names = append(names, h.KeyName(op.Key))
		}
	}
	return names
}
