package drivers

import (
	"context"
	"iter"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history/schema"
)

// Capability is a feature of a database that a workload or a run may need.
type Capability string

// The capabilities.
const (
	// Transactions of several operations on several keys. Without it a driver
	// has only lightweight transactions.
	Transactions Capability = "transactions"
	// Deletes removes keys and rows.
	Deletes Capability = "deletes"
	// Tables: its DB is a TableDB, its Tx a TableTx.
	Tables Capability = "tables"
	// Predicates: its TableTx has Scan, CountWhere, SetWhere and DeleteWhere, with every comparison
	// of conditions.
	Predicates Capability = "predicates"
	// HashIndexes, GinIndexes and BrinIndexes: it makes secondary indexes of kinds hash, gin and
	// brin (schema.Index).
	HashIndexes Capability = schema.Hash + indexes
	GinIndexes  Capability = schema.Gin + indexes
	BrinIndexes Capability = schema.Brin + indexes
	// Lightweight: its Session is an LWT.
	Lightweight Capability = "lightweight transactions"
	// Endpoints: its DB is a Joiner, so that sessions can be spread over several
	// endpoints.
	Endpoints Capability = "several endpoints"
	// Disturb: it makes all its connections with Config.Dial, so that they can be disturbed.
	Disturb Capability = "faults on connections"
	// Positions: its DB is a Positioner, its Tx a Positioned.
	Positions Capability = "positions of transactions"
	// Snapshots: its Tx is a Snapshotted.
	Snapshots Capability = "snapshots as sets of transactions"
	// Pauses: its DB is a Pauser.
	Pauses Capability = "pauses of sessions"
	// CommitLog: its DB is a Logger.
	CommitLog Capability = "a log of commits"
)

const indexes = " indexes"

// IndexNeeds lists the capabilities that the secondary indexes of tables need. Indexes of kind btree
// need none.
func IndexNeeds(tables schema.Schema) []Capability {
	var needs []Capability
	for _, t := range tables {
		for _, index := range t.Indexes {
			if need := Capability(index.Kind + indexes); index.Kind != schema.Btree && !slices.Contains(needs, need) {
				needs = append(needs, need)
			}
		}
	}
	return needs
}

// CheckIndexes returns an error if the driver lacks the kind of a secondary index of tables.
func (i Info) CheckIndexes(tables schema.Schema) error {
	for _, need := range IndexNeeds(tables) {
		if !slices.Contains(i.Can, need) {
			return errors.Errorf("driver %s does not have %s", i.Name, need)
		}
	}
	return nil
}

// Lacks returns a capability of needs that the isolation does not have although its driver has it, or "".
func (i Isolation) Lacks(needs []Capability) Capability {
	for _, need := range needs {
		if slices.Contains(i.Without, need) {
			return need
		}
	}
	return ""
}

// TableDB is a DB with tables.
type TableDB interface {
	// CreateTables makes a schema for this run with tables and the initial rows. It is called
	// instead of Create, or after it. It refuses indexes of kinds that the driver lacks
	// (Info.CheckIndexes).
	CreateTables(ctx context.Context, tables schema.Schema, rows iter.Seq2[*schema.Table, schema.Row]) error
}

// TableTx is a Tx that works on tables. It must not invent what a database does not return: an
// update that depends on old values returns what it left, and if a database has no such
// statement, its driver must obtain the values in another correct way.
type TableTx interface {
	// Get returns groups of the row with a primary key, nil for groups not requested, and false
	// if there is no such row.
	Get(ctx context.Context, t *schema.Table, key []any, groups []int) (row schema.Row, found bool, err error)
	// InsertRow adds a complete row.
	InsertRow(ctx context.Context, t *schema.Table, row schema.Row) error
	// Set updates a group of a row, and returns false if there is no such row. If the update
	// depends on old values (schema.Depends), after is what the statement left, as the database
	// returned it; else nil.
	Set(ctx context.Context, t *schema.Table, key []any, group int, exprs []schema.Expr) (after []any, found bool, err error)
	// Upsert inserts a row of a table with one group, or updates an existing row by exprs, in
	// one statement. It returns the row's new content, and whether the row is new.
	Upsert(ctx context.Context, t *schema.Table, row schema.Row, exprs []schema.Expr) (after []any, inserted bool, err error)
	// DeleteRow removes a row, or returns false if there is none.
	DeleteRow(ctx context.Context, t *schema.Table, key []any) (found bool, err error)
	// Scan returns the rows that a predicate selects, with groups, which include those of its
	// conditions and its order.
	Scan(ctx context.Context, t *schema.Table, p schema.Predicate, groups []int) ([]schema.Row, error)
	// SetWhere updates a group of all rows that fulfil the conditions, in one statement. It
	// returns the keys of the changed rows with the new content of the group.
	SetWhere(ctx context.Context, t *schema.Table, where []schema.Condition, group int, exprs []schema.Expr) ([]schema.Row, error)
	// CountWhere returns the number of rows that fulfil the conditions, as the database counted
	// them in one statement.
	CountWhere(ctx context.Context, t *schema.Table, where []schema.Condition) (int, error)
	// DeleteWhere removes all rows that fulfil the conditions. It returns the primary keys of the
	// rows that it removed, in any order.
	DeleteWhere(ctx context.Context, t *schema.Table, where []schema.Condition) (keys [][]any, err error)
}

// LWT is a Session with lightweight transactions (MTC paper, section IV-E): single statements on
// one key that commit by themselves, outside any Tx. An Error of class Aborted says that the
// statement had no effect. After any other error of a write the outcome is unknown.
type LWT interface {
	// ReadOne returns the value of key, and false if the key does not exist.
	ReadOne(ctx context.Context, key string) (value int64, found bool, err error)
	// InsertIfAbsent adds key unless it exists, and reports whether it did.
	InsertIfAbsent(ctx context.Context, key string, value int64) (applied bool, err error)
	// CompareAndSet changes key from old to value if it holds old, and reports
	// whether it did.
	CompareAndSet(ctx context.Context, key string, old, value int64) (applied bool, err error)
}
