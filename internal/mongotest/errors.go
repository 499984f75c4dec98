package mongotest

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Error codes (src/mongo/base/error_codes.yml of the server).
const (
	BadValue                            = 2
	Unauthorized                        = 13
	IllegalOperation                    = 20
	LockTimeout                         = 24
	MaxTimeMSExpired                    = 50
	CommandNotFound                     = 59
	WriteConcernTimeout                 = 64
	InvalidOptions                      = 72
	ShutdownInProgress                  = 91
	UnsatisfiableWriteConcern           = 100
	WriteConflict                       = 112
	PrimarySteppedDown                  = 189
	TransactionTooOld                   = 225
	SnapshotUnavailable                 = 246
	NoSuchTransaction                   = 251
	TransactionCommitted                = 256
	PreparedTransactionInProgress       = 267
	NotWritablePrimary                  = 10107
	DuplicateKey                        = 11000
	InterruptedDueToReplStateChange     = 11602
	alreadyStarted                      = 50911
	transientTransactionError           = "TransientTransactionError"
	retryableWriteError                 = "RetryableWriteError"
	writesNotAllowedMessage             = "Transaction numbers are only allowed on a replica set member or mongos"
	noSuchTransactionMessage            = "Given transaction number does not match any in-progress transactions."
	writeConflictMessage                = "Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation or multi-document transaction."
	readConcernOnlyFirstMessage         = "Only the first command in a transaction may specify a readConcern"
	writeConcernInTransactionMessage    = "writeConcern is not allowed within a multi-statement transaction"
	readConcernNotInTransactionsMessage = "The readConcern level must be either 'local', 'majority' or 'snapshot' in order to run in a transaction"
)

var codeNames = map[int32]string{
	BadValue: "BadValue", Unauthorized: "Unauthorized", IllegalOperation: "IllegalOperation", LockTimeout: "LockTimeout",
	MaxTimeMSExpired: "MaxTimeMSExpired", CommandNotFound: "CommandNotFound", WriteConcernTimeout: "WriteConcernTimeout",
	InvalidOptions: "InvalidOptions", ShutdownInProgress: "ShutdownInProgress", UnsatisfiableWriteConcern: "UnsatisfiableWriteConcern",
	WriteConflict: "WriteConflict", PrimarySteppedDown: "PrimarySteppedDown", TransactionTooOld: "TransactionTooOld",
	SnapshotUnavailable: "SnapshotUnavailable", NoSuchTransaction: "NoSuchTransaction", TransactionCommitted: "TransactionCommitted",
	PreparedTransactionInProgress: "PreparedTransactionInProgress", NotWritablePrimary: "NotWritablePrimary",
	DuplicateKey: "DuplicateKey", InterruptedDueToReplStateChange: "InterruptedDueToReplStateChange",
}

// commandError is a command that failed as a whole (ok: 0).
type commandError struct {
	code   int32
	msg    string
	labels []string // set by a fault; if nil, the server's rules apply
}

func fail(code int32, msg string) *commandError { return &commandError{code: code, msg: msg} }

// transientErrors mean that the transaction can be retried, whichever of its commands they occur
// in. retriableErrors is the category RetriableError of error_codes.yml.
var (
	transientErrors = []int32{WriteConflict, LockTimeout, PreparedTransactionInProgress, SnapshotUnavailable, 239 /* SnapshotTooOld */}
	retriableErrors = []int32{6, 7, 89, ShutdownInProgress, PrimarySteppedDown, 262, 317, 358, 9001, NotWritablePrimary, 11600, InterruptedDueToReplStateChange, 13435, 13436}
)

// labels are the labels that the server gives to an error, by the rules of
// src/mongo/db/error_labels.cpp. An error in a transaction is transient if the whole transaction
// can be run again. For commit and abort this holds for NoSuchTransaction only if the write
// concern was fulfilled, because otherwise the data could be rolled back. A retriable error of a
// retryable write, a commit or an abort has the label RetryableWriteError.
func labels(code int32, k kind, name string, writeConcernFailed bool) bson.A {
	out := bson.A{}
	if k == inTransaction {
		transient := slices.Contains(transientErrors, code)
		if ends(name) {
			transient = transient || code == NoSuchTransaction && !writeConcernFailed
		} else {
			transient = transient || code == NoSuchTransaction || slices.Contains(retriableErrors, code)
		}
		if transient {
			out = append(out, transientTransactionError)
		}
	}
	if (ends(name) || k == retryableWrite) && slices.Contains(retriableErrors, code) {
		out = append(out, retryableWriteError)
	}
	return out
}

// labelled returns the labels of an error: those set by a fault, or the server's own.
func (e *commandError) labelled(k kind, name string, writeConcernFailed bool) bson.A {
	if e.labels == nil {
		return labels(e.code, k, name, writeConcernFailed)
	}
	out := bson.A{}
	for _, l := range e.labels {
		out = append(out, l)
	}
	return out
}

func (e *commandError) reply(labels bson.A) bson.D {
	out := bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: e.msg}, {Key: "code", Value: e.code}, {Key: "codeName", Value: codeNames[e.code]}}
	if len(labels) > 0 {
		out = append(out, bson.E{Key: "errorLabels", Value: labels})
	}
	return out
}
