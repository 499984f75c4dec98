package skew

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/workloads"
)

// table finds a table of the workload.
func table(t *testing.T, w generator.Workload, name string) *schema.Table {
	t.Helper()
	for _, tab := range w.(generator.Tables).Schema() {
		if tab.Name == name {
			return tab
		}
	}
	t.Fatalf("no table %s", name)
	return nil
}

func key(values ...int64) (out []any) {
	for _, v := range values {
		out = append(out, v)
	}
	return out
}

// step changes a table.
type step = func(*testing.T, generator.Workload, drivers.TableTx) error

// TestInvariants: the initial tables fulfil every invariant, and so does every state that a
// serial execution can leave. Each other state in the test breaks one.
func TestInvariants(t *testing.T) {
	ctx := context.Background()
	insert := func(name string, k []any, values ...int64) step {
		return func(t *testing.T, w generator.Workload, tx drivers.TableTx) error {
			return tx.InsertRow(ctx, table(t, w, name), schema.Row{Key: k, Groups: [][]any{key(values...)}})
		}
	}
	remove := func(name string, k []any) step {
		return func(t *testing.T, w generator.Workload, tx drivers.TableTx) error {
			_, err := tx.DeleteRow(ctx, table(t, w, name), k)
			return err
		}
	}
	for _, tc := range []struct {
		name    string
		do      []step
		broken  string
		problem string
	}{
		{name: "as it begins"},
		{name: "one of two on call", do: []step{insert("duty", key(1, 0), 0, 5)}},
		{"none of two on call", []step{insert("duty", key(1, 0), 0, 5), insert("duty", key(1, 1), 0, 6)},
			"on call", "shift 1 has nobody on call"},
		{"doctors that are gone", []step{remove("duty", key(2, 0)), remove("duty", key(2, 1))},
			"on call", "shift 2 has nobody on call"},
		{name: "booked to the limit", do: []step{insert("bookings", key(0, 4), 3, 4), insert("bookings", key(0, 5), 2, 5)}},
		{"overbooked", []step{insert("bookings", key(0, 4), 3, 4), insert("bookings", key(0, 5), 3, 5)},
			"bookings", "slot 0 is booked up to 6 of 5"},
		{name: "one side", do: []step{insert("pairs", key(900, 1), 3), insert("pairs", key(901, 0), 4)}},
		{"both sides", []step{insert("pairs", key(7, 0), 3), insert("pairs", key(7, 1), 4), insert("pairs", key(9, 0), 5), insert("pairs", key(9, 1), 6)},
			"pairs", "pair 7 has both sides, and 1 more are wrong"},
		{name: "a token that moved", do: []step{remove("tokens", key(0, 0)), insert("tokens", key(0, 1), 9)}},
		{"a token too many", []step{insert("tokens", key(0, 1), 9)}, "tokens", "ring 0 has 3 tokens"},
		{"a token lost", []step{remove("tokens", key(2, 2))}, "tokens", "ring 2 has 1 tokens"},
		{"no token left", []step{remove("tokens", key(2, 0)), remove("tokens", key(2, 2))}, "tokens", "ring 2 has 0 tokens"},
	} {
		w := newSkew(t, workloads.Common{Sessions: 1, Keys: 3}, "doctors=2", "limit=5", "places=3")
		db := open(t, w, "badger", "serializable")
		s, err := db.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range tc.do {
			if err := do(t, w, tx.(drivers.TableTx)); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		results := generator.CheckInvariants(ctx, db, w)
		if len(results) != 4 {
			t.Fatalf("%d invariants", len(results))
		}
		for _, r := range results {
			want := ""
			if r.Name == tc.broken {
				want = tc.problem
			}
			if r.Problem != want || r.Error != "" {
				t.Errorf("%s: %s: %q %s, want %q", tc.name, r.Name, r.Problem, r.Error, want)
			}
		}
	}
}

// TestNeeds: a pattern needs only the capabilities that it uses, and only its tables are
// created.
func TestNeeds(t *testing.T) {
	for set, want := range map[string]struct {
		needs  []drivers.Capability
		tables string
	}{
		"oncall":           {[]drivers.Capability{drivers.Predicates}, "duty"},
		"phantom":          {[]drivers.Capability{drivers.Predicates, drivers.Deletes}, "bookings"},
		"insert":           {nil, "pairs"},
		"upsert:5,churn:0": {nil, "lists0 lists1 lists2"},
		"churn":            {[]drivers.Capability{drivers.Deletes}, "tokens"},
		"all": {[]drivers.Capability{drivers.Predicates, drivers.Predicates, drivers.Deletes, drivers.Deletes},
			"duty bookings pairs lists0 lists1 lists2 tokens"},
	} {
		w := newSkew(t, workloads.Common{Sessions: 2}, "patterns="+set)
		var tables []string
		for _, tab := range w.(generator.Tables).Schema() {
			tables = append(tables, tab.Name)
		}
		if got := w.(generator.Needer).Needs(); !slices.Equal(got, want.needs) || strings.Join(tables, " ") != want.tables {
			t.Errorf("%s needs %v and has the tables %v", set, got, tables)
		}
	}
}

// TestWeights: patterns are drawn in proportion.
func TestWeights(t *testing.T) {
	w := newSkew(t, workloads.Common{Sessions: 1}, "patterns=oncall:3,churn", "rollback=0")
	p := w.Plan(0, generator.Stream(1, 0))
	changes, moves := 0, 0
	for range 4000 {
		switch p.Next().(type) {
		case *change:
			changes++
		case *move:
			moves++
		}
	}
	if changes+moves != 4000 || changes < 2850 || changes > 3150 {
		t.Errorf("%d changes, %d moves", changes, moves)
	}
}

// TestRoom: lists fit into their columns, however long a run is.
func TestRoom(t *testing.T) {
	for _, sessions := range []int{1, 20, 200} {
		w := newSkew(t, workloads.Common{Sessions: sessions, Dist: "zipfian"}, "patterns=upsert")
		got := map[string]map[int64]int{}
		for worker := range sessions {
			p := w.Plan(worker, generator.Stream(1, worker))
			for range 400 {
				program := p.Next()
				if r, ok := program.(rolledBack); ok {
					program = r.Program
				}
				for _, op := range program.(*batch).ops {
					if got[op.table.Name] == nil {
						got[op.table.Name] = map[int64]int{}
					}
					if !op.read {
						got[op.table.Name][op.key]++
					}
				}
			}
		}
		most := 0
		for _, keys := range got {
			for _, n := range keys {
				most = max(most, n)
			}
		}
		room := table(t, w, "lists1").Groups[0].Columns[0].Size / 12
		t.Logf("%d sessions: at most %d elements, room for %d", sessions, most, room)
		if len(got) != 3 || most == 0 || most > room*3/4+32 {
			t.Errorf("%d sessions: %d elements, room for %d", sessions, most, room)
		}
	}
}

func TestRefusals(t *testing.T) {
	spec, err := workloads.Find("skew")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"patterns=none", "patterns=oncall:-1", "patterns=oncall:0", "patterns=oncall:x", "patterns=", "doctors=1", "doctors=1001",
		"limit=2", "birth=0", "places=1", "rollback=101", "think=5", "foo=1"} {
		values, err := spec.Resolve([]string{set})
		if err == nil {
			_, err = spec.New(workloads.Common{Sessions: 1, Keys: 5, Dist: "uniform"}, values)
		}
		if err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	values, _ := spec.Resolve(nil)
	if _, err := spec.New(workloads.Common{Sessions: 2000, Keys: 5, Dist: "uniform"}, values); err == nil || !strings.Contains(err.Error(), "birth") {
		t.Errorf("lists that outgrow their columns: %v", err)
	}
}
