package scans_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// BenchmarkMini judges mini-transactions with scans, with the linear and with the polygraph engine:
// the checks that find what the scans need, and a last check, whose time is check-ms. Proofs are not
// verified, which takes as long with either engine.
func BenchmarkMini(b *testing.B) {
	const txns = 100_000
	for _, tags := range []int{1 << 30, 8} {
		h := miniWithScans(txns, tags)
		for _, engine := range []checker.Engine{checker.Linear, checker.Polygraph} {
			b.Run(fmt.Sprintf("txns=%d/tags=%d/%s", txns, tags, engine), func(b *testing.B) {
				for b.Loop() {
					x, rest, err := scans.Expand(b.Context(), h, scans.EagerOps)
					if err == nil && rest != nil {
						x, err = rest.Settle(b.Context(), level.SER, x, func(h *history.History) (*verdict.Result, error) {
							return checker.Check(b.Context(), h, level.SER, checker.Options{Engine: engine, Witness: true})
						})
						rest.Done()
					}
					if err != nil {
						b.Fatal(err)
					}
					begun := time.Now()
					r, err := checker.Check(b.Context(), x, level.SER, checker.Options{Engine: engine, Witness: true})
					took := time.Since(begun)
					if err != nil || r.Verdict != verdict.Satisfied {
						b.Fatalf("%+v, %v", r, err)
					}
					b.ReportMetric(float64(x.Scans.Instantiated), "ops")
					b.ReportMetric(took.Seconds()*1e3, "check-ms")
				}
			})
		}
	}
}

// miniWithScans makes a history of one table, executed one transaction after another and recorded
// in nearly the same order, by 20 sessions. A third of the transactions scan rows with a certain
// tag in a range of keys; the others read one row and write another one, or insert it. Each version
// of a row has one of the given number of tags.
func miniWithScans(txns, tags int) *history.History {
	const sessions, window = 20, 10
	rng := rand.New(rand.NewPCG(uint64(txns), uint64(tags)))
	rows := txns / 20
	table := &schema.Table{Name: "t", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("v", "tag")}}}
	sym := history.NewSymbols()
	item := func(k int) history.Key { return sym.Key(table.Item([]any{int64(k)}, 0)) }
	type version struct {
		value history.Value
		tag   int
	}
	current := map[int]version{}
	value := func(k int) history.Value {
		if v, ok := current[k]; ok {
			return v.value
		}
		return history.Absent
	}
	var recs []history.Record
	for i := range txns {
		rec := history.Record{ID: int64(i + 1), Status: history.Committed, Begin: history.NoTime, End: history.NoTime}
		add := func(kind history.OpKind, k int, v history.Value) {
			rec.Ops = append(rec.Ops, history.Op{Kind: kind, Key: item(k), Value: v})
		}
		if i%3 == 0 {
			from, tag := rng.IntN(rows), rng.IntN(min(tags, i+1))
			p := history.Predicate{Statement: &history.Statement{Kind: history.ScanRead, Table: "t", Predicate: schema.Predicate{Where: []schema.Condition{
				{Column: "k", Op: ">=", Value: int64(from)}, {Column: "k", Op: "<", Value: int64(from + 20)}, {Column: "tag", Op: "=", Value: int64(tag)}}}}}
			for k := from; k < from+20; k++ {
				if v, ok := current[k]; ok && v.tag == tag {
					add(history.Read, k, v.value)
				}
			}
			p.Ops[1] = len(rec.Ops)
			rec.Predicates = []history.Predicate{p}
		} else {
			k := rng.IntN(rows)
			if other := rng.IntN(rows); other != k {
				add(history.Read, other, value(other))
			}
			add(history.Read, k, value(k))
			tag := rng.IntN(tags)
			if tags > txns {
				tag = i
			}
			text, _, _ := schema.Content([]any{int64(i), int64(tag)})
			current[k] = version{sym.String(text), tag}
			add(history.Write, k, current[k].value)
		}
		recs = append(recs, rec)
	}
	for from := 0; from < txns; from += window { // sessions of a window overlap
		part := recs[from:min(from+window, txns)]
		base := rng.IntN(sessions)
		for n := range part {
			part[n].Session = int64((base + n) % sessions)
		}
		rng.Shuffle(len(part), func(a, b int) { part[a], part[b] = part[b], part[a] })
	}
	h := history.NewBuilder(history.Header{Schema: schema.Schema{table}}, sym, txns)
	for i := range recs {
		if err := h.Add(&recs[i]); err != nil {
			panic(err)
		}
	}
	return h.Done(true, nil)
}
