package scan

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/internal/worktest"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
)

// dsn is the DSNs of the servers, by driver.
var dsn = map[string]string{}

func TestMain(m *testing.M) { os.Exit(servers.Both(m, dsn)) }

func draw(t *testing.T, seed int64, worker, n int, set ...string) []*transaction {
	t.Helper()
	p := worktest.New(t, "scan", workloads.Common{Sessions: 4}, set...).Plan(worker, generator.Stream(seed, worker))
	out := make([]*transaction, n)
	for i := range out {
		out[i] = p.Next().(*transaction)
	}
	return out
}

// TestSeed: the same seed gives the same plan; other seeds and workers give other plans.
func TestSeed(t *testing.T) {
	plan := func(seed int64, worker int) []*transaction { return draw(t, seed, worker, 200) }
	if !reflect.DeepEqual(plan(1, 0), plan(1, 0)) {
		t.Error("the same seed gives another plan")
	}
	if reflect.DeepEqual(plan(1, 0), plan(2, 0)) || reflect.DeepEqual(plan(1, 0), plan(1, 1)) {
		t.Error("plans do not differ")
	}
}

// TestUnknownKind: an error names what the parameter is about.
func TestUnknownKind(t *testing.T) {
	for name, want := range map[string]string{"conditions": "condition", "scans": "scan", "then": "statement"} {
		spec, err := workloads.Find("scan")
		if err != nil {
			t.Fatal(err)
		}
		v, err := spec.Resolve([]string{name + "=x:1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(workloads.Common{Sessions: 4, Keys: 100}, v); err == nil || !strings.Contains(err.Error(), "there is no "+want+` "x"; there are `) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMixes: scans, conditions and what follows have their shares, and an operation on a row that its
// transaction finds lies in the scanned range.
func TestMixes(t *testing.T) {
	const n = 4000
	count := map[string]int{}
	for _, x := range draw(t, 3, 0, n, "birth=0", "scans=read:1,count:1,update:1,delete:1", "conditions=key:1,indexed:1,unindexed:1,all:1",
		"then=insert,delete,update,upsert,item,again", "operations=3", "inside=25%", "duplicates=20", "rollback=10%", "tables=4", "width=3") {
		count["scan "+x.kind]++
		count[x.table.Name]++
		if len(x.where) == 0 {
			count["all"]++
		} else {
			count["on "+x.where[0].Column]++
			count["with "+x.where[0].Op]++
		}
		if x.rollback {
			count["rollback"]++
		}
		if len(x.then) != 3 {
			t.Fatalf("%+v", x)
		}
		for _, o := range x.then {
			count[o.kind]++
			if o.duplicate {
				count["duplicate"]++
			}
			if o.pick < 0 {
				continue
			}
			count["inside"]++
			values := map[string]any{"k": o.k, "a": o.a, "b": o.b}
			for i := range x.where {
				if !x.where[i].Holds(values[x.where[i].Column]) {
					t.Fatalf("%+v is not inside %v", o, x.where)
				}
			}
		}
	}
	for name, want := range map[string]float64{
		"scan read": .25, "scan count": .25, "scan update": .25, "scan delete": .25, "on k": .25, "on a": .25, "on b": .25, "all": .25,
		"with in": .375, "with between": .375, "scan0": .25, "scan3": .25, "rollback": .1, "inside": .75, "duplicate": .6,
		inserts: .5, deletes: .5, updates: .5, upserts: .5, item: .5, again: .5,
	} {
		if got := float64(count[name]) / n; math.Abs(got-want) > 0.05 {
			t.Errorf("%s: %.3f of a transaction, want %.3f", name, got, want)
		}
	}
}

// TestWindow: keys and values move with the number of transactions, tables with stay. Sessions delete
// what has left, each key once.
func TestWindow(t *testing.T) {
	left := map[any]int{}
	for worker := range 4 {
		for n, x := range draw(t, 5, worker, 100, "birth=4", "stay=10", "tables=20", "empty=20") {
			base, table := int64(n/4), n/10
			if name := x.table.Name; name != fmt.Sprintf("scan%d", table) && name != fmt.Sprintf("scan%d", table+1) {
				t.Errorf("transaction %d is on %s", n, name)
			}
			if len(x.then) == 0 {
				left[x.where[0].Value]++
				continue
			}
			for _, o := range append(x.then, x.change) {
				if o.k < base || o.k >= base+10 || o.a < base || o.a >= base+10 || o.b < base || o.b >= base+10 {
					t.Errorf("transaction %d: %+v", n, o)
				}
			}
		}
	}
	want := map[any]int{}
	for k := int64(0); k < 15; k++ {
		want[k] = 1
	}
	if !reflect.DeepEqual(left, want) {
		t.Errorf("%v have left", left)
	}
}

// TestConditions: a width of 1 compares with =, and a hash index gets single values only.
func TestConditions(t *testing.T) {
	ops := func(set ...string) string {
		seen := map[string]bool{}
		for _, x := range draw(t, 1, 0, 300, append(set, "birth=0")...) {
			seen[x.where[0].Column+" "+x.where[0].Op] = true
		}
		var out []string
		for op := range seen {
			out = append(out, op)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	for set, want := range map[string]string{
		"index=btree": "a between, a in, b between, b in, k between, k in",
		"index=hash":  "a in, b between, b in, k between, k in",
		"width=1":     "a =, b =, k =",
	} {
		if got := ops(set); got != want {
			t.Errorf("%s: %s", set, got)
		}
	}
}

// TestTables: the last tables are empty at first, and every table has the index.
func TestTables(t *testing.T) {
	for set, want := range map[string][]drivers.Capability{"index=btree": nil, "index=none": nil, "index=hash": {drivers.HashIndexes}, "index=gin": {drivers.GinIndexes}, "index=brin": {drivers.BrinIndexes}} {
		w := worktest.New(t, "scan", workloads.Common{Keys: 7}, "tables=5", "empty=3", set).(*scan)
		if got := w.Needs(); !slices.Equal(got, want) {
			t.Errorf("%s needs %v", set, got)
		}
		rows := map[string]int{}
		for table := range w.Rows() {
			rows[table.Name]++
		}
		if !reflect.DeepEqual(rows, map[string]int{"scan0": 7, "scan1": 7}) || len(w.Schema()) != 5 {
			t.Errorf("%v in %d tables", rows, len(w.Schema()))
		}
		for _, table := range w.Schema() {
			if indexed := len(table.Indexes) == 1 && table.Indexes[0].Columns[0] == "a"; indexed != (set != "index=none") {
				t.Errorf("%s: %+v", set, table.Indexes)
			}
		}
	}
}

func TestIdle(t *testing.T) {
	for set, idle := range map[string]bool{"rollback=2": false, "scans=read,count then=item": true, "scans=read then=item,again": true,
		"scans=delete then=item": false, "scans=read then=item,insert:0": true, "scans=read then=item,upsert": false, "scans=update:1,read then=again": false} {
		w := worktest.New(t, "scan", workloads.Common{}, strings.Fields(set)...)
		if got := w.(generator.Idle).Idle(); idle != (got != "") {
			t.Errorf("%s: %q", set, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, set := range []string{"tables=0", "tables=10001", "empty=3", "empty=-1", "stay=-1", "index=rtree", "conditions=value", "conditions=key:0", "scans=insert",
		"then=read", "operations=0", "operations=101", "width=0", "width=11", "inside=101", "most=0", "birth=-1", "duplicates=x", "rollback=x", "think=5", "foo=1"} {
		if _, err := replay.New("scan", workloads.Common{}, set); err == nil || !strings.Contains(err.Error(), "-p ") {
			t.Errorf("-p %s: %v", set, err)
		}
	}
	if w := worktest.New(t, "scan", workloads.Common{}, "think=2ms", "width=10").(*scan); w.think != 2*time.Millisecond || w.width != 10 {
		t.Errorf("%+v", w)
	}
}

// TestLag: sessions stay together as closely as the faster of their two windows asks for.
func TestLag(t *testing.T) {
	for set, want := range map[string]int{"birth=6": 12, "birth=0": 0, "birth=6 stay=5": 5, "birth=0 stay=5": 5, "birth=6 stay=50": 12} {
		w := worktest.New(t, "scan", workloads.Common{}, strings.Fields(set)...)
		if got := w.(generator.Paced).Lag(); got != want {
			t.Errorf("%s: %d", set, got)
		}
	}
}
