package certify

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// accesses are the transactions that access a key and that can have committed.
type accesses struct {
	finals  map[history.Value][]int32 // by value: the transactions whose last write it is
	changes map[history.Value][]int32 // by value: those that read it from outside and write the key
}

// accessesOf finds the accesses of a key.
func (f *facts) accessesOf(k history.Key) (*accesses, error) {
	if a, ok := f.accesses[k]; ok {
		return a, nil
	}
	a := &accesses{map[history.Value][]int32{}, map[history.Value][]int32{}}
	for i := range f.h.Txns {
		t := &f.h.Txns[i]
		if err := f.stop.after(1 + t.OpCount()); err != nil {
			return nil, err
		}
		if t.Status == history.Aborted {
			continue
		}
		ops := f.h.Ops(t)
		if !slices.ContainsFunc(ops, func(op history.Op) bool { return op.Kind == history.Write && op.Key == k }) {
			continue
		}
		v := ops[f.at(int32(i), k).write].Value
		a.finals[v] = append(a.finals[v], int32(i))
		if v, reads := f.readFromOutside(int32(i), k); reads {
			a.changes[v] = append(a.changes[v], int32(i))
		}
	}
	if f.accesses == nil {
		f.accesses = map[history.Key]*accesses{}
	}
	f.accesses[k] = a
	return a, nil
}

// denied returns the values of a key that the transaction at i did not see, if that is all that it
// says about the key. It returns none at levels that classRead is not for.
func (f *facts) denied(i int32, k history.Key) map[history.Value]bool {
	if f.lvl == level.LIN || f.lvl == level.PC || f.lvl == level.PSI || !f.h.Closed || f.at(i, k).first >= 0 {
		return nil
	}
	out := map[history.Value]bool{}
	for _, op := range f.h.Ops(&f.h.Txns[i]) {
		if op.Key == k {
			out[op.Value] = true
		}
	}
	return out
}

// classRead verifies an edge at a transaction that only says which versions of a key it did not
// see. A transaction that read a version with one source, and that writes the key, wrote the next
// version of the key in every execution, unless updates may be lost. So it is known which versions
// follow each other.
func (f *facts) classRead(e verdict.Edge) error {
	reader := e.To
	if e.Kind == verdict.RW {
		reader = e.From
	}
	denied := f.denied(reader, e.Key)
	if len(denied) == 0 {
		return errors.New("no transaction of the edge read that version, or says which ones it did not see")
	}
	a, err := f.accessesOf(e.Key)
	if err != nil {
		return err
	}
	if e.Kind == verdict.WR {
		return f.notBefore(e, a, denied)
	}
	return f.notBehind(e, a, denied)
}

// changing returns all transactions from which the edges of class reads follow: those that change
// their keys.
func (f *facts) changing(edges []verdict.Edge) ([]int32, error) {
	var out []int32
	for _, e := range edges {
		reader := e.From
		if e.Kind == verdict.WR {
			reader = e.To
		}
		if e.Kind != verdict.WR && e.Kind != verdict.RW || len(f.denied(reader, e.Key)) == 0 {
			continue
		}
		a, err := f.accessesOf(e.Key)
		if err != nil {
			return nil, err
		}
		for _, list := range a.finals {
			out = append(out, list...)
		}
	}
	return out, nil
}

// soleSource returns the only transaction from which a value can have been read (-1 for the initial
// state), and whether there is exactly one.
func (f *facts) soleSource(a *accesses, k history.Key, v history.Value) (int32, bool) {
	from := a.finals[v]
	switch initial := f.h.Initial(k) == v; {
	case initial && len(from) == 0:
		return -1, true
	case !initial && len(from) == 1:
		return from[0], true
	}
	return -1, false
}

// changed returns the version that the transaction at i overwrote, with its only source.
func (f *facts) changed(a *accesses, i int32, k history.Key) (v history.Value, source int32, ok bool) {
	if v, ok = f.readFromOutside(i, k); !ok || f.at(i, k).write < 0 {
		return v, 0, false
	}
	source, ok = f.soleSource(a, k, v)
	return v, source, ok
}

// notBefore verifies that From wrote its version before To started: To did not see the versions
// before it, back to the initial one or to one whose writer precedes To.
func (f *facts) notBefore(e verdict.Edge, a *accesses, denied map[history.Value]bool) error {
	if w, ok := f.soleSource(a, e.Key, e.Value); !ok || w != e.From {
		return errors.New("the first transaction did not write that version")
	}
	at := e.From
	for range len(denied) + 1 {
		v, source, ok := f.changed(a, at, e.Key)
		switch {
		case !ok || !denied[v]:
			return errors.New("the second transaction may have seen an earlier version")
		case source < 0 || f.ordered(source, e.To):
			return nil
		}
		at = source
	}
	return errors.New("the versions before it follow each other in a circle")
}

// notBehind verifies that From started before To wrote its version: From did not see that version,
// and none of those behind it, up to one before whose writer From precedes, or at all.
func (f *facts) notBehind(e verdict.Edge, a *accesses, denied map[history.Value]bool) error {
	if v, _, ok := f.changed(a, e.To, e.Key); !ok || v != e.Value {
		return errors.New("the second transaction did not overwrite that version")
	}
	earlier := map[int32]bool{}
	for at := e.To; !earlier[at]; {
		earlier[at] = true
		_, source, ok := f.changed(a, at, e.Key)
		if !ok {
			break
		}
		if source >= 0 {
			at = source
		}
	}
	behind := func(v history.Value) bool {
		return !denied[v] && slices.ContainsFunc(a.finals[v], func(i int32) bool { return i == e.To || !earlier[i] })
	}
	all := true
	for v := range a.finals {
		all = all && !behind(v)
	}
	if all {
		return nil
	}
	at := e.To
	for range len(denied) {
		w := f.at(at, e.Key).write
		v := f.h.Ops(&f.h.Txns[at])[w].Value
		if _, ok := f.soleSource(a, e.Key, v); !ok || !denied[v] {
			break
		}
		next := slices.IndexFunc(a.changes[v], func(i int32) bool { counts, err := f.counts(i); return err == nil && counts })
		if next < 0 {
			break
		}
		at = a.changes[v][next]
		if f.ordered(e.From, at) {
			return nil
		}
	}
	return errors.New("the first transaction may have seen that version, or one behind it")
}

// ordered reports whether session order or real time has one transaction before another.
func (f *facts) ordered(from, to int32) bool {
	return f.precedes(f.lvl, verdict.Edge{Kind: verdict.SO, From: from, To: to}) || f.precedes(f.lvl, verdict.Edge{Kind: verdict.RT, From: from, To: to})
}
