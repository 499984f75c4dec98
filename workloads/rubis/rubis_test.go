package rubis

import (
	"context"
	"fmt"
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

// small is a market in which users often conflict.
func small(t *testing.T, sessions int, set ...string) generator.Workload {
	return worktest.New(t, "rubis", workloads.Common{Sessions: sessions, Keys: 30}, append([]string{"users=8", "categories=4", "page=4"}, set...)...)
}

// TestSerial: a serial run is recorded as a plain model of the tables predicts, operation by
// operation and predicate by predicate, and the invariants hold.
func TestSerial(t *testing.T) {
	set := []string{"users=8", "categories=4", "page=4"}
	create := func() (generator.Workload, error) {
		return replay.New("rubis", workloads.Common{Sessions: 4, Keys: 30}, set...)
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
	for _, what := range []string{"users written", "users read", "nicknames written", "nicknames read", "nicknames read absent", "items written", "items read",
		"items read absent", "selling read", "selling written", "stock written", "stock read", "bids written", "bids read", "purchases written", "purchases read", "comments written", "comments read"} {
		if seen[what] < 10 {
			t.Errorf("%s: %d times", what, seen[what])
		}
	}
}

// TestConcurrent: sessions that conflict on few items leave a serializable history on a
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

// TestLostUpdates: on a database without conflict detection counters and stocks become wrong,
// and the invariants and the checker detect it.
func TestLostUpdates(t *testing.T) {
	w := small(t, 8, "mix=bid:40,buy:20,comment:40")
	db := worktest.Open(t, "badger", drivers.Config{Isolation: "DetectConflicts=false"}, w)
	h := worktest.Run(t, db, w, generator.Config{Sessions: 8, Txns: 500, Seed: 3})
	worktest.Verdict(t, h, level.SI, verdict.Violated)
	p := worktest.Problems(t, db, w)
	if p["bids"] == "" || p["ratings"] == "" {
		t.Errorf("%v", p)
	}
}

// TestInvariants: each invariant detects the damage that it covers, and no other.
func TestInvariants(t *testing.T) {
	w := small(t, 1).(*rubis)
	add := func(table *schema.Table, id []any, group string, by ...int64) func(context.Context, drivers.TableTx) error {
		return func(ctx context.Context, tx drivers.TableTx) error {
			var exprs []schema.Expr
			for _, n := range by {
				exprs = append(exprs, schema.Add(n))
			}
			_, found, err := tx.Set(ctx, table, id, table.Group(group), exprs)
			if err == nil && !found {
				err = fmt.Errorf("%s is not there", table.Item(id, 0))
			}
			return err
		}
	}
	row := func(table *schema.Table, id []any, values ...any) func(context.Context, drivers.TableTx) error {
		return func(ctx context.Context, tx drivers.TableTx) error {
			return tx.InsertRow(ctx, table, schema.Row{Key: id, Groups: [][]any{values}})
		}
	}
	both := func(fs ...func(context.Context, drivers.TableTx) error) func(context.Context, drivers.TableTx) error {
		return func(ctx context.Context, tx drivers.TableTx) error {
			for _, f := range fs {
				if err := f(ctx, tx); err != nil {
					return err
				}
			}
			return nil
		}
	}
	n := func(v int64) any { return v }
	const item = 5
	left := 1 + int64(item)*7%10
	start := 1 + int64(item)*37%100
	for _, tc := range []struct {
		invariant string
		damage    func(context.Context, drivers.TableTx) error
	}{
		{"bids", add(items, w.itemKey(item), "bids", 1)},
		{"bids", add(items, w.itemKey(item), "price", 1)},
		{"bids", row(bids, key(77_777, 1), n(1), n(500))},
		{"stock", add(stock, key(item), "", -1)},
		{"stock", both(add(stock, key(item), "", -left-1), row(purchases, key(item, 1), n(1), n(left+1)))},
		{"stock", row(purchases, key(77_777, 1), n(1), n(1))},
		{"stock", row(stock, key(77_777), n(1))},
		{"bid or buy", both(
			add(stock, key(item), "", -left), row(purchases, key(item, 1), n(1), n(left)),
			add(items, w.itemKey(item), "bids", 1), add(items, w.itemKey(item), "price", 3), row(bids, key(item, 2), n(1), n(start+3)))},
		{"ratings", add(users, key(2), "standing", 3, 0)},
		{"ratings", add(users, key(2), "standing", 0, 1)},
		{"ratings", row(comments, key(77_777, 1), n(1), n(1), n(5), "excellent")},
		{"sellers", row(selling, key(1, 77_777), n(1))},
		{"sellers", func(ctx context.Context, tx drivers.TableTx) error {
			_, err := tx.DeleteRow(ctx, selling, key(1, 1))
			return err
		}},
		{"nicknames", row(nicknames, []any{"nobody"}, n(1))},
		{"nicknames", func(ctx context.Context, tx drivers.TableTx) error {
			_, _, err := tx.Set(ctx, nicknames, []any{nickname(1)}, 0, schema.Sets(n(2)))
			return err
		}},
	} {
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

// TestNumbers: no two workers register a user or an item under the same number, and they use
// each other's nicknames and items.
func TestNumbers(t *testing.T) {
	const sessions = 4
	w := small(t, sessions, "fresh=50")
	taken, names, asked := map[string]int{}, map[string]int{}, map[int64]int{}
	for worker := range sessions {
		p := w.Plan(worker, generator.Stream(1, worker))
		for range 1000 {
			switch x := p.Next().(type) {
			case *newUser:
				taken[fmt.Sprintf("user %d", x.id)]++
				names[x.nick]++
			case *newItem:
				taken[fmt.Sprintf("item %d", x.id)]++
			case *bid:
				asked[x.item]++
			}
		}
	}
	for what, times := range taken {
		if times > 1 {
			t.Errorf("%s is registered %d times", what, times)
		}
	}
	contested, met := 0, 0
	for _, times := range names {
		if times > 1 {
			contested++
		}
	}
	for item := range asked {
		if taken[fmt.Sprintf("item %d", item)] > 0 {
			met++
		}
	}
	if contested < 10 || met < 50 {
		t.Errorf("%d nicknames are contested, %d new items are bid for", contested, met)
	}
}

// TestMix: only the requested transactions occur, in proportion.
func TestMix(t *testing.T) {
	p := small(t, 1, "mix=bid:1,about:3").Plan(0, generator.Stream(1, 0))
	pages := 0
	for range 4000 {
		switch x := p.Next().(type) {
		case *about:
			pages++
		case *bid:
		default:
			t.Fatalf("%T", x)
		}
	}
	if pages < 2850 || pages > 3150 {
		t.Errorf("%d pages of 4000", pages)
	}
}

// TestSizes: the market has the requested size, in the papers' proportions.
func TestSizes(t *testing.T) {
	for _, tc := range []struct {
		set   []string
		users int
	}{{nil, 100}, {[]string{"users=7"}, 7}} {
		w := worktest.New(t, "rubis", workloads.Common{Keys: 1000}, tc.set...)
		rows := map[string]int{}
		for table := range w.(generator.Tables).Rows() {
			rows[table.Name]++
		}
		if rows["items"] != 1000 || rows["stock"] != 1000 || rows["selling"] != 1000 || rows["users"] != tc.users || rows["nicknames"] != tc.users || len(rows) != 5 {
			t.Errorf("%v: %v", tc.set, rows)
		}
	}
}

func TestRefusals(t *testing.T) {
	spec, err := workloads.Find("rubis")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"mix=steal", "mix=bid:0", "mix=bid:x", "users=-1", "users=x", "categories=0", "fresh=101", "page=0", "foo=1"} {
		values, err := spec.Resolve([]string{set})
		if err == nil {
			_, err = spec.New(workloads.Common{Sessions: 1, Keys: 10, Dist: "uniform"}, values)
		}
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
}
