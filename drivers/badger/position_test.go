package badger

import (
	"context"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// TestPosition: the commit timestamp that a transaction tells is the version of what it wrote, whatever it wrote.
func TestPosition(t *testing.T) {
	ctx := context.Background()
	opened, err := driver{}.Open(ctx, drivers.Config{Isolation: "serializable", Positions: true})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close(ctx)
	d, last := opened.(*db), int64(0)
	for name, program := range map[string]func(x drivers.Tx) error{
		"one write":     func(x drivers.Tx) error { return x.Insert(ctx, "a", 1) },
		"written twice": func(x drivers.Tx) error { _ = x.Insert(ctx, "a", 1); return x.Insert(ctx, "a", 2) },
		"written twice, others": func(x drivers.Tx) error {
			_ = x.Insert(ctx, "a", 1)
			_ = x.Insert(ctx, "b", 2)
			return x.Insert(ctx, "a", 3)
		},
		"only deleted":        func(x drivers.Tx) error { _, err := x.Delete(ctx, "a"); return err },
		"written and deleted": func(x drivers.Tx) error { _ = x.Insert(ctx, "a", 1); _, err := x.Delete(ctx, "a"); return err },
		"deleted and written": func(x drivers.Tx) error { _, _ = x.Delete(ctx, "a"); return x.Insert(ctx, "a", 1) },
	} {
		s, err := d.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := program(x); err != nil {
			t.Fatal(err)
		}
		if err := x.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		at := x.(drivers.Positioned).Position()
		if !at.Snapped || at.Snapshot != last || at.Commit != last+1 {
			t.Errorf("%s: %+v after commit %d", name, at, last)
		}
		last = at.Commit
		reader, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if at := reader.(drivers.Positioned).Position(); at.Commit != 0 || !at.Snapped || at.Snapshot != last {
			t.Errorf("%s: a reader is at %+v after commit %d", name, at, last)
		}
	}
	// Not asked, a transaction looks at nothing.
	x := drivertest.Begin(t, drivertest.Open(t, driver{}, "", "serializable"))
	if x.(tx).placed != nil {
		t.Error("it looks although nobody asked")
	}
}

func TestVersions(t *testing.T) { drivertest.Versions(t, driver{}, "", "serializable") }

// BenchmarkPositions: see drivertest.PositionsCost.
func BenchmarkPositions(b *testing.B) { drivertest.PositionsCost(b, driver{}, "", "serializable") }
