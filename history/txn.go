package history

import "unsafe"

// Status is the outcome of a transaction. The zero value is Unknown, so that nothing is taken
// for committed by mistake.
type Status uint8

const (
	// Unknown: the client was not told whether the transaction committed, for example because
	// the connection died during COMMIT. It counts as committed exactly when a transaction that
	// counts as committed reads from it.
	Unknown Status = iota
	// Committed: the database acknowledged the commit.
	Committed
	// Aborted: the database said that it did not commit, or this is certain for another reason.
	Aborted
)

var statusNames = [...]string{Unknown: "unknown", Committed: "committed", Aborted: "aborted"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "invalid"
}

// ParseStatus is the inverse of Status.String.
func ParseStatus(s string) (Status, bool) {
	for i, n := range statusNames {
		if n == s {
			return Status(i), true
		}
	}
	return Unknown, false
}

// OpKind tells what an operation did.
type OpKind uint8

const (
	// Read returned Value, or Absent when the key had none.
	Read OpKind = iota + 1
	// Write gave the key Value; Absent deletes it.
	Write
	// ReadNot saw that the key's value was not Value, and nothing else: a compare-and-set that
	// failed without returning the value found.
	ReadNot
)

var opNames = [...]string{Read: "r", Write: "w", ReadNot: "n"}

// String returns the letter that the file formats use: r, w or n.
func (k OpKind) String() string {
	if k >= Read && k <= ReadNot {
		return opNames[k]
	}
	return "?"
}

// Op is one operation on one key.
type Op struct {
	Value Value
	Key   Key
	Kind  OpKind
}

// Txn is one transaction attempt. History.Ops returns its operations.
type Txn struct {
	// ID is the transaction's number in the file, unique within the history.
	ID int64
	// Begin and End are read from one monotonic clock, just before the first call and just after
	// the last call returned, in nanoseconds, or NoTime. The interval is closed: T precedes S in
	// real time only if T.End is strictly before S.Begin.
	Begin, End int64

	opFrom  int64
	opCount uint32
	// Session is a dense number; History.SessionName returns the recorded one.
	Session int32
	// Node is the endpoint that served the session, numbered from 1 in the order
	// of Header.Nodes, or 0 when there is only one.
	Node   int16
	Status Status
}

const (
	txnSize = int64(unsafe.Sizeof(Txn{}))
	opSize  = int64(unsafe.Sizeof(Op{}))

	claimSize = int64(unsafe.Sizeof(Claim{}))
)

// OpCount returns the number of operations of t.
func (t *Txn) OpCount() int { return int(t.opCount) }
