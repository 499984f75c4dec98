package counterexample

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// source is who can have written what a transaction read of a key: transactions, or initially.
type source struct {
	reader  int
	key     history.Key
	writers []int
}

const initially = -1

// open reports whether there are several.
func (s source) open() bool { return len(s.writers) > 1 }

// sourcesOf returns the reads of values that others, or the initial state, can have written. A row that was deleted is
// absent for two reasons, say. ok is false if a read only says that it did not see a value that is open: then a name
// for each writer cannot take the place of the value.
func sourcesOf(h *history.History) (list []source, ok bool) {
	for i := range h.Txns {
		if h.Txns[i].Status == history.Aborted {
			continue
		}
		seen := map[history.Key]bool{} // read, or written before
		for _, op := range h.Ops(&h.Txns[i]) {
			if seen[op.Key] || op.Kind == history.ReadNot {
				continue
			}
			if seen[op.Key] = true; op.Kind == history.Write {
				continue
			}
			if writers := writersOf(h, i, op); len(writers) > 0 {
				list = append(list, source{i, op.Key, writers})
			}
		}
	}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind == history.ReadNot && slices.ContainsFunc(list, func(s source) bool { return s.open() && s.key == op.Key }) &&
				!slices.ContainsFunc(h.Ops(&h.Txns[i]), func(o history.Op) bool { return o.Key == op.Key && o.Kind == history.Read && o.Value != op.Value }) {
				return nil, false
			}
		}
	}
	return list, true
}

// writersOf lists who can have written what a transaction read.
func writersOf(h *history.History, reader int, read history.Op) (out []int) {
	if h.Initial(read.Key) == read.Value {
		out = append(out, initially)
	}
	for i := range h.Txns {
		if i == reader || h.Txns[i].Status == history.Aborted {
			continue
		}
		if n := lastWrite(h.Ops(&h.Txns[i]), read.Key); n >= 0 && h.Ops(&h.Txns[i])[n].Value == read.Value {
			out = append(out, i)
		}
	}
	return out
}

func lastWrite(ops []history.Op, k history.Key) int {
	for n, op := range slices.Backward(ops) {
		if op.Key == k && op.Kind == history.Write {
			return n
		}
	}
	return -1
}

// eachSource calls f with the history in each way in which its reads can have their values from transactions. In
// the history that f gets, each of these transactions has a value of its own instead; was has the values that
// these stand for.
func eachSource(h *history.History, left *int, f func(h *history.History, was map[history.Value]history.Value) error) error {
	list, ok := sourcesOf(h)
	if !ok {
		*left = 0
		return nil
	}
	ways := 1
	for _, s := range list {
		if ways *= len(s.writers); ways > mostWays {
			*left = 0
			return nil
		}
	}
	ambiguous := map[history.Op]bool{} // what is read, as a write
	for _, s := range list {
		if !s.open() {
			continue
		}
		for _, op := range h.Ops(&h.Txns[s.reader]) {
			if op.Key == s.key && op.Kind == history.Read {
				ambiguous[history.Op{Kind: history.Write, Key: s.key, Value: op.Value}] = true
				break
			}
		}
	}
	was := map[history.Value]history.Value{}
	own := func(i int, k history.Key, v history.Value) history.Value {
		name := h.Raw(fmt.Sprintf(`"%s, written by transaction %d"`, h.KeyName(k), h.Txns[i].ID))
		was[name] = v
		return name
	}
	for way := range ways {
		if *left--; *left <= 0 {
			return nil
		}
		chosen := map[int]map[history.Key]int{}
		for _, s := range list {
			if chosen[s.reader] == nil {
				chosen[s.reader] = map[history.Key]int{}
			}
			chosen[s.reader][s.key] = s.writers[way%len(s.writers)]
			way /= len(s.writers)
		}
		b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
		for i := range h.Txns {
			rec := h.Record(i)
			rec.Ops, rec.Versions = slices.Clone(rec.Ops), nil
			wrote := map[history.Key]bool{}
			for n := range rec.Ops {
				op := &rec.Ops[n]
				at := lastWrite(h.Ops(&h.Txns[i]), op.Key)
				mine := at >= 0 && n >= at && ambiguous[h.Ops(&h.Txns[i])[at]] // from the final write on
				w, known := chosen[i][op.Key]
				switch {
				case op.Kind == history.Write || op.Kind == history.Read && wrote[op.Key]:
					wrote[op.Key] = true
					if mine && op.Value == h.Ops(&h.Txns[i])[at].Value {
						op.Value = own(i, op.Key, op.Value)
					}
				case op.Kind == history.Read && known && w != initially && ambiguous[history.Op{Kind: history.Write, Key: op.Key, Value: op.Value}]:
					op.Value = own(w, op.Key, op.Value)
				}
			}
			if err := b.Add(&rec); err != nil {
				*left = 0 // a predicate does not fit its operations
				return nil
			}
		}
		if err := f(b.Done(h.Closed, nil), was); err != nil {
			return err
		}
	}
	return nil
}

// namesOf returns the names of an anomaly that was found in a history of eachSource, in the history that it came
// from.
func namesOf(h *history.History, lvl level.Level, a *verdict.Anomaly, was map[history.Value]history.Value) []string {
	if lvl.Weak() || len(was) == 0 || len(a.Cycle) == 0 || a.Kind != verdict.Cycle && a.Kind != verdict.Contradiction {
		return a.Names
	}
	cycle := slices.Clone(a.Cycle)
	for n := range cycle {
		if v, ok := was[cycle[n].Value]; ok {
			cycle[n].Value = v
		}
	}
	if names := explain.Classify(h, cycle, a.Forced); len(names) > 0 {
		return names
	}
	return a.Names
}
