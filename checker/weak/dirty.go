package weak

import "github.com/isohound/isohound/history"

// dirty judges level RU. A transaction that read a version and overwrote it comes after the one that wrote
// it. These orders, of all keys together, must have no cycle (G0). What else a transaction read is no
// matter, nor what was aborted.
func (x *index) dirty() (*finding, error) {
	var list []forcedEdge
	for t := range x.counted {
		if err := x.stopped(t); err != nil {
			return nil, err
		}
		if !x.counted[t] {
			continue
		}
		for _, r := range x.readsBy(int32(t)) {
			if x.overwrote(int32(t), r.version) {
				list = append(list, forcedEdge{r.writer, int32(t)})
			}
		}
	}
	list = append(list, x.listOrder()...)
	f := &finding{forced: newEdges(len(x.h.Txns), list)}
	o, ok, err := x.sort(f.forced)
	f.order, f.cyclic = o, !ok
	return f, err
}

// overwrote reports whether t, which read v, comes after the transaction that wrote it: v is the final write
// of a committed one, and t wrote the key.
func (x *index) overwrote(t, v int32) bool {
	w := x.writer[v]
	if w == none || w == t || !x.counted[w] || !x.writesKey(t, x.key[v]) {
		return false
	}
	return x.final(v)
}

// final reports whether v is the last version of its key that its transaction wrote.
func (x *index) final(v int32) bool {
	for later := v + 1; later < x.versionsFrom[x.writer[v]+1]; later++ {
		if x.key[later] == x.key[v] {
			return false
		}
	}
	return true
}

// overwritten returns the key and version of an edge at RU.
func (x *index) overwritten(from, to int32) (history.Key, history.Value) {
	for _, list := range [2][]read{x.readsBy(to), x.overwrittenBy(to)} {
		for _, r := range list {
			if r.writer == from && x.overwrote(to, r.version) {
				return r.key, x.value(r.version)
			}
		}
	}
	return 0, 0
}
