package certify_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
)

// BenchmarkScans checks and certifies histories with 100,000 scans of narrow ranges. expand-s is the time
// for the operations that scans need, check-s for the verdict, certify-s for its proof, and
// without-scans-s for a proof that does not cover the scans.
func BenchmarkScans(b *testing.B) {
	for _, rows := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			h := ranges(b, rows, 25_000, 4)
			for b.Loop() {
				begun := time.Now()
				x, rest, err := scans.Expand(b.Context(), h, scans.EagerOps)
				if err != nil {
					b.Fatal(err)
				}
				var opt checker.Options
				check := func(h *history.History) (*verdict.Result, error) {
					opt.Witness = true
					return checker.Check(b.Context(), h, level.SER, opt)
				}
				if rest != nil {
					if x, err = rest.Settle(b.Context(), level.SER, x, check); err != nil {
						b.Fatal(err)
					}
					rest.Done()
					opt.Agree = rest.Decide
				}
				expanded := time.Now()
				r, err := check(x)
				if err != nil || r.Verdict != verdict.Satisfied || x.Scans.Judged < 100_000 {
					b.Fatalf("%+v, %v, %+v", r, err, x.Scans)
				}
				checked := time.Now()
				if err := certify.Result(b.Context(), x, r); err != nil {
					b.Fatal(err)
				}
				certified := time.Now()
				if err := certify.Result(b.Context(), x.Extend(nil, nil), r); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(time.Since(certified).Seconds(), "without-scans-s")
				b.ReportMetric(expanded.Sub(begun).Seconds(), "expand-s")
				b.ReportMetric(checked.Sub(expanded).Seconds(), "check-s")
				b.ReportMetric(certified.Sub(checked).Seconds(), "certify-s")
			}
		})
	}
}

// ranges makes a serial history of transactions with several statements each on a table with two
// numbers: half of the transactions read ranges of about four rows, the others move such rows into
// other ranges.
func ranges(b *testing.B, rows, txns, statements int) *history.History {
	rng := rand.New(rand.NewPCG(1, uint64(rows)))
	t := &schema.Table{Name: "t", Key: schema.Ints("k"), Groups: []schema.Group{{Name: "a", Columns: schema.Ints("v1")}, {Name: "b", Columns: schema.Ints("v2")}}}
	sym := history.NewSymbols()
	domain := rows * 16
	items, values := [2][]history.Key{}, [2][]int{}
	sorted := [2]map[int][]int{{}, {}} // by value divided by 64: the rows
	for g := range 2 {
		for k := range rows {
			item, v := sym.Key(t.Item([]any{int64(k)}, g)), rng.IntN(domain)
			sym.SetInitial(item, sym.Int(int64(v)))
			items[g], values[g] = append(items[g], item), append(values[g], v)
			sorted[g][v/64] = append(sorted[g][v/64], k)
		}
	}
	h := history.NewBuilder(history.Header{Schema: schema.Schema{t}}, sym, txns)
	for i := range txns {
		rec := history.Record{ID: int64(i), Session: int64(i % 24), Status: history.Committed, Begin: history.NoTime, End: history.NoTime}
		reads := rng.IntN(2) == 0
		for range statements {
			g, from := rng.IntN(2), rng.IntN(domain-64)
			p := history.Predicate{Ops: [2]int{len(rec.Ops)}, Statement: &history.Statement{Kind: history.ScanRead, Table: "t", Groups: []string{"a", "b"}}}
			p.Where = []schema.Condition{schema.AtLeast(t.Groups[g].Columns[0].Name, int64(from)), schema.Below(t.Groups[g].Columns[0].Name, int64(from+64))}
			var hits []int
			for _, k := range slices.Concat(sorted[g][from/64], sorted[g][from/64+1]) {
				if v := values[g][k]; v >= from && v < from+64 {
					hits = append(hits, k)
				}
			}
			if !reads {
				p.Kind, p.Groups = history.ScanUpdate, p.Groups[g:g+1]
			}
			by := rng.IntN(domain)
			for _, k := range hits {
				for x := range 2 {
					if reads || x == g {
						rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: items[x][k], Value: sym.Int(int64(values[x][k]))})
					}
				}
				if reads {
					continue
				}
				v := values[g][k]
				sorted[g][v/64] = slices.DeleteFunc(sorted[g][v/64], func(other int) bool { return other == k })
				v = (v + by) % domain
				sorted[g][v/64] = append(sorted[g][v/64], k)
				values[g][k] = v
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: items[g][k], Value: sym.Int(int64(v))})
			}
			p.Ops[1] = len(rec.Ops)
			rec.Predicates = append(rec.Predicates, p)
		}
		if err := h.Add(&rec); err != nil {
			b.Fatal(err)
		}
	}
	return h.Done(true, nil)
}
