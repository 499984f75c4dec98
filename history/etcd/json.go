package etcd

// operation is a line of operations.json. Times are nanoseconds of one clock of all clients.
type operation struct {
	ClientID     int64 `json:"ClientId"`
	Input        request
	Call, Return int64
	Output       answer
}

type request struct {
	Type  string
	Range *struct {
		bounds
		Revision int64 // of the state that is asked for; 0 for the newest
	}
	Txn *struct {
		Conditions                               []condition
		OperationsOnSuccess, OperationsOnFailure []step
	}
}

// The types of requests. Others, such as defragment and compact, change no key.
const (
	typeRange = "range"
	typeTxn   = "txn"
)

// without are the types of requests that neither read nor write keys. The end of a lease deletes keys; watches tell which.
var without = map[string]bool{"leaseGrant": true, "leaseRevoke": true, "defragment": true, "compact": true}

// bounds are those of a range: the key Start alone if End is empty, all keys from Start if End is a zero byte.
type bounds struct{ Start, End string }

// condition compares a key: its version if ExpectedVersion is positive, else the revision of its last change, which is 0
// for a key that does not exist.
type condition struct {
	Key                               string
	ExpectedRevision, ExpectedVersion int64
}

// step is an operation of a transaction.
type step struct {
	Type  string
	Range bounds
	Put   struct {
		Key     string
		Value   value
		LeaseID int64
	}
	Delete struct{ Key string }
}

// The types of steps and of watched events.
const (
	rangeStep  = "range-operation"
	putStep    = "put-operation"
	deleteStep = "delete-operation"
)

// value is a text of less than 20 bytes, or the hash of a longer one.
type value struct {
	Value string
	Hash  uint32
}

type answer struct {
	Txn *struct {
		Failure bool
		Results []struct {
			rows
			Deleted int64
		}
	}
	Range *rows
	// ClientError: the server refused the request.
	ClientError string
	Revision    int64
	// Error: the client does not know the outcome. The other two are of histories that etcd's tests have completed.
	Error                      string
	Persisted, PartialResponse bool
}

// rows are the first rows of a range, and the number of all.
type rows struct {
	KVs []struct {
		Key         string
		Value       value
		ModRevision int64
	}
	Count int64
}

// watch is a line of watch.json.
type watch struct {
	Responses []struct {
		Events []event
	}
}

type event struct {
	Type     string
	Key      string
	Value    value
	Revision int64
}
