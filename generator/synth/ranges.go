package synth

import (
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// The histories of this file have statements with conditions. Their transactions ran one after another
// in memory, so they are serializable. They have times: a transaction's interval has its moment, and
// overlaps those of up to sessions-1 others. They are listed in the order of their ends, as a recorder
// writes them.

// Pred is BlindW-Pred of the Vbox paper, section 5.2, as the workload blindw makes it: a table of rows
// (k, v1, v2). A transaction has ops statements. Half of the transactions read ranges of v1 or v2 that
// hold width rows on average. The others update ranges, and move their rows into another range.
func Pred(sessions, txns, rows, ops, width int, seed uint64) *history.History {
	table := &schema.Table{Name: "ranges", Key: schema.Ints("k"), Groups: []schema.Group{{Name: "v1", Columns: schema.Ints("v1")}, {Name: "v2", Columns: schema.Ints("v2")}}}
	s := newTimed("BlindW-Pred", schema.Schema{table}, sessions, txns, seed)
	items := [2][]history.Key{}
	values := [2][]int{}    // by row
	holding := [2][][]int{} // by value: the rows that have it
	for g := range items {
		items[g], values[g], holding[g] = make([]history.Key, rows), make([]int, rows), make([][]int, rows)
		for k := range rows {
			items[g][k] = s.sym.Key(table.Item([]any{int64(k)}, g))
			v := s.rng.IntN(rows)
			values[g][k] = v
			holding[g][v] = append(holding[g][v], k)
			s.sym.SetInitial(items[g][k], s.sym.Int(int64(v)))
		}
	}
	at := func(g, k int) history.Value { return s.sym.Int(int64(values[g][k])) }
	for range txns {
		rec := history.Record{}
		reads := s.rng.IntN(2) == 0
		for range ops {
			g, from := s.rng.IntN(2), s.rng.IntN(rows-width+1)
			column := table.Groups[g].Name
			p := history.Predicate{Ops: [2]int{len(rec.Ops), 0}, Statement: &history.Statement{Kind: history.ScanRead, Table: table.Name, Groups: []string{"v1", "v2"},
				Predicate: schema.Where(schema.AtLeast(column, int64(from)), schema.Below(column, int64(from+width)))}}
			found := slices.Concat(holding[g][from : from+width]...)
			slices.Sort(found)
			by := s.rng.IntN(rows-width+1) - from
			for _, k := range found {
				if reads {
					rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: items[0][k], Value: at(0, k)}, history.Op{Kind: history.Read, Key: items[1][k], Value: at(1, k)})
					continue
				}
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: items[g][k], Value: at(g, k)})
				v := values[g][k]
				holding[g][v] = slices.DeleteFunc(holding[g][v], func(x int) bool { return x == k })
				values[g][k] = v + by
				holding[g][v+by] = append(holding[g][v+by], k)
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: items[g][k], Value: at(g, k)})
			}
			if !reads {
				p.Kind, p.Groups = history.ScanUpdate, []string{column}
			}
			p.Ops[1] = len(rec.Ops)
			rec.Predicates = append(rec.Predicates, p)
		}
		s.commit(rec)
	}
	return s.done()
}

// Narrow has transactions that read width neighbouring rows of a table, by a range of the key if scans is
// set and else one by one, and then change one of them.
func Narrow(sessions, txns, rows, width int, scans bool, seed uint64) *history.History {
	table := &schema.Table{Name: "rows", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("v")}}}
	s := newTimed("narrow ranges", schema.Schema{table}, sessions, txns, seed)
	items, state := make([]history.Key, rows), make([]history.Value, rows)
	for k := range rows {
		items[k], state[k] = s.sym.Key(table.Item([]any{int64(k)}, 0)), s.sym.Int(int64(k))
		s.sym.SetInitial(items[k], state[k])
	}
	for n := range txns {
		rec := history.Record{}
		from := s.rng.IntN(rows - width + 1)
		for k := from; k < from+width; k++ {
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: items[k], Value: state[k]})
		}
		if scans {
			rec.Predicates = []history.Predicate{{Ops: [2]int{0, width}, Statement: &history.Statement{Kind: history.ScanRead, Table: table.Name,
				Predicate: schema.Where(schema.AtLeast("k", int64(from)), schema.Below("k", int64(from+width)))}}}
		}
		k := from + s.rng.IntN(width)
		state[k] = s.sym.Int(int64(rows + n))
		rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: items[k], Value: state[k]})
		s.commit(rec)
	}
	return s.done()
}

// timed records transactions with times, in the order of their ends.
type timed struct {
	rng  *rand.Rand
	sym  *history.Symbols
	hdr  history.Header
	free []int64 // by session: when its latest transaction ended
	list []history.Record
}

func newTimed(workload string, tables schema.Schema, sessions, txns int, seed uint64) *timed {
	return &timed{rng: rand.New(rand.NewPCG(seed, 5)), sym: history.NewSymbols(), free: make([]int64, sessions), list: make([]history.Record, 0, txns),
		hdr: history.Header{Workload: "synthetic " + workload, Seed: int64(seed), Schema: tables}}
}

// step is the time between the moments of two transactions.
const step = 1000

// commit records a transaction whose moment is after all earlier ones.
func (s *timed) commit(rec history.Record) {
	n := int64(len(s.list) + 1)
	moment := n * step
	session := n % int64(len(s.free)) // its previous transaction was that many moments before
	reach := int64(len(s.free)) * step / 2
	rec.ID, rec.Session, rec.Status, rec.Due = n, session, history.Committed, history.NoTime
	rec.Begin, rec.End = max(moment-s.rng.Int64N(reach)-1, s.free[session]), moment+s.rng.Int64N(reach)
	s.free[session] = rec.End + 1
	s.list = append(s.list, rec)
}

func (s *timed) done() *history.History {
	slices.SortFunc(s.list, func(a, b history.Record) int { return int(a.End - b.End) })
	b := history.NewBuilder(s.hdr, s.sym, len(s.list))
	for i := range s.list {
		if err := b.Add(&s.list[i]); err != nil {
			panic(err) // sessions are sequential, and predicates fit their table
		}
	}
	return b.Done(true, nil)
}
