package polygraph_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// TestAgainstOracle compares the engine with the trial of every execution, on
// random histories of every kind, and verifies every proof. ISOHOUND_HISTORIES
// sets how many per level.
func TestAgainstOracle(t *testing.T) {
	n := 20_000
	if s := os.Getenv("ISOHOUND_HISTORIES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, lvl := range level.All() {
		if lvl == level.LIN {
			continue
		}
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			if s := os.Getenv("ISOHOUND_SEED"); s != "" {
				seed, _ = strconv.ParseUint(s, 10, 64)
			}
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			searched := 0
			for range n {
				h := random(rng)
				for lvl.RealTime() && !h.Timed() {
					h = random(rng)
				}
				v, s := compare(t, h, lvl, seed, polygraph.Config{})
				count[v]++
				_, found := compare(t, h, lvl, seed, randomConfig(rng))
				s = s || found
				if s {
					searched++
				}
			}
			t.Logf("seed %d: %v, %d with conflicts", seed, count, searched)
			for _, v := range []verdict.Verdict{verdict.Satisfied, verdict.Violated} {
				if count[v] < n/10 {
					t.Errorf("only %d of %d histories are %s; the generator tests one side only", count[v], n, v)
				}
			}
		})
	}
}

func compare(t *testing.T, h *history.History, lvl level.Level, seed uint64, cfg polygraph.Config) (v verdict.Verdict, searched bool) {
	t.Helper()
	r, err := polygraph.Check(context.Background(), h, lvl, polygraph.Options{Witness: true, Config: cfg})
	if err != nil {
		t.Fatalf("seed %d, %s, %s: %v\n%s", seed, lvl, cfg, err, dsl.Format(h))
	}
	if r.Verdict == verdict.Unknown {
		if h.Closed {
			t.Fatalf("unknown on a closed history: %s\n%s", r.Reason, dsl.Format(h))
		}
		return r.Verdict, false
	}
	allowed, decided := certify.Judge(h, lvl, 50_000_000)
	if !decided {
		t.Fatalf("seed %d: the oracle gave up\n%s", seed, dsl.Format(h))
	}
	if allowed != (r.Verdict == verdict.Satisfied) {
		t.Fatalf("seed %d, %s, %s: engine says %s, oracle says allowed=%v\n%s", seed, lvl, cfg, r.Verdict, allowed, dsl.Format(h))
	}
	if err := certify.Result(h, r); err != nil {
		t.Fatalf("seed %d, %s, %s: proof of %s: %v\n%s%+v", seed, lvl, cfg, r.Verdict, err, dsl.Format(h), r.Anomalies)
	}
	if r.Search != nil && cfg.Has(polygraph.Eager) && r.Search.OnDemand > 0 {
		t.Fatalf("seed %d, %s, %s: %d clauses were missing up front\n%s", seed, lvl, cfg, r.Search.OnDemand, dsl.Format(h))
	}
	return r.Verdict, r.Search != nil && r.Search.Conflicts > 0
}

// random makes a small history: transactions of any shape on few keys with few
// values, that were run one after another in a hidden order, with mistakes.
func random(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	if rng.IntN(3) > 0 {
		sym.DefaultInitial = sym.Int(0)
	}
	keys, txns, sessions := 1+rng.IntN(3), 2+rng.IntN(5), 1+rng.IntN(6)
	values := []int64{2, 3, 100}[rng.IntN(3)] // few values are written often
	chaos := []int{5, 15, 40, 70}[rng.IntN(4)]
	maxOps := 1 + rng.IntN(5)
	aborts := rng.IntN(2) == 0
	blind := rng.IntN(2) == 0 // transactions only read or only write, so that little is known
	state := map[history.Key]history.Value{}
	snapshots := []map[history.Key]history.Value{}
	copyState := func() map[history.Key]history.Value {
		c := map[history.Key]history.Value{}
		for k, v := range state {
			c[k] = v
		}
		return c
	}
	snapshots = append(snapshots, copyState())
	var recs []history.Record
	at, slack := int64(0), 1+rng.Int64N(5)
	next := int64(0)
	ends := map[int64]int64{}
	for i := range txns {
		rec := history.Record{ID: int64(i), Session: int64(rng.IntN(sessions)), Due: history.NoTime, Status: history.Committed}
		at += rng.Int64N(3)
		rec.Begin, rec.End = at-rng.Int64N(slack), at+rng.Int64N(slack)
		if e, ok := ends[rec.Session]; ok && rec.Begin < e {
			rec.Begin = e
			rec.End = max(rec.End, rec.Begin)
		}
		ends[rec.Session] = rec.End
		switch p := rng.IntN(12); {
		case aborts && p == 0:
			rec.Status = history.Aborted
		case aborts && p <= 2:
			rec.Status = history.Unknown
		}
		view := copyState()
		if rng.IntN(100) < chaos { // an old snapshot
			view = map[history.Key]history.Value{}
			for k, v := range snapshots[rng.IntN(len(snapshots))] {
				view[k] = v
			}
		}
		own := map[history.Key]history.Value{}
		reader := rng.IntN(2) == 0
		for range 1 + rng.IntN(maxOps) {
			k := sym.Key("k" + strconv.Itoa(rng.IntN(keys)))
			if blind && reader || !blind && rng.IntN(2) == 0 {
				v, ok := view[k]
				if !ok {
					v = sym.Initial(k)
				}
				if rng.IntN(100) < chaos/4 {
					v = sym.Int(rng.Int64N(values + 1))
				}
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
				continue
			}
			next++
			v := sym.Int(1 + next%values)
			if rng.IntN(12) == 0 {
				v = history.Absent
			}
			view[k], own[k] = v, v
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: k, Value: v})
		}
		if rec.Status == history.Committed || rec.Status == history.Unknown && rng.IntN(2) == 0 {
			for k, v := range own {
				state[k] = v
			}
			snapshots = append(snapshots, copyState())
		}
		recs = append(recs, rec)
	}
	b := history.NewBuilder(history.Header{}, sym, txns)
	for i := range recs {
		if err := b.Add(&recs[i]); err != nil {
			panic(err)
		}
	}
	return b.Done(rng.IntN(10) > 0, nil)
}
