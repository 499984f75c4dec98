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

// isolations, the default first. MongoDB promises a snapshot only for read concern snapshot, and
// only if the transaction commits with write concern majority. That the snapshot contains what
// the session did before is promised only in a causally consistent session (manual, "Read
// Concern snapshot", "Transactions and Read Concern"). Reads and writes of a single document are
// linearizable with read concern linearizable and write concern majority (manual, "Read Concern
// linearizable").
var isolations = []isolation{
	{Isolation: drivers.Isolation{Name: "snapshot, majority", Promises: "si", Note: "in causally consistent sessions"}, read: "snapshot", write: "majority"},
	{Isolation: drivers.Isolation{Name: "snapshot, majority, causalConsistency=false", Promises: "si-noso", Note: "a snapshot may lack what the session did before"}, read: "snapshot", write: "majority", acausal: true},
	{Isolation: drivers.Isolation{Name: "majority, majority", Note: "reads what a majority has; one snapshot is not promised"}, read: "majority", write: "majority"},
	{Isolation: drivers.Isolation{Name: "local, majority", Note: "MongoDB's default since 5.0; one snapshot is not promised"}, read: "local", write: "majority"},
	{Isolation: drivers.Isolation{Name: "snapshot, w1", Note: "without write concern majority read concern snapshot promises nothing"}, read: "snapshot", write: 1},
	{Isolation: drivers.Isolation{Name: "local, w1", Note: "may be rolled back when the primary changes"}, read: "local", write: 1},
	{Isolation: drivers.Isolation{Name: "linearizable, majority", Lightweight: "lin", Note: "single documents only, no transactions"}, read: "linearizable", write: "majority", single: true},
}

func (i isolation) readConcern() *readconcern.ReadConcern {
	return &readconcern.ReadConcern{Level: i.read}
}

func (i isolation) writeConcern() *writeconcern.WriteConcern {
	return &writeconcern.WriteConcern{W: i.write}
}
