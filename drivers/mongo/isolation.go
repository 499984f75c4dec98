package mongo

import (
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/isohound/isohound/drivers"
)

// isolation is a read concern and a write concern, and whether sessions are causally consistent,
// which is MongoDB's default.
type isolation struct {
	drivers.Isolation
	read    string
	write   any
	acausal bool
	// single says that the read concern is for single documents, outside transactions.
	single bool
}

// Pages of MongoDB's manual that say what is promised.
const (
	snapshotPage     = "https://www.mongodb.com/docs/manual/reference/read-concern-snapshot/"
	causalPage       = "https://www.mongodb.com/docs/manual/core/causal-consistency-read-write-concerns/"
	transactionsPage = "https://www.mongodb.com/docs/manual/core/transactions/"
	linearizablePage = "https://www.mongodb.com/docs/manual/reference/read-concern-linearizable/"
)

// isolations, the default first. MongoDB promises a snapshot only for read concern snapshot, and
// only if the transaction commits with write concern majority. That the snapshot contains what
// the session did before is promised only in a causally consistent session (manual, "Read
// Concern snapshot", "Transactions and Read Concern"). For the other concerns it promises that a
// transaction becomes visible as a whole, when it commits (manual, "Transactions and Atomicity"; the
// collection is not sharded), which is rc, and in causally consistent sessions those of the four
// session guarantees that the table in "Causal Consistency and Read and Write Concerns" lists.
// Reads and writes of a single document are linearizable with read concern linearizable and write
// concern majority (manual, "Read Concern linearizable"). With other concerns they are only atomic:
// the driver sends them outside causally consistent sessions.
var isolations = []isolation{
	{Isolation: drivers.Isolation{Name: "snapshot, majority", Promises: "si", Lightweight: "rc", Source: snapshotPage, Note: "in causally consistent sessions"}, read: "snapshot", write: "majority"},
	{Isolation: drivers.Isolation{Name: "snapshot, majority, causalConsistency=false", Promises: "si-noso", Lightweight: "rc", Source: snapshotPage, Note: "a snapshot may lack what the session did before"}, read: "snapshot", write: "majority", acausal: true},
	{Isolation: drivers.Isolation{Name: "majority, majority", Promises: "rc,session", Lightweight: "rc", Source: causalPage, Note: "reads what a majority has, in causally consistent sessions; one snapshot is not promised"}, read: "majority", write: "majority"},
	{Isolation: drivers.Isolation{Name: "local, majority", Promises: "rc,mw", Lightweight: "rc", Source: causalPage, Note: "MongoDB's default since 5.0; one snapshot is not promised"}, read: "local", write: "majority"},
	{Isolation: drivers.Isolation{Name: "snapshot, w1", Promises: "rc", Lightweight: "rc", Source: transactionsPage, Note: "without write concern majority read concern snapshot promises no snapshot, and commits may be rolled back"}, read: "snapshot", write: 1},
	{Isolation: drivers.Isolation{Name: "local, w1", Promises: "rc", Lightweight: "rc", Source: transactionsPage, Note: "commits may be rolled back when the primary changes"}, read: "local", write: 1},
	{Isolation: drivers.Isolation{Name: "linearizable, majority", Lightweight: "lin", Source: linearizablePage, Note: "single documents only, no transactions"}, read: "linearizable", write: "majority", single: true},
}

func (i isolation) readConcern() *readconcern.ReadConcern {
	return &readconcern.ReadConcern{Level: i.read}
}

func (i isolation) writeConcern() *writeconcern.WriteConcern {
	return &writeconcern.WriteConcern{W: i.write}
}
