package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// The first statement of a transaction takes its snapshot. One that asks for the snapshot is sent right before the first
// one of the workload, in the same round trip, so that the snapshot is no older than it would be. It does not give the
// transaction a number: a transaction that only reads has none.

const askSnapshot = "SELECT txid_current_snapshot()::text"

// Snapshot implements drivers.Snapshotted.
func (x *tx) Snapshot() *drivers.Snapshot { return x.snapshot }

// asks reports whether the next statement is the first one and has to ask for the snapshot.
func (x *tx) asks() bool {
	first := !x.asked && x.db.snapshots
	x.asked = true
	return first
}

// row runs a statement that returns at most one row.
func (x *tx) row(ctx context.Context, sql string, args ...any) pgx.Row {
	if !x.asks() {
		return x.t.QueryRow(ctx, sql, args...)
	}
	return &batchRow{x, x.first(ctx, sql, args)}
}

// rows runs a statement.
func (x *tx) rows(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if !x.asks() {
		return x.t.Query(ctx, sql, args...)
	}
	b := x.first(ctx, sql, args)
	rows, err := x.second(b)
	if err != nil {
		b.Close()
		return nil, err
	}
	return &batchRows{rows, b, nil}, nil
}

func (x *tx) first(ctx context.Context, sql string, args []any) pgx.BatchResults {
	b := &pgx.Batch{}
	b.Queue(askSnapshot)
	b.Queue(sql, args...)
	return x.t.SendBatch(ctx, b)
}

// second reads the answer about the snapshot, and returns that of the statement after it.
func (x *tx) second(b pgx.BatchResults) (pgx.Rows, error) {
	var text string
	if err := b.QueryRow().Scan(&text); err != nil {
		return nil, err
	}
	var err error
	if x.snapshot, err = parseSnapshot(text); err != nil {
		return nil, err
	}
	return b.Query()
}

// batchRow is the row of the second statement of a batch.
type batchRow struct {
	x *tx
	b pgx.BatchResults
}

// Scan implements pgx.Row.
func (r *batchRow) Scan(dest ...any) error {
	rows, err := r.x.second(r.b)
	if err == nil {
		if rows.Next() {
			err = rows.Scan(dest...)
		} else if err = rows.Err(); err == nil {
			err = pgx.ErrNoRows
		}
		rows.Close()
		if rerr := rows.Err(); rerr != nil && (err == nil || err == pgx.ErrNoRows) {
			err = rerr
		}
	}
	if cerr := r.b.Close(); cerr != nil && (err == nil || err == pgx.ErrNoRows) {
		err = cerr
	}
	return err
}

// batchRows are the rows of the second statement of a batch.
type batchRows struct {
	pgx.Rows
	b   pgx.BatchResults
	err error
}

// Close implements pgx.Rows.
func (r *batchRows) Close() {
	r.Rows.Close()
	if r.b != nil {
		r.err, r.b = r.b.Close(), nil
	}
}

// Next implements pgx.Rows.
func (r *batchRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Err implements pgx.Rows.
func (r *batchRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}

// parseSnapshot reads xmin:xmax:xip.
func parseSnapshot(text string) (*drivers.Snapshot, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, errors.Errorf("the server's snapshot is %q", text)
	}
	var numbers []int64
	for _, word := range append(parts[:2:2], strings.FieldsFunc(parts[2], func(c rune) bool { return c == ',' })...) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return nil, errors.Errorf("the server's snapshot is %q", text)
		}
		numbers = append(numbers, n)
	}
	s := &drivers.Snapshot{Min: numbers[0], Max: numbers[1], Open: numbers[2:]}
	slices.Sort(s.Open)
	return s, nil
}
