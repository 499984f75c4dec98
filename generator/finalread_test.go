package generator_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

func judge(t *testing.T, h *history.History, lvl level.Level) verdict.Verdict {
	t.Helper()
	r, err := linear.Engine{}.Judge(context.Background(), h, lvl, engine.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, dsl.Format(h))
	}
	return r.Verdict
}

// TestFinalRead: the run ends with a read of each key that was written, which comes after all
// transactions of all sessions.
func TestFinalRead(t *testing.T) {
	keys := []string{"x", "y", "never written"}
	w := workload{keys: keys, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
		return add(ctx, tx, keys[n%2])
	}}
	db := &fake{}
	o := drive(t, db, w, generator.Config{Sessions: 8, Txns: 20, FinalRead: true}, &buffer{}, context.Background())
	serializable(t, o.h)
	if n := o.h.Count(); n.Committed != 160+8+2 || n.Sessions != 8 || o.h.Fences() != 160 {
		t.Fatalf("%+v, fences from %d", n, o.h.Fences())
	}
	fences := map[history.Op]bool{}
	for i := 160; i < 168; i++ {
		if ops := o.h.Ops(&o.h.Txns[i]); len(ops) == 2 && o.h.IsFence(ops[1].Key) {
			fences[history.Op{Kind: history.Read, Key: ops[1].Key, Value: ops[1].Value}] = true
		}
	}
	for _, op := range o.h.Ops(&o.h.Txns[168]) {
		delete(fences, op)
	}
	if len(fences) > 0 || len(o.h.Ops(&o.h.Txns[168])) != 8 || !o.h.AtEnd(168) || !o.h.AtEnd(169) || o.h.AtEnd(100) || o.h.AtEnd(165) {
		t.Errorf("the fences and the read of the fences:\n%s", dsl.Format(o.h))
	}
	read := &o.h.Txns[169]
	got := map[string]history.Value{}
	for _, op := range o.h.Ops(read) {
		got[o.h.KeyName(op.Key)] = op.Value
	}
	if want := map[string]history.Value{"x": history.Value(db.state["x"]), "y": history.Value(db.state["y"])}; !maps.Equal(got, want) || read.Session != o.h.Txns[168].Session {
		t.Errorf("session %d read %v, the database has %v", read.Session, got, want)
	}
	if o.stats.Committed != 160 {
		t.Errorf("the meter counts %d transactions", o.stats.Committed)
	}
	if f := o.final; f == nil || f.Places != 2 || f.Txns != 1 || f.Left != 0 || f.Problem != "" {
		t.Errorf("%+v", f)
	}
}

// add reads and writes a key.
func add(ctx context.Context, tx *generator.Tx, key string) error {
	if _, _, err := tx.Read(ctx, key); err != nil {
		return err
	}
	_, err := tx.Update(ctx, key, tx.Fresh())
	return err
}

// TestFinalReadMany: many keys are read in several transactions.
func TestFinalReadMany(t *testing.T) {
	w := workload{f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
		key := "k" + strings.Repeat("i", n)
		if _, _, err := tx.Read(ctx, key); err != nil {
			return err
		}
		return tx.Insert(ctx, key, tx.Fresh())
	}}
	o := drive(t, &fake{}, w, generator.Config{Sessions: 1, Txns: 300, FinalRead: true}, &buffer{}, context.Background())
	serializable(t, o.h)
	if f := o.final; f.Places != 300 || f.Txns != 3 {
		t.Errorf("%+v", f)
	}
}

// crash makes a fake lose its latest commits, once, although it has acknowledged them.
func crash(db *fake, at int) {
	var before map[string]int64
	broken := &drivers.Error{Class: drivers.Aborted, Cause: "connection lost", Broken: true}
	db.onCommit = func(n int) error {
		switch {
		case n == at-5:
			before = maps.Clone(db.state)
		case n == at:
			db.state = before
			return broken
		}
		return nil
	}
	db.onUpdate = func(n int) error { // all connections break
		if n > at && n <= at+8 {
			return broken
		}
		return nil
	}
}

// TestLostCommits: a database that crashes and loses commits violates every level, although no
// session saw anything wrong before its connection broke. Without the final read the history may
// be serializable: a new session need not see what the former one wrote.
func TestLostCommits(t *testing.T) {
	w := workload{keys: []string{"x"}, f: increment}
	run := func(final bool) verdict.Verdict {
		db := &fake{}
		crash(db, 100)
		o := drive(t, db, w, generator.Config{Sessions: 1, Txns: 100, Retries: 3, FinalRead: final}, &buffer{}, context.Background())
		if n := o.h.Count(); n.Sessions < 2 {
			t.Fatalf("%+v", n)
		}
		return judge(t, o.h, level.SER)
	}
	if got := run(false); got != verdict.Satisfied {
		t.Errorf("without a final read: %s", got)
	}
	if got := run(true); got != verdict.Violated {
		t.Errorf("with a final read: %s", got)
	}
}

// TestFinalReadUnknown: a commit without an answer may take effect at any time, even between the
// transactions of the final read.
func TestFinalReadUnknown(t *testing.T) {
	for late := 1; late <= 6; late++ {
		db := &fake{}
		var held map[string]int64 // what the unanswered commit writes
		db.onCommit = func(n int) error {
			if n == 20 {
				held = map[string]int64{"a": 1 << 40, "z": 1 << 40}
				return errLost
			}
			if n == 20+late && held != nil {
				maps.Copy(db.state, held)
			}
			return nil
		}
		w := workload{keys: []string{"a", "z"}, f: func(ctx context.Context, tx *generator.Tx, worker, n int) error {
			if n == 20 {
				if _, _, err := tx.Read(ctx, "a"); err != nil {
					return err
				}
				if _, err := tx.Update(ctx, "a", 1<<40); err != nil {
					return err
				}
				if _, _, err := tx.Read(ctx, "z"); err != nil {
					return err
				}
				_, err := tx.Update(ctx, "z", 1<<40)
				return err
			}
			if n < 20 {
				return add(ctx, tx, []string{"a", "z"}[n%2])
			}
			return generator.ErrRollback
		}}
		o := drive(t, db, w, generator.Config{Sessions: 1, Txns: 21, FinalRead: true}, &buffer{}, context.Background())
		if got := judge(t, o.h, level.SER); got != verdict.Satisfied || o.final.Problem != "" {
			t.Errorf("late by %d: %s, %+v\n%s", late, got, o.final, dsl.Format(o.h))
		}
	}
}

// TestFinalReadFails: a final read that cannot be made is reported, and the history is complete.
func TestFinalReadFails(t *testing.T) {
	db := &fake{}
	db.onCommit = func(n int) error {
		if n > 20 {
			return &drivers.Error{Class: drivers.Fatal, Cause: "53100 disk full"}
		}
		return nil
	}
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, db, w, generator.Config{Sessions: 2, Txns: 10, FinalRead: true}, &buffer{}, context.Background())
	if f := o.final; f == nil || !strings.Contains(f.Problem, "could not write its fence: 53100 disk full") || f.Left != 1 {
		t.Errorf("%+v", f)
	}
	if !o.h.Closed || o.err != nil || o.reason != generator.Complete {
		t.Errorf("closed %v, %v, %s", o.h.Closed, o.err, o.reason)
	}
}

// TestFinalReadFull: the history cannot be written any more when the final read begins.
func TestFinalReadFull(t *testing.T) {
	w := workload{keys: []string{"x"}, f: increment}
	whole := &buffer{}
	drive(t, &fake{}, w, generator.Config{Sessions: 1, Txns: 50}, whole, context.Background())
	o := drive(t, &fake{}, w, generator.Config{Sessions: 1, Txns: 50, FinalRead: true}, &buffer{full: whole.b.Len() + 10}, context.Background())
	if o.err == nil || o.reason != generator.HistoryLost || o.h.Closed {
		t.Errorf("%v, %s", o.err, o.reason)
	}
}
