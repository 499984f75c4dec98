package certify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/internal/randhist"
)

// plainSources is allowedSources without any memory: it compares the read with each other read of the transaction.
func plainSources(h *history.History, lvl level.Level, r verdict.OpRef, k history.Key) []int32 {
	if !h.Closed {
		return nil
	}
	returned, denied := map[history.Value]bool{}, map[history.Value]bool{}
	for n, op := range h.Ops(&h.Txns[r.Txn]) {
		if op.Key != k {
			continue
		}
		if op.Kind == history.Write {
			break
		}
		if !oneVersion(h, lvl, r.Txn, r.Op, n) {
			continue
		}
		if op.Kind == history.ReadNot {
			denied[op.Value] = true
		} else {
			returned[op.Value] = true
		}
	}
	fits := func(v history.Value) bool {
		return !denied[v] && (len(returned) == 0 || len(returned) == 1 && returned[v])
	}
	var out []int32
	if fits(h.Initial(k)) {
		out = append(out, none)
	}
	for i := range h.Txns {
		v, writes := (&lookup{h: h}).finalOf(int32(i), k)
		if h.Txns[i].Status != history.Aborted && int32(i) != r.Txn && writes && fits(v) {
			out = append(out, int32(i))
		}
	}
	return out
}

// scanned is a history whose long transactions read two keys in statements, and without.
func scanned(t *testing.T, rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	keys := []history.Key{sym.Key("x"), sym.Key("y")}
	b := history.NewBuilder(history.Header{}, sym, 0)
	for id := range int64(3 + rng.IntN(4)) {
		rec := history.Record{ID: id + 1, Session: rng.Int64N(3), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
		n := 1 + rng.IntN(6)
		if rng.IntN(2) == 0 {
			n = short - 3 + rng.IntN(10)
		}
		for range n {
			kind := history.Read
			switch rng.IntN(12) {
			case 0:
				kind = history.Write
			case 1, 2, 3, 4, 5, 6:
				kind = history.ReadNot
			}
			rec.Ops = append(rec.Ops, history.Op{Kind: kind, Key: keys[rng.IntN(2)], Value: sym.Int(rng.Int64N(4))})
		}
		for from := rng.IntN(4); from < n; {
			to := min(n, from+1+rng.IntN(8))
			rec.Predicates = append(rec.Predicates, history.Predicate{Statement: &history.Statement{Kind: history.ScanUpdate}, Ops: [2]int{from, to}, Implied: rng.IntN(to - from + 1)})
			from = to + rng.IntN(4)
		}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	return b.Done(true, nil)
}

// TestAllowedSources: what is remembered of other reads changes no answer.
func TestAllowedSources(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 31))
	levels := []level.Level{level.RC, level.RA, level.CC, level.PSI, level.Session, level.MR}
	asked := 0
	for range randhist.Count(t, 20_000) / 20 {
		h := scanned(t, rng)
		if rng.IntN(3) == 0 {
			h = randhist.WithClassReads(rng, randhist.Of(rng, 2, 5, 4))
		}
		lvl := levels[rng.IntN(len(levels))]
		f, err := newFacts(newStop(t.Context()), h, lvl, nil)
		if err != nil {
			t.Fatal(err)
		}
		var reads []verdict.OpRef
		for i := range h.Txns {
			wrote := map[history.Key]bool{}
			for n, op := range h.Ops(&h.Txns[i]) {
				if wrote[op.Key] = wrote[op.Key] || op.Kind == history.Write; op.Kind == history.ReadNot && !wrote[op.Key] {
					reads = append(reads, verdict.OpRef{Txn: int32(i), Op: n})
				}
			}
		}
		if rng.IntN(2) == 0 {
			rng.Shuffle(len(reads), func(a, b int) { reads[a], reads[b] = reads[b], reads[a] })
		}
		for _, r := range reads {
			k := h.Ops(&h.Txns[r.Txn])[r.Op].Key
			got, err := f.allowedSources(r, k)
			if err != nil {
				t.Fatal(err)
			}
			got, want := slices.Sorted(slices.Values(got)), plainSources(h, lvl, r, k)
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %s, %+v: %v, want %v", seed, lvl, r, got, want)
			}
			asked++
		}
	}
	if asked < 1000 && !randhist.Few(t) {
		t.Errorf("%d reads", asked)
	}
}

// TestManyEqualReads: the sources of equal reads by one transaction are found once, not for each read.
func TestManyEqualReads(t *testing.T) {
	const n = 100_000
	sym := history.NewSymbols()
	b := history.NewBuilder(history.Header{}, sym, 0)
	rec := history.Record{ID: 1, Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
	for i := range n {
		rec.Ops = append(rec.Ops, history.Op{Kind: history.ReadNot, Key: sym.Key([]string{"x", "y"}[i%2]), Value: sym.Int(7)})
	}
	rec.Predicates = []history.Predicate{{Statement: &history.Statement{Kind: history.ScanUpdate}, Ops: [2]int{n / 2, n}}}
	if err := b.Add(&rec); err != nil {
		t.Fatal(err)
	}
	h := b.Done(true, nil)
	f, err := newFacts(newStop(t.Context()), h, level.RC, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	var latest *int32  // of the sources found last
	for i := range n { // key by key, as readAt asks
		i = i%(n/2)*2 + i/(n/2)
		sources, err := f.allowedSources(verdict.OpRef{Op: i}, h.Ops(&h.Txns[0])[i].Key)
		if err != nil || len(sources) != 1 {
			t.Fatal(sources, err)
		}
		if &sources[0] != latest {
			found, latest = found+1, &sources[0]
		}
	}
	if found != 4 { // two keys, outside of the statement and in it
		t.Errorf("sources were found %d times, want 4", found)
	}
}
