// Package generator runs a workload against a database and records the history. It handles
// sessions, seeds, clocks, retries and files. It does not depend on SQL or on what transactions
// do.
package generator

import (
	"context"
	"iter"
	"math/rand"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// Workload decides what transactions do.
type Workload interface {
	// Initial yields the keys that exist at the beginning, with their values.
	Initial() iter.Seq2[string, int64]
	// Plan returns the sequence of transactions of a worker; workers are numbered from 0. The
	// sequence depends only on the stream of random numbers.
	Plan(worker int, stream *rand.Rand) Plan
}

// Tables is a Workload on tables. If its Initial yields anything, these are additional keys.
type Tables interface {
	Schema() schema.Schema
	// Rows yields the rows that exist at the beginning.
	Rows() iter.Seq2[*schema.Table, schema.Row]
}

// Needer is a Workload whose parameters require more capabilities of a database than its Spec
// lists.
type Needer interface{ Needs() []drivers.Capability }

// Idle is a Workload that knows before the run if nothing would be tested: it returns the
// reason, or "".
type Idle interface{ Idle() string }

// Invariant is a condition that holds in every state that serial executions of a workload can
// reach. It is checked after a run, in its own transaction: a test oracle in addition to the
// checkers.
type Invariant struct {
	// Name is short and stable, such as "consistency 3"; Text states the condition.
	Name, Text string
	// Check returns what is violated, or "".
	Check func(ctx context.Context, tx drivers.Tx) (problem string, err error)
}

// Invariants is a Workload with invariants.
type Invariants interface{ Invariants() []Invariant }

// Plan is a worker's sequence of transactions.
type Plan interface {
	// Next returns the next transaction. It is run again if an attempt aborts and is retried.
	Next() Program
}

// Program is one transaction.
type Program interface {
	// Run calls the operations of tx, which records them. It returns the first error of an
	// operation, ErrRollback to roll the transaction back, or nil to commit.
	Run(ctx context.Context, tx *Tx) error
}

// Waiter is a Program that begins after a wait, such as the keying time of a user. An open loop
// ignores the wait.
type Waiter interface{ Wait() time.Duration }

// ErrRollback is returned by a Program that wants its transaction rolled back.
var ErrRollback = errors.New("rolled back by the workload")

// Stream returns the random numbers of one worker of a run. The streams of workers are
// independent. The same seed and worker give the same stream.
func Stream(seed int64, worker int) *rand.Rand {
	// SplitMix64 makes the streams of neighbouring seeds independent.
	z := uint64(seed) + uint64(worker+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return rand.New(rand.NewSource(int64(z ^ z>>31)))
}
