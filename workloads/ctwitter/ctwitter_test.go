package ctwitter

import (
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/badger"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/modeldb"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/internal/worktest"
	"github.com/isohound/isohound/workloads"
)

const serializable = "serializable"

// small is a network in which many actions repeat.
func small(t *testing.T, sessions int, set ...string) generator.Workload {
	return worktest.New(t, "ctwitter", workloads.Common{Sessions: sessions, Keys: 20}, append([]string{"length=20", "tweets=3", "page=5"}, set...)...)
}

// TestSerial: a serial run is recorded as a plain model of the tables predicts, operation by
// operation and predicate by predicate, and the invariants hold.
func TestSerial(t *testing.T) {
	set := []string{"length=20", "tweets=3", "page=5", "mix=tweet:10,follow:20,unfollow:15,like:25,timeline:10,followers:10,profile:10"}
	create := func() (generator.Workload, error) {
		return replay.New("ctwitter", workloads.Common{Keys: 20}, set...)
	}
	badger, err := drivers.Find("badger")
	if err != nil {
		t.Fatal(err)
	}
	if err := replay.AgainstModel(badger, drivers.Config{Isolation: serializable}, true, create, 4, 400, 1); err != nil {
		t.Fatal(err)
	}
	w, err := create()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := replay.Serial(modeldb.Driver{}, drivers.Config{}, w, 4, 400, 1)
	if err != nil {
		t.Fatal(err)
	}
	h, err := replay.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	// Every kind of event has happened.
	seen := map[string]int{}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			table, _, _ := strings.Cut(h.KeyName(op.Key), "(")
			what := table + " read"
			if op.Kind == history.Write {
				what = table + " written"
			}
			if op.Value == history.Absent {
				what += " absent"
			}
			seen[what]++
		}
	}
	for _, what := range []string{"tweets written", "tweets read", "following written", "following written absent", "followers written",
		"followers written absent", "followers read", "likes written", "likes written absent", "users written", "following read absent"} {
		if seen[what] < 10 {
			t.Errorf("%s: %d times", what, seen[what])
		}
	}
}

// TestConcurrent: sessions that conflict on few users leave a serializable history on a
// serializable database, and the invariants hold.
func TestConcurrent(t *testing.T) {
	w := small(t, 8)
	db := worktest.Open(t, "badger", drivers.Config{Isolation: serializable}, w)
	h := worktest.Run(t, db, w, generator.Config{Sessions: 8, Txns: 150, Retries: 3, Seed: 2})
	worktest.Verdict(t, h, level.SER, verdict.Satisfied)
	if c := h.Count(); c.Aborted == 0 {
		t.Errorf("nothing met: %+v", c)
	}
	if p := worktest.Problems(t, db, w); len(p) > 0 {
		t.Error(p)
	}
}

// TestLostUpdates: on a database without conflict detection the counters become wrong, and the
// invariants and the checker detect it.
func TestLostUpdates(t *testing.T) {
	w := small(t, 8, "mix=follow:50,unfollow:20,like:30")
	db := worktest.Open(t, "badger", drivers.Config{Isolation: "DetectConflicts=false"}, w)
	h := worktest.Run(t, db, w, generator.Config{Sessions: 8, Txns: 500, Seed: 3})
	worktest.Verdict(t, h, level.SI, verdict.Violated)
	p := worktest.Problems(t, db, w)
	if p["follow counters"] == "" || p["like counters"] == "" {
		t.Errorf("%v", p)
	}
}

// TestInvariants: each invariant detects the damage that it covers, and no other.
func TestInvariants(t *testing.T) {
	one := []any{int64(1)}
	for _, tc := range []struct {
		invariant string
		damage    func(ctx context.Context, tx drivers.TableTx) error
	}{
		{"follow counters", func(ctx context.Context, tx drivers.TableTx) error {
			_, _, err := tx.Set(ctx, users, key(3), users.Group("followers"), []schema.Expr{schema.Add(1)})
			return err
		}},
		{"follow counters", func(ctx context.Context, tx drivers.TableTx) error {
			_, _, err := tx.Set(ctx, users, key(3), users.Group("following"), []schema.Expr{schema.Add(-1)})
			return err
		}},
		{"both directions", func(ctx context.Context, tx drivers.TableTx) error {
			// A follow between other users, so that the numbers stay the same.
			for _, row := range []schema.Row{{Key: key(1, 2), Groups: [][]any{one}}, {Key: key(2, 1), Groups: [][]any{one}}} {
				if err := tx.InsertRow(ctx, following, row); err != nil {
					return err
				}
			}
			for _, id := range []int64{1, 2} {
				if _, _, err := tx.Set(ctx, users, key(id), users.Group("following"), []schema.Expr{schema.Add(1)}); err != nil {
					return err
				}
			}
			return nil
		}},
		{"like counters", func(ctx context.Context, tx drivers.TableTx) error {
			return tx.InsertRow(ctx, likes, schema.Row{Key: key(1, -1, 2), Groups: [][]any{one}})
		}},
		{"like counters", func(ctx context.Context, tx drivers.TableTx) error {
			return tx.InsertRow(ctx, likes, schema.Row{Key: key(1, 77, 2), Groups: [][]any{one}})
		}},
		{"newest tweet", func(ctx context.Context, tx drivers.TableTx) error {
			_, err := tx.DeleteRow(ctx, tweets, key(1, -1))
			return err
		}},
	} {
		w := small(t, 1)
		db := worktest.Open(t, "badger", drivers.Config{Isolation: serializable}, w)
		if p := worktest.Problems(t, db, w); len(p) > 0 {
			t.Errorf("before: %v", p)
		}
		worktest.Change(t, db, tc.damage)
		if p := worktest.Problems(t, db, w); len(p) != 1 || p[tc.invariant] == "" {
			t.Errorf("%s: %v", tc.invariant, p)
		}
	}
}

func TestPlan(t *testing.T) {
	worktest.SamePlans(t, func() generator.Workload { return small(t, 4) })
}

// TestMix: only the requested transactions occur, in proportion, and no user follows himself.
func TestMix(t *testing.T) {
	p := small(t, 1, "mix=tweet:1,follow:3").Plan(0, generator.Stream(1, 0))
	tweeted, followed := 0, 0
	for range 4000 {
		switch x := p.Next().(type) {
		case tweet:
			tweeted++
		case follow:
			followed++
			if x.who == x.whom {
				t.Fatalf("%d follows himself", x.who)
			}
		default:
			t.Fatalf("%T", x)
		}
	}
	if followed < 2850 || followed > 3150 {
		t.Errorf("%d tweets, %d follows", tweeted, followed)
	}
}

// TestSkew: by default the first user is accessed most, with the frequency of the paper's
// distribution.
func TestSkew(t *testing.T) {
	p := worktest.New(t, "ctwitter", workloads.Common{}, "mix=profile").Plan(0, generator.Stream(1, 0))
	const draws = 20_000
	first := 0
	for range draws {
		if p.Next().(profile).whom == 1 {
			first++
		}
	}
	// 1 / (1 + 1/2^0.99 + ... + 1/1000^0.99), minus the cases in which both users are the same.
	if share := float64(first) / draws; share < 0.11 || share > 0.15 {
		t.Errorf("the first user has %.3f", share)
	}
}

func TestRefusals(t *testing.T) {
	spec, err := workloads.Find("ctwitter")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"mix=retweet", "mix=tweet:0", "mix=tweet:x", "activity=x", "activity=-1", "activity=1", "activity=NaN",
		"tweets=-1", "length=0", "length=256", "page=0", "foo=1"} {
		values, err := spec.Resolve([]string{set})
		if err == nil {
			_, err = spec.New(workloads.Common{Sessions: 1, Keys: 10, Dist: "uniform"}, values)
		}
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	values, _ := spec.Resolve(nil)
	if _, err := spec.New(workloads.Common{Sessions: 1, Keys: 1, Dist: "uniform"}, values); err == nil {
		t.Error("a single user is accepted")
	}
}
