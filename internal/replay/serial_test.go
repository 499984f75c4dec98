package replay

import (
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/modeldb"
	"github.com/isohound/isohound/workloads"
	_ "github.com/isohound/isohound/workloads/blindw"
	_ "github.com/isohound/isohound/workloads/mini"
)

// faulty is the model with one fault, which occurs from time to time.
type faulty struct {
	modeldb.Driver
	fault string
}

func (f faulty) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	db, err := f.Driver.Open(ctx, cfg)
	return faultyDB{db, db.(drivers.TableDB), f.fault}, err
}

type faultyDB struct {
	drivers.DB
	drivers.TableDB
	fault string
}

func (d faultyDB) Connect(ctx context.Context) (drivers.Session, error) {
	s, err := d.DB.Connect(ctx)
	return &faultySession{Session: s, fault: d.fault}, err
}

type faultySession struct {
	drivers.Session
	fault string
	calls int
	old   int64
}

func (s *faultySession) Begin(ctx context.Context) (drivers.Tx, error) {
	tx, err := s.Session.Begin(ctx)
	return &faultyTx{tx, tx.(drivers.TableTx), s}, err
}

type faultyTx struct {
	drivers.Tx
	drivers.TableTx
	s *faultySession
}

// now reports whether a fault must occur in this call.
func (x *faultyTx) now(fault string) bool {
	x.s.calls++
	return x.s.fault == fault && x.s.calls%20 == 0
}

func (x *faultyTx) Read(ctx context.Context, key string) (int64, bool, error) {
	v, found, err := x.Tx.Read(ctx, key)
	if x.now("stale read") {
		return x.s.old, found, err
	}
	x.s.old = v
	return v, found, err
}

func (x *faultyTx) Update(ctx context.Context, key string, value int64) (bool, error) {
	if x.now("lost update") {
		return true, nil
	}
	return x.Tx.Update(ctx, key, value)
}

func (x *faultyTx) Scan(ctx context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error) {
	rows, err := x.TableTx.Scan(ctx, t, p, groups)
	if len(rows) > 0 && x.now("missing row") {
		rows = rows[1:]
	}
	return rows, err
}

func (x *faultyTx) SetWhere(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error) {
	rows, err := x.TableTx.SetWhere(ctx, t, where, group, exprs)
	if len(rows) > 0 && x.now("untold row") {
		rows = rows[1:]
	}
	return rows, err
}

func (x *faultyTx) Rollback(ctx context.Context) error {
	if x.now("rollback commits") || x.s.fault == "rollback commits" {
		return x.Commit(ctx)
	}
	return x.Tx.Rollback(ctx)
}

// TestFaults: a database with a fault fails the comparison; without it passes.
func TestFaults(t *testing.T) {
	for _, tc := range []struct{ fault, name, set string }{
		{"", "mini", "rollback=20"}, {"", "blindw", "variant=Pred"},
		{"stale read", "mini", ""}, {"lost update", "mini", ""}, {"rollback commits", "mini", "rollback=20"},
		{"missing row", "blindw", "variant=Pred"}, {"untold row", "blindw", "variant=Pred"},
	} {
		make := func() (generator.Workload, error) {
			return New(tc.name, workloads.Common{Sessions: 3, Keys: 20}, strings.Fields(tc.set)...)
		}
		err := AgainstModel(faulty{fault: tc.fault}, drivers.Config{}, false, make, 3, 50, 1)
		if (err == nil) != (tc.fault == "") {
			t.Errorf("%q, %s: %v", tc.fault, tc.name, err)
		}
	}
}

// TestTelling: a run without reads of earlier writes proves nothing.
func TestTelling(t *testing.T) {
	make := func() (generator.Workload, error) {
		return New("blindw", workloads.Common{Sessions: 3, Keys: 20}, "reads=0")
	}
	err := AgainstModel(modeldb.Driver{}, drivers.Config{}, false, make, 3, 50, 1)
	if err == nil || !strings.Contains(err.Error(), "no transaction of 150 reads") {
		t.Error(err)
	}
}

// TestSame: only times and causes may differ.
func TestSame(t *testing.T) {
	const line = `{"txn":1,"session":1,"begin":5,"end":6,"status":"committed","ops":[["r","x",1],["w","x",2]]}`
	for other, same := range map[string]bool{
		line: true,
		strings.Replace(line, `"begin":5`, `"dbtxn":7,"begin":4`, 1): true,
		strings.Replace(line, `["r","x",1]`, `["r","x",0]`, 1):       false,
		strings.Replace(line, `["r","x",1]`, `["r","x",1.0]`, 1):     false,
		strings.Replace(line, `committed`, `aborted`, 1):             false,
		strings.Replace(line, `,["w","x",2]`, ``, 1):                 false,
		line + "\n" + line: false,
		"":                 false,
		"{":                false,
		strings.Replace(line, `]]}`, `]],"preds":[{"kind":"x"}]}`, 1): false,
	} {
		if err := Same([]byte(other), []byte(line)); (err == nil) != same {
			t.Errorf("%s: %v", other, err)
		}
	}
}
