package generator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
)

// TestEndpoints: sessions are assigned to the endpoints in turn. Each reconnects to its own
// endpoint, which is also asked for unknown outcomes.
func TestEndpoints(t *testing.T) {
	lost := &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "connection lost", Broken: true}
	nodes := []*fake{{}, {}, {}}
	for _, f := range nodes {
		f.onCommit = func(n int) error {
			if n == 2 {
				return lost
			}
			return nil
		}
		f.outcomes = map[int64]drivers.Outcome{2: drivers.DidCommit}
		if err := f.Create(context.Background(), workload{keys: []string{"x"}}.Initial()); err != nil {
			t.Fatal(err)
		}
	}
	nodes[2].outcomes[2] = drivers.DidAbort
	w := workload{keys: []string{"x"}, f: increment}
	o := drive(t, nodes[0], w, generator.Config{Sessions: 4, Txns: 5, Retries: 1}, &buffer{}, context.Background(), nodes[1], nodes[2])
	if o.err != nil {
		t.Fatal(o.err)
	}
	node := map[int32]int16{}
	count := map[int16]int{}
	for i := range o.h.Txns {
		tx := &o.h.Txns[i]
		if was, ok := node[tx.Session]; ok && was != tx.Node {
			t.Errorf("session %d at nodes %d and %d", tx.Session, was, tx.Node)
		}
		node[tx.Session] = tx.Node
		count[tx.Node]++
		if tx.Status == history.Aborted && tx.Node != 3 {
			t.Errorf("node %d was not asked", tx.Node)
		}
	}
	// Two workers use the first endpoint; the third gets one attempt more.
	if count[1] != 10 || count[2] != 5 || count[3] != 6 {
		t.Errorf("transactions by node: %v", count)
	}
	for n, connects := range []int{3, 2, 2} {
		if f := nodes[n]; f.connects != connects || len(f.asked) != 1 {
			t.Errorf("node %d: %d connections, asked after %v", n+1, f.connects, f.asked)
		}
	}
}

// TestEndpointAway: an endpoint that is away for longer than patience does not end a run while another one
// answers. Its sessions come back. What happened is told.
func TestEndpointAway(t *testing.T) {
	here, away := &fake{}, &fake{}
	var gone time.Time
	const patience = 250 * time.Millisecond
	away.onCommit = func(n int) error {
		if n == 2 {
			gone = time.Now()
			return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: "connection lost", Broken: true}
		}
		return nil
	}
	away.onConnect = func(int) error {
		if !gone.IsZero() && time.Since(gone) < 3*patience {
			return &drivers.Error{Class: drivers.Aborted, Cause: "connection lost", Broken: true, Err: errors.New("refused")}
		}
		return nil
	}
	here.onCommit = func(int) error { time.Sleep(time.Millisecond); return nil }
	for _, f := range []*fake{here, away} {
		if err := f.Create(context.Background(), workload{keys: []string{"x"}}.Initial()); err != nil {
			t.Fatal(err)
		}
	}
	var notes []string
	o := drive(t, here, workload{keys: []string{"x"}, f: increment}, generator.Config{Sessions: 2, Txns: 1000, Patience: patience,
		Note: func(text string) { notes = append(notes, text) }}, &buffer{}, context.Background(), away)
	if o.err != nil || o.reason != generator.Complete {
		t.Errorf("%s, %v", o.reason, o.err)
	}
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "endpoint 2 cannot be reached") || !strings.HasPrefix(notes[1], "endpoint 2 answers again, after ") {
		t.Errorf("notes %q", notes)
	}
}

// TestRefused: a transaction that an endpoint refuses is aborted, is not retried there, and does
// not end the run.
func TestRefused(t *testing.T) {
	db := &fake{onUpdate: func(n int) error {
		return &drivers.Error{Class: drivers.Refused, Cause: "the endpoint only reads"}
	}}
	o := drive(t, db, workload{keys: []string{"x"}, f: increment}, generator.Config{Sessions: 1, Txns: 7, Retries: 3}, &buffer{}, context.Background())
	if n := o.h.Count(); o.err != nil || o.reason != generator.Complete || n.Txns != 7 || n.Aborted != 7 {
		t.Errorf("%v, %s, %+v", o.err, o.reason, n)
	}
}
