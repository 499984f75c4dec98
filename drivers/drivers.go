// Package drivers is what isohound needs of a database: sessions that run
// transactions on keys, and honest answers to what became of them. Each engine
// has a folder of its own, registers itself, and knows neither workloads nor
// checkers. What only some engines can do is asked for by optional interfaces.
package drivers

import (
	"context"
	"iter"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"
)

// Driver is a kind of database.
type Driver interface {
	Info() Info
	// Open connects to the database and checks that it is one of this kind.
	// Nothing is created yet.
	Open(ctx context.Context, cfg Config) (DB, error)
}

// Info describes a driver to people and to the command line.
type Info struct {
	// Name is what --driver takes.
	Name string
	// Title is the database's name in prose.
	Title string
	// DSN is an example of what --dsn takes; DSNHelp says what it may be.
	DSN, DSNHelp string
	// Embedded drivers need no server, and their DSN may be left out.
	Embedded bool
	// Isolations are the isolations that can be requested, by the database's
	// own names, the default first.
	Isolations []Isolation
	// Can lists what it is capable of.
	Can []Capability
	// Notes are facts that a user should know before believing a verdict.
	Notes []string
}

// Isolation is what can be requested of a database.
type Isolation struct {
	// Name is the database's own name for it.
	Name string
	// Promises names the strongest checkable level that the database claims
	// for it, or is empty when it claims none that can be checked.
	Promises string
	// ByServer says that the server's settings decide what is promised: the DB
	// is a Claimer, and Promises is empty.
	ByServer bool
	// Lightweight is what Promises is, for lightweight transactions: "lin" where
	// a single statement that commits by itself takes effect at one moment
	// between its call and its answer, empty where nothing is claimed.
	Lightweight string
	// Note says what is behind the claim, in a few words.
	Note string
}

// Config tells a driver what to connect to and how.
type Config struct {
	DSN       string
	Isolation string // the Name of one of Info.Isolations
	// CallTimeout bounds each call of the run; a driver may keep waits inside
	// the server below it.
	CallTimeout time.Duration
	// Dial, if set, makes each connection: the harness stands between. Drivers
	// that can Disturb use it; network and addr are those of net.Dial.
	Dial Dial
}

// Dial connects to a server as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// DB is an open database.
type DB interface {
	// Server is the server's name and version, for the record.
	Server() string
	// Create makes a schema of the run's own, with the keys that exist from
	// the beginning and their values.
	Create(ctx context.Context, initial iter.Seq2[string, int64]) error
	// Connect opens a session: one connection that is used by nobody else.
	Connect(ctx context.Context) (Session, error)
	// Close drops what Create made and disconnects.
	Close(ctx context.Context) error
}

// Session is one connection. It is used by one goroutine at a time.
type Session interface {
	// Begin starts a transaction at the requested isolation.
	Begin(ctx context.Context) (Tx, error)
	// Close disconnects, which aborts a transaction that is not committed.
	Close()
}

// Tx is a transaction in progress. After an error of any call but Commit the
// caller must call Rollback.
type Tx interface {
	// Read returns the value of key, and false if the key does not exist.
	Read(ctx context.Context, key string) (value int64, found bool, err error)
	// Insert adds key.
	Insert(ctx context.Context, key string, value int64) error
	// Update changes key, or returns false if the database found no such key.
	Update(ctx context.Context, key string, value int64) (found bool, err error)
	// Delete removes key, or returns false if the database found no such key.
	Delete(ctx context.Context, key string) (found bool, err error)
	// Commit returns nil if the transaction committed. An Error of class
	// Aborted says that it did not; every other error leaves it unknown.
	Commit(ctx context.Context) error
	// Rollback ends the transaction without its effects. An error means only
	// that the session cannot be used any more.
	Rollback(ctx context.Context) error
}

// TxnIDer is a Tx that knows the database's own id of the transaction, 0 as
// long as it has none.
type TxnIDer interface{ TxnID() int64 }

// Resolver is a DB that can say later what became of a transaction.
type Resolver interface {
	// Resolve asks for the outcome of a transaction by its TxnID. It returns
	// InProgress while that is open, and Lost when it cannot be learnt.
	Resolve(ctx context.Context, txnID int64) (Outcome, error)
}

// Joiner is a DB of a database with several endpoints, each opened as a DB of
// its own.
type Joiner interface {
	// Join makes this endpoint use what first, a DB of the same driver, has
	// created, and waits until all of it is visible here. Close then drops
	// nothing. It is called instead of Create.
	Join(ctx context.Context, first DB) error
}

// Outcome is what became of a transaction.
type Outcome int

const (
	Lost Outcome = iota // the database cannot tell
	InProgress
	DidCommit
	DidAbort
)

// Claimer is a DB that knows better than Info what its isolation promises,
// because the server's settings decide. It returns the name of a level, or "".
type Claimer interface {
	Promises() string
}

// Class is what an error means for the transaction in which it happened.
type Class int

const (
	// OutcomeUnknown: nobody can say whether it committed. Every error of a
	// commit that is not recognised is of this class.
	OutcomeUnknown Class = iota
	// Aborted: it certainly did not commit, and trying again makes sense.
	Aborted
	// Fatal: it did not commit, and trying again is pointless: a permission is
	// missing, a table is gone.
	Fatal
	// Refused: it did not commit, and trying again on this endpoint is
	// pointless, but others may do it: the endpoint only reads.
	Refused
)

// Error is an error of a session or transaction.
type Error struct {
	Class Class
	// Cause is a short stable text for counting, "40001 serialization failure".
	Cause string
	// Broken says that the session cannot be used any more.
	Broken bool
	Err    error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Cause
	}
	return e.Cause + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an Error. One that no driver has classified leaves
// the outcome unknown and the session unusable.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: OutcomeUnknown, Cause: "unclassified error", Broken: true, Err: err}
}

// DSNError says that a DSN makes no sense.
type DSNError struct {
	Driver string
	Err    error
}

// Error leaves out the URL that package url repeats: it may hold a password.
func (e *DSNError) Error() string {
	err := e.Err
	var bad *url.Error
	if errors.As(err, &bad) {
		err = bad.Err
	}
	return e.Driver + ": --dsn: " + strings.Join(strings.Fields(err.Error()), " ")
}

func (e *DSNError) Unwrap() error { return e.Err }

// Masker is a Driver whose DSN may hold a password.
type Masker interface {
	// MaskDSN returns dsn as it may be shown: without the password, or without
	// anything where it cannot tell what the password is.
	MaskDSN(dsn string) string
}

// Masked stands where a password or a whole DSN was.
const Masked = "xxxxx"

// MaskDSN returns a DSN of d as it may be shown.
func MaskDSN(d Driver, dsn string) string {
	if m, ok := d.(Masker); ok {
		return m.MaskDSN(dsn)
	}
	return dsn
}

// MaskURL masks the password in a URL, in its authority or as the parameter
// called password.
func MaskURL(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return Masked
	}
	if q := u.Query(); q.Has("password") {
		q.Set("password", Masked)
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

// Noter is a DB that knows of settings of this server that weaken what a
// verdict means.
type Noter interface{ Notes() []string }

// Owner is a DB that can name what it has made on the server, so that it can
// be found and dropped if Close is never reached; "" when there is nothing.
type Owner interface{ Owns() string }

// UnreachableError says that a server could not be reached, or is not what the
// driver expects.
type UnreachableError struct {
	Driver string
	Err    error
}

// Error is one line, whatever the client's library makes of it.
func (e *UnreachableError) Error() string {
	return e.Driver + ": cannot use the server: " + strings.Join(strings.Fields(e.Err.Error()), " ")
}

func (e *UnreachableError) Unwrap() error { return e.Err }

var (
	registry   = map[string]Driver{}
	registryMu sync.Mutex
)

// Register makes a driver known under its name.
func Register(d Driver) {
	registryMu.Lock()
	defer registryMu.Unlock()
	registry[d.Info().Name] = d
}

// All returns the drivers, embedded ones first, then by name.
func All() []Driver {
	registryMu.Lock()
	defer registryMu.Unlock()
	var out []Driver
	for _, d := range registry {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Driver) int {
		x, y := a.Info(), b.Info()
		if x.Embedded != y.Embedded {
			if x.Embedded {
				return -1
			}
			return 1
		}
		return strings.Compare(x.Name, y.Name)
	})
	return out
}

// Find returns the driver called name.
func Find(name string) (Driver, error) {
	var names []string
	for _, d := range All() {
		if d.Info().Name == name {
			return d, nil
		}
		names = append(names, d.Info().Name)
	}
	return nil, errors.Errorf("unknown driver %q; known are %s", name, strings.Join(names, ", "))
}

// FindIsolation returns the isolation called name, whatever its case and
// whether its words are joined by spaces, hyphens or underscores; "" is the
// default.
func (i Info) FindIsolation(name string) (Isolation, error) {
	if name == "" {
		return i.Isolations[0], nil
	}
	var names []string
	for _, iso := range i.Isolations {
		if fold(iso.Name) == fold(name) {
			return iso, nil
		}
		names = append(names, `"`+iso.Name+`"`)
	}
	return Isolation{}, errors.Errorf("driver %s has no isolation %q; it has %s", i.Name, name, strings.Join(names, ", "))
}

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(strings.Join(strings.Fields(s), " ")))
}
