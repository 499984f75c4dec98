package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// TestSnapshot: the snapshot of a transaction is that of its first statement, whatever that is and also if it finds no
// row, is refused, or returns many rows. A transaction that only reads gets no number. At read committed nothing is told.
func TestSnapshot(t *testing.T) {
	ctx := t.Context()
	open := func(isolation string, positions bool) drivers.DB {
		d, err := (driver{}).Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: isolation, Positions: positions})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Create(ctx, maps.All(map[string]int64{"k0": 1})); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close(context.Background()) })
		return d
	}
	has := func(s *drivers.Snapshot, number int64) bool {
		return number < s.Max && !slices.Contains(s.Open, number)
	}
	begin := func(d drivers.DB) *tx { return drivertest.Begin(t, d).(*tx) }
	for _, isolation := range []string{"serializable", "repeatable read"} {
		d := open(isolation, true)
		writer := begin(d)
		if err := writer.Insert(ctx, "new", 1); err != nil {
			t.Fatal(err)
		}
		reader := begin(d)
		if reader.Snapshot() != nil {
			t.Error("a snapshot before the first statement")
		}
		if _, found, err := reader.Read(ctx, "new"); err != nil || found {
			t.Fatal(found, err)
		}
		s := reader.Snapshot()
		if s == nil || reader.TxnID() != 0 || has(s, writer.TxnID()) || s.Min < 1 || s.Max < s.Min || s.Min > writer.TxnID() {
			t.Fatalf("%s: %+v, with %d in progress, number %d", isolation, s, writer.TxnID(), reader.TxnID())
		}
		if err := writer.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if _, found, err := reader.Read(ctx, "new"); err != nil || found || reader.Snapshot() != s {
			t.Fatalf("%s: a second read: %v, %v, %+v", isolation, found, err, reader.Snapshot())
		}
		if err := reader.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		again := begin(d)
		err := again.Insert(ctx, "new", 2)
		var e *drivers.Error
		if !errors.As(err, &e) || e.Class != drivers.Aborted || again.Snapshot() == nil {
			t.Errorf("%s: a refused insertion: %v, %+v", isolation, err, again.Snapshot())
		}
		if err := again.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		later := begin(d)
		if v, found, err := later.Read(ctx, "new"); err != nil || !found || v != 1 || !has(later.Snapshot(), writer.TxnID()) {
			t.Errorf("%s: %d, %v, %v, %+v", isolation, v, found, err, later.Snapshot())
		}
	}
	for _, d := range []drivers.DB{open("read committed", true), open("serializable", false)} {
		x := begin(d)
		if _, _, err := x.Read(ctx, "k0"); err != nil || x.Snapshot() != nil {
			t.Errorf("%v, %+v", err, x.Snapshot())
		}
	}
	for _, text := range []string{"", "1:2", "a:2:", "1:2:x", "1:2:3:4"} {
		if s, err := parseSnapshot(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

// BenchmarkSnapshot has the median time of a transaction of two reads, with and without its snapshot. They alternate, so
// that what else the machine does is the same for both.
func BenchmarkSnapshot(b *testing.B) {
	ctx := b.Context()
	var sessions []drivers.Session
	for _, positions := range []bool{false, true} {
		d, err := (driver{}).Open(ctx, drivers.Config{DSN: server.DSN(), Isolation: "serializable", Positions: positions})
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Create(ctx, maps.All(map[string]int64{"k0": 1})); err != nil {
			b.Fatal(err)
		}
		defer d.Close(context.Background())
		s, err := d.Connect(ctx)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		sessions = append(sessions, s)
	}
	var took [2][]time.Duration
	for b.Loop() {
		for n, s := range sessions {
			begun := time.Now()
			x, err := s.Begin(ctx)
			for range 2 {
				if err == nil {
					_, _, err = x.Read(ctx, "k0")
				}
			}
			if err == nil {
				err = x.Commit(ctx)
			}
			if err != nil {
				b.Fatal(err)
			}
			took[n] = append(took[n], time.Since(begun))
		}
	}
	for n, unit := range []string{"µs-without", "µs-with"} {
		slices.Sort(took[n])
		b.ReportMetric(float64(took[n][len(took[n])/2].Nanoseconds())/1000, unit)
	}
}

// BenchmarkSnapshotThroughput has what snapshots cost many sessions.
func BenchmarkSnapshotThroughput(b *testing.B) {
	drivertest.PositionsCost(b, driver{}, server.DSN(), "serializable")
}
