package randhist

import (
	"math/rand/v2"
	"slices"

	"github.com/isohound/isohound/history"
)

// ClaimedSets returns h with snapshots as sets of transactions. They follow the order of the record, which is an execution
// of many histories of this package. Some are left out, some are wrong, some transactions have no number or that of another
// one, and some histories have positions, too.
func ClaimedSets(rng *rand.Rand, h *history.History) *history.History {
	if rng.IntN(3) == 0 {
		h = Claimed(rng, h)
	}
	n := len(h.Txns)
	numbers := make([]int64, n)
	next := int64(1 + rng.IntN(3))
	for i := range numbers {
		numbers[i] = next
		next += 1 + int64(rng.IntN(2))
	}
	for range rng.IntN(1 + n/2) { // numbers are given at the first write, not at the commit
		i := rng.IntN(n)
		j := min(n-1, i+1)
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
	lies := [...]int{0, 0, 10, 50}[rng.IntN(4)]
	told := [...]int{50, 100, 100}[rng.IntN(3)]
	vague := [...]int{0, 0, 0, 20}[rng.IntN(4)]
	var records []history.Record
	for i := range h.Txns {
		rec := h.Record(i)
		rec.DBTxn = numbers[i]
		if rng.IntN(100) < told {
			rec.Claim.Visible = sees(rng, numbers, i, rng.IntN(100) < lies)
		}
		wrote := slices.ContainsFunc(rec.Ops, func(op history.Op) bool { return op.Kind == history.Write })
		switch unsure := rng.IntN(100) < vague; {
		case unsure && rng.IntN(2) == 0:
			rec.DBTxn = numbers[rng.IntN(n)]
		case unsure, !wrote && rng.IntN(4) > 0:
			rec.DBTxn = 0
		}
		records = append(records, rec)
	}
	b := history.NewBuilder(h.Header, h.Symbols, n)
	for i := range records {
		if err := b.Add(&records[i]); err != nil {
			panic(err)
		}
	}
	return b.Done(h.Closed, h.Notes)
}

// sees is the snapshot of the transaction at index i: what is recorded before it, without the last few, or a lie about
// some.
func sees(rng *rand.Rand, numbers []int64, i int, lie bool) *history.Visible {
	behind := rng.IntN(1 + rng.IntN(3))
	v := &history.Visible{Min: 1, Max: 1}
	for j, number := range numbers {
		if j < i-behind != (lie && rng.IntN(3) == 0) {
			v.Max = max(v.Max, number+1)
		}
	}
	if rng.IntN(2) == 0 {
		v.Max += int64(rng.IntN(2)) // so that it may have numbers of nobody
	}
	for j, number := range numbers {
		if number < v.Max && (j >= i-behind) != (lie && rng.IntN(3) == 0) && (j != i || rng.IntN(2) == 0) {
			v.Open = append(v.Open, number)
		}
	}
	slices.Sort(v.Open)
	if v.Min = v.Max; len(v.Open) > 0 {
		v.Min = v.Open[0]
	}
	return v
}
