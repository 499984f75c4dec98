package scans_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/randhist"
)

// counting is a transaction that counts rows and then changes one.
type counting struct {
	begin, snapshot, commit, end int64
	from, to, count              int64 // it counts the rows whose value is from from to before to
	row                          int
	now                          history.Value // of its row
}

// counts is a recording at si in which sessions count rows and change one, without an order of the commits: which rows a transaction
// counted must be found out from the times of all.
func counts(t *testing.T, sessions, txns int, seed uint64) *history.History {
	const rows, values = 40, 20
	rng := rand.New(rand.NewPCG(seed, 7))
	state := make([]history.Value, rows)
	versions := make([]int, rows) // by row: how often it was changed
	for i := range state {
		state[i] = history.Absent
	}
	sym := history.NewSymbols()
	table := schema.Schema{{Name: "t", Key: []schema.Column{{Name: "k", Type: schema.Int}}, Groups: []schema.Group{{Name: "v", Columns: []schema.Column{{Name: "v", Type: schema.Int}}}}}}
	key := func(row int) history.Key { return sym.Key(table[0].Item([]any{int64(row)}, 0)) }
	for row := range rows {
		sym.SetInitial(key(row), history.Absent)
	}
	b := history.NewBuilder(history.Header{Schema: table}, sym, txns)
	// The session with the earliest next step makes it.
	type session struct {
		x       counting
		step    int
		at      int64
		version int
	}
	all := make([]session, sessions)
	for made := 0; made < txns; {
		n := 0
		for i := range all {
			if all[i].at < all[n].at {
				n = i
			}
		}
		s := &all[n]
		now := s.at
		switch s.step {
		case 0:
			s.x = counting{begin: now, from: rng.Int64N(values), row: rng.IntN(rows), now: history.Value(rng.Int64N(values))}
			s.x.to = s.x.from + 1 + rng.Int64N(6)
		case 1:
			s.x.snapshot = now
			for _, v := range state {
				if v != history.Absent && int64(v) >= s.x.from && int64(v) < s.x.to {
					s.x.count++
				}
			}
			if state[s.x.row] != history.Absent && rng.IntN(3) == 0 {
				s.x.now = history.Absent
			}
			s.version = versions[s.x.row]
		case 2:
			s.x.commit = now
			if s.version == versions[s.x.row] { // the first committer wins
				state[s.x.row] = s.x.now
				versions[s.x.row]++
			} else {
				s.x.commit = history.NoTime
			}
		case 3:
			s.x.end = now
			if made++; s.x.commit == history.NoTime {
				break
			}
			rec := history.Record{ID: int64(made), Session: int64(n), Begin: s.x.begin, End: s.x.end, Status: history.Committed, Ops: []history.Op{{Kind: history.Write, Key: key(s.x.row), Value: s.x.now}}}
			where := schema.Predicate{Where: []schema.Condition{{Column: "v", Op: ">=", Value: s.x.from}, {Column: "v", Op: "<", Value: s.x.to}}}
			rec.Predicates = []history.Predicate{{Statement: &history.Statement{Kind: history.ScanCount, Table: "t", Predicate: where}, Count: int(s.x.count)}}
			if err := b.Add(&rec); err != nil {
				t.Fatal(err)
			}
		}
		s.step = (s.step + 1) % 4
		s.at += 1 + rng.Int64N(100)
	}
	return b.Done(true, nil)
}

// TestCounts: a long recording at si whose statements only count is guessed, although each dead end leaves many choices.
func TestCounts(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	guessed, n := 0, randhist.Count(t, 20_000)/800
	for i := range n {
		x, rest, err := scans.Expand(t.Context(), counts(t, []int{6, 10, 20}[i%3], 2_000, seed+uint64(i)), 0)
		if err != nil || rest == nil {
			t.Fatal(rest, err)
		}
		asked := false
		if x, err = rest.Settle(t.Context(), level.SI, x, func(*history.History) (*verdict.Result, error) {
			asked = true
			return &verdict.Result{Level: level.SI}, nil
		}); err != nil {
			t.Fatal(err)
		}
		rest.Done()
		if asked {
			continue
		}
		guessed++
		if err := certify.Result(t.Context(), x, rest.Settled(level.SI)); err != nil {
			t.Fatalf("seed %d: %v", seed+uint64(i), err)
		}
	}
	t.Logf("seed %d: %d of %d guessed", seed, guessed, n)
	if n >= 20 && guessed < n/2 {
		t.Errorf("seed %d: %d of %d recordings guessed", seed, guessed, n)
	}
}
