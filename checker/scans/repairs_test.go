package scans_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/randhist"
)

// TestGuessRepairs: executions are guessed although transactions overlap much, write rows without reading them and
// count them, so that the order of their ends is often wrong. Some histories have readers that saw an old state
// after newer transactions had ended; these are guessed for levels without real time.
func TestGuessRepairs(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 19))
	n := randhist.Count(t, 20_000) / 100
	guessed, stale := [2]int{}, [2]int{}
	for range n {
		late := rng.IntN(2)
		h := overlapping(t, rng, 80, late == 1)
		lvl := level.SSER
		if late == 1 {
			lvl = level.SER
		}
		stale[late]++
		x, rest, err := scans.Execute(t.Context(), h, []level.Level{lvl}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rest == nil {
			continue
		}
		guessed[late]++
		if err := certify.Result(t.Context(), x, rest.Settled(lvl)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("seed %d: %d of %d guessed, %d of %d with stale readers", seed, guessed[0], stale[0], guessed[1], stale[1])
	if n >= 100 && (guessed[0] < stale[0]*6/10 || guessed[1] < stale[1]*3/10) {
		t.Errorf("seed %d: few were guessed", seed)
	}
}

// overlapping makes a history of transactions that ran one after another. With stale, a twentieth of those that
// write nothing is recorded later than it ran.
func overlapping(t *testing.T, rng *rand.Rand, txns int, stale bool) *history.History {
	const sessions, rows = 8, 12
	table := &schema.Table{Name: "t", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("v")}}}
	sym := history.NewSymbols()
	items, state := make([]history.Key, rows), make([]int64, rows) // 0: the row does not exist
	for k := range rows {
		items[k] = sym.Key(table.Item([]any{int64(k)}, 0))
		sym.SetInitial(items[k], history.Absent)
	}
	value := func(v int64) history.Value {
		if v == 0 {
			return history.Absent
		}
		return sym.Int(v)
	}
	var list []history.Record
	free := make([]int64, sessions)
	for n := range int64(txns) {
		rec := history.Record{ID: n + 1, Session: n % sessions, Status: history.Committed, Due: history.NoTime}
		// v is the number of the transaction times 10, plus a digit by which rows are found.
		low := rng.Int64N(8)
		found := func(v int64) bool { return v != 0 && v%10 >= low && v%10 < low+3 }
		p := history.Predicate{Statement: &history.Statement{Kind: history.ScanCount, Table: "t"}}
		for d := low; d < low+3; d++ { // the digit, as a list of values
			var values []any
			for v := d; v <= 10*(n+1)+9; v += 10 {
				values = append(values, v)
			}
			if d == low {
				p.Where = []schema.Condition{schema.In("v", values...)}
			} else {
				p.Where[0].Value = append(p.Where[0].Value.([]any), values...)
			}
		}
		count := rng.IntN(3) == 0
		for k, v := range state {
			if found(v) && count {
				p.Count++
			} else if found(v) {
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: items[k], Value: value(v)})
			}
		}
		if !count {
			p.Statement.Kind = history.ScanRead
		}
		p.Ops[1] = len(rec.Ops)
		rec.Predicates = []history.Predicate{p}
		for w := range rng.IntN(3) {
			k := rng.IntN(rows)
			if state[k] = 0; rng.IntN(4) > 0 {
				state[k] = 10*(n+1) + (low+int64(w)*4)%10
			}
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: items[k], Value: value(state[k])})
		}
		moment, reach := (n+1)*1000, int64(2000)
		if rng.IntN(10) == 0 {
			reach *= 4
		}
		rec.Begin, rec.End = max(moment-1-rng.Int64N(reach), free[rec.Session]), moment+rng.Int64N(min(reach, sessions*1000-1))
		if stale && len(rec.Ops) == p.Ops[1] && rng.IntN(20) == 0 {
			rec.End = moment + sessions*1000 - 1
			rec.Begin = rec.End - 1
		}
		rec.Begin = min(rec.Begin, rec.End)
		free[rec.Session] = rec.End + 1
		list = append(list, rec)
	}
	slices.SortFunc(list, func(a, b history.Record) int { return int(a.End - b.End) })
	b := history.NewBuilder(history.Header{Schema: schema.Schema{table}}, sym, txns)
	for i := range list {
		if err := b.Add(&list[i]); err != nil {
			t.Fatal(fmt.Errorf("record %d: %w", i, err))
		}
	}
	return b.Done(true, nil)
}
