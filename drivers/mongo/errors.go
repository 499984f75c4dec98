package mongo

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/pkg/errors"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/isohound/isohound/drivers"
)

// Error labels (specification "Transactions").
const (
	transientTransactionError      = "TransientTransactionError"
	unknownTransactionCommitResult = "UnknownTransactionCommitResult"
)

// Error codes that need a name here (error_codes.yml of the server).
const (
	duplicateKey     = 11000
	writeConflict    = 112
	lockTimeout      = 24
	notPrimary       = 10107
	notPrimaryNoRead = 13435
)

// hopeless are codes after which a retry makes no sense: the request is not understood, not
// permitted or not supported, or the disk is full.
var hopeless = []int{
	2, 9, 14, // BadValue, FailedToParse, TypeMismatch
	13, 18, // Unauthorized, AuthenticationFailed
	20,     // IllegalOperation: transaction numbers on a standalone server
	59, 72, // CommandNotFound, InvalidOptions
	115, 148, 263, // CommandNotSupported, ReadConcernMajorityNotEnabled, OperationNotSupportedInTransaction
	14031, // OutOfDiskSpace
}

// sentKey is the context key of the number of times that the commands of a call were sent.
type sentKey struct{}

// counting returns a context that counts how often a command is sent. The client repeats some
// commands by itself, and the answer to the last attempt need not apply to the earlier ones.
func counting(ctx context.Context) (context.Context, *atomic.Int32) {
	n := new(atomic.Int32)
	return context.WithValue(ctx, sentKey{}, n), n
}

func count(ctx context.Context, _ *event.CommandStartedEvent) {
	if n, ok := ctx.Value(sentKey{}).(*atomic.Int32); ok {
		n.Add(1)
	}
}

// said is the server's answer in an error.
type said struct {
	code int
	name string
	// unconfirmed: the command was executed, but the write concern was not fulfilled.
	unconfirmed bool
}

// answer returns the server's answer, and false if there is none: the client also creates its
// own errors, and gives them labels too.
func answer(err error) (said, bool) {
	var ce mongo.CommandError
	if errors.As(err, &ce) {
		_, wce := ce.Raw.Lookup("writeConcernError").DocumentOK()
		return said{int(ce.Code), ce.Name, wce}, len(ce.Raw) > 0
	}
	var we mongo.WriteException
	if errors.As(err, &we) && len(we.Raw) > 0 {
		out := said{unconfirmed: we.WriteConcernError != nil}
		if len(we.WriteErrors) > 0 {
			out.code = we.WriteErrors[0].Code
		} else if out.unconfirmed {
			out.code, out.name = we.WriteConcernError.Code, we.WriteConcernError.Name
		}
		return out, true
	}
	return said{}, false
}

func unconfirmed(err error) bool {
	a, ok := answer(err)
	return ok && a.unconfirmed
}

func (a said) cause() string {
	if a.name == "" && a.code == duplicateKey {
		a.name = "DuplicateKey"
	}
	if a.name == "" {
		return "error " + strconv.Itoa(a.code)
	}
	return strconv.Itoa(a.code) + " " + a.name
}

func labelled(err error, label string) bool {
	var l mongo.LabeledError
	return errors.As(err, &l) && l.HasErrorLabel(label)
}

// lost names the error if the server did not answer.
func lost(err error) string {
	switch {
	case mongo.IsTimeout(err):
		return "call timed out"
	case mongo.IsNetworkError(err):
		return "connection lost"
	}
	return "server not available"
}

// statementError classifies an error of any call but a commit or a lightweight write. The
// transaction certainly did not commit: no commit was sent, and the server aborts transactions
// left open.
func statementError(err error) error {
	if err == nil {
		return nil
	}
	a, ok := answer(err)
	switch {
	case !ok:
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err), Broken: true, Err: err}
	case slices.Contains(hopeless, a.code):
		return &drivers.Error{Class: drivers.Fatal, Cause: a.cause(), Err: err}
	}
	return &drivers.Error{Class: drivers.Aborted, Cause: a.cause(), Err: err}
}

// connectError classifies an error of connecting, before anything was sent.
func connectError(err error) error {
	e := drivers.AsError(statementError(err))
	e.Broken = true
	return e
}

// commitError classifies an error of a commit that was sent that many times. The transaction
// certainly aborted if the server itself labels its answer TransientTransactionError, "safe to
// run the whole transaction again": for an answer to commitTransaction it does so only if a
// majority agrees. The client gives the same label to its own errors, which may follow a commit
// that was sent and took effect.
func commitError(err error, sent *atomic.Int32) error {
	if err == nil {
		return nil
	}
	a, ok := answer(err)
	switch {
	case ok && labelled(err, transientTransactionError) && !labelled(err, unknownTransactionCommitResult) && !a.unconfirmed:
		return &drivers.Error{Class: drivers.Aborted, Cause: a.cause(), Err: err}
	case sent.Load() == 0:
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err) + " before commit", Broken: true, Err: err}
	case ok:
		return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: a.cause(), Err: err}
	}
	return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: lost(err), Broken: true, Err: err}
}

// refused are codes with which the server refuses a write.
var refused = []int{writeConflict, lockTimeout, notPrimary, notPrimaryNoRead}

// writeError classifies an error of a lightweight write that was sent that many times. It
// certainly had no effect if it was sent at most once and the server refused it.
func writeError(err error, sent *atomic.Int32) error {
	if err == nil {
		return nil
	}
	var we mongo.WriteException
	a, ok := answer(err)
	once := sent.Load() == 1 && ok && !a.unconfirmed
	switch {
	case sent.Load() == 0:
		return &drivers.Error{Class: drivers.Aborted, Cause: lost(err) + " before the write", Broken: true, Err: err}
	case once && slices.Contains(hopeless, a.code):
		return &drivers.Error{Class: drivers.Fatal, Cause: a.cause(), Err: err}
	case once && (errors.As(err, &we) || slices.Contains(refused, a.code)):
		return &drivers.Error{Class: drivers.Aborted, Cause: a.cause(), Err: err}
	case ok:
		return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: a.cause(), Err: err}
	}
	return &drivers.Error{Class: drivers.OutcomeUnknown, Cause: lost(err), Broken: true, Err: err}
}
