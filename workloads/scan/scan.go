// Package scan is the workload of mini-transactions with one scan: a statement on all rows that
// fulfil a condition, and then operations on rows that other scans may see.
package scan

import (
	"iter"
	"math/rand"
	"strconv"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/workloads"
)

func init() {
	workloads.Register(workloads.Spec{
		Name:    "scan",
		Summary: "mini-transactions with one scan: read, count, update or delete by a condition, then change rows that other scans see",
		Source: "phantoms: Berenson and others (SIGMOD 1995); predicate dependencies: Adya's thesis; " +
			"races of scans in PostgreSQL before 15.4: bitmap heap scans, empty btrees, lists of GIN",
		Needs:    []drivers.Capability{drivers.Transactions, drivers.Tables, drivers.Predicates, drivers.Deletes},
		Defaults: workloads.Common{Keys: 10},
		Engines:  []string{"polygraph"},
		Params: []workloads.Param{
			{Name: "tables", Default: "2", Help: "number of tables", Least: 1},
			{Name: "empty", Default: "1", Help: "how many of the tables are empty at first; the others have --keys rows", Plain: "0"},
			{Name: "stay", Default: "0", Help: "after so many transactions a session goes on to the next table, so that new tables come into use during the run; 0 draws a table for each transaction", Plain: "0"},
			{Name: "index", Default: "btree", Help: "index of the indexed column: btree, hash, gin, brin or none; most databases have btree only"},
			{Name: "conditions", Default: "key:2,indexed:2,unindexed:1", Help: "weights of conditions: on the key, on the indexed column, on the column without an index, or all for scans of the whole table", Weights: true},
			{Name: "scans", Default: "read:5,update:2,delete:1", Help: "weights of what scans do: read, count, update, delete; many counts leave so many choices that verdicts can stay unknown", Weights: true},
			{Name: "then", Default: "insert:4,delete:2,update:2,upsert:2,item:2,again:1", Help: "weights of what follows: insert, delete, update or upsert a row, item, which reads a row by its key, or again, which reads the rows of the same condition once more", Weights: true},
			{Name: "operations", Default: "2", Help: "how many operations follow the scan, at least 1", Least: 1},
			{Name: "width", Default: "2", Help: "how many values the range of a condition has, up to --keys; 1 makes a comparison with =", Least: 1},
			{Name: "inside", Default: "50%", Help: "share of the operations on rows that the transaction's own scan found or would find; the others draw a row from all"},
			{Name: "most", Default: "4", Help: "an insertion after a scan that found more rows deletes one of them instead, so that ranges do not fill up"},
			{Name: "birth", Default: "2", Help: "after so many transactions of a session the least key and the least value of each column leave and new ones enter; 0 keeps them, and rows of long runs then have too many versions to be judged"},
			{Name: "duplicates", Default: "0", Help: "share of the writes that have no unique value, so that several transactions write the same row", Plain: "0"},
			{Name: "rollback", Default: "1%", Help: "share of the transactions that are rolled back at the end", Plain: "0%"},
			{Name: "think", Default: "0", Help: "wait between the operations of a transaction, 1ms say; makes transactions overlap longer", Plain: "0"},
		},
		New: New,
	})
}

// Bounds of parameters.
const (
	maxTables     = 10_000
	maxOperations = 100
)

// scan is the workload.
//
// A row is (k, n -> a, b, u). Conditions are on k, on a, which has an index, or on b, which has
// none. k, a and b are drawn from a window of --keys values that moves, so that rows enter and leave
// ranges, and no row gets very many versions. Row (k, 0) is the one that operations draw; an
// insertion has a unique n. u is unique for each write, so that a value identifies its writer.
type scan struct {
	common workloads.Common
	dist   *dist.Spec
	tables schema.Schema
	hash   bool  // their indexes are of kind hash
	empty  int64 // so many tables, the last ones, are empty at first

	stay, operations, width, most, birth int64
	conditions, scans, then              *workloads.Mix
	inside, duplicates, rollback         float64 // percent
	think                                time.Duration
}

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	w := &scan{common: c}
	var err error
	var tables int64
	for _, p := range []struct {
		name      string
		low, high int64
		to        *int64
	}{
		{"tables", 1, maxTables, &tables},
		{"stay", 0, 1 << 40, &w.stay},
		{"operations", 1, maxOperations, &w.operations},
		{"width", 1, c.Keys, &w.width},
		{"most", 1, 1 << 40, &w.most},
		{"birth", 0, 1 << 40, &w.birth},
	} {
		if *p.to, err = v.Int(p.name, p.low); err != nil {
			return nil, err
		}
		if *p.to > p.high {
			return nil, errors.Errorf("-p %s=%d: expected at most %d", p.name, *p.to, p.high)
		}
	}
	if w.empty, err = v.Int("empty", 0); err != nil {
		return nil, err
	}
	if w.empty > tables {
		return nil, errors.Errorf("-p empty=%d: there are %d tables", w.empty, tables)
	}
	for _, p := range []struct {
		name string
		to   *float64
	}{{"inside", &w.inside}, {"duplicates", &w.duplicates}, {"rollback", &w.rollback}} {
		if *p.to, err = v.Percent(p.name); err != nil {
			return nil, err
		}
	}
	if w.think, err = v.Duration("think"); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name, of string
		to       **workloads.Mix
		kinds    []string
	}{
		{"conditions", "condition", &w.conditions, []string{onKey, onIndexed, onUnindexed, onAll}},
		{"scans", "scan", &w.scans, []string{reads, counts, updates, deletes}},
		{"then", "statement", &w.then, []string{inserts, deletes, updates, upserts, item, again}},
	} {
		if *p.to, err = v.MixOf(p.of, p.name, p.kinds...); err != nil {
			return nil, err
		}
	}
	for n := range tables {
		w.tables = append(w.tables, &schema.Table{
			Name: "scan" + strconv.FormatInt(n, 10), Key: schema.Ints("k", "n"),
			Groups: []schema.Group{{Columns: schema.Ints("a", "b", "u")}},
		})
	}
	if err := w.index(v); err != nil {
		return nil, err
	}
	w.dist, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return w, err
}

// Idle implements generator.Idle.
func (w *scan) Idle() string {
	if w.scans.Draws(updates) || w.scans.Draws(deletes) {
		return ""
	}
	for _, kind := range []string{inserts, deletes, updates, upserts} {
		if w.then.Draws(kind) {
			return ""
		}
	}
	return "no transaction writes (scans and then)"
}

// Initial implements generator.Workload.
func (w *scan) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

// Schema implements generator.Tables.
func (w *scan) Schema() schema.Schema { return w.tables }

// Rows yields a row for each key of the first window, with random values of a and b.
func (w *scan) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(yield func(*schema.Table, schema.Row) bool) {
		rng := rand.New(rand.NewSource(w.common.Seed))
		for _, t := range w.tables[:int64(len(w.tables))-w.empty] {
			for k := range w.common.Keys {
				if !yield(t, row(k, 0, rng.Int63n(w.common.Keys), rng.Int63n(w.common.Keys), 0)) {
					return
				}
			}
		}
	}
}

func row(k, n, a, b, u int64) schema.Row {
	return schema.Row{Key: []any{k, n}, Groups: [][]any{{a, b, u}}}
}

// Lag implements generator.Paced: the windows of any two sessions have at least three quarters of
// their values in common, and the tables in use are the same or neighbours.
func (w *scan) Lag() int {
	lag := w.birth * max(w.common.Keys/4, 1)
	if w.stay > 0 && (lag == 0 || w.stay < lag) {
		lag = w.stay
	}
	return int(lag)
}
