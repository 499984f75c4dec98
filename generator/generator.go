// Package generator drives a database with a workload and records what
// happens: who does what and when. It knows sessions, seeds, clocks, retries
// and files, but neither SQL nor what transactions mean.
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
	// Initial yields the keys that exist from the beginning, with their values.
	Initial() iter.Seq2[string, int64]
	// Plan returns what worker, one of those numbered from 0, will do: a
	// sequence that depends on the stream of random numbers alone.
	Plan(worker int, stream *rand.Rand) Plan
}

// Tables is a Workload on tables. Its Initial, if it yields anything, yields
// keys besides.
type Tables interface {
	Schema() schema.Schema
	// Rows yields the rows that exist from the beginning.
	Rows() iter.Seq2[*schema.Table, schema.Row]
}

// Needer is a Workload that needs more of a database than its Spec says, because
// of its parameters.
type Needer interface{ Needs() []drivers.Capability }

// Idle is a Workload that can tell before it runs that nothing would be tested:
// it returns the reason, or "".
type Idle interface{ Idle() string }

// Invariant is something that holds in every state that serial executions of a
// workload can reach. It is looked at after a run, in a transaction of its own:
// an oracle beside the checkers.
type Invariant struct {
	// Name is short and stable, "consistency 3"; Text says what must hold.
	Name, Text string
	// Check returns what does not hold, or "".
	Check func(ctx context.Context, tx drivers.Tx) (problem string, err error)
}

// Invariants is a Workload with invariants.
type Invariants interface{ Invariants() []Invariant }

// Plan is a worker's sequence of transactions.
type Plan interface {
	// Next returns the next transaction. It may be run several times, when an
	// attempt aborts.
	Next() Program
}

// Program is one transaction.
type Program interface {
	// Run calls the operations of tx, which records them. It returns the first
	// error that one of them returns, or ErrRollback to end the transaction
	// without its effects, or nil to commit.
	Run(ctx context.Context, tx *Tx) error
}

// Waiter is a Program that begins only after a wait, as after a user who keys it
// in. An open loop has a pace of its own and does not wait.
type Waiter interface{ Wait() time.Duration }

// ErrRollback is returned by a Program that wants its transaction rolled back.
var ErrRollback = errors.New("rolled back by the workload")

// Stream returns the random numbers of one worker of a run. Workers' streams
// are independent, and the same for the same seed and worker.
func Stream(seed int64, worker int) *rand.Rand {
	// SplitMix64 keeps neighbouring seeds apart.
	z := uint64(seed) + uint64(worker+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return rand.New(rand.NewSource(int64(z ^ z>>31)))
}
