// Package drivers defines what isohound needs of a database: sessions that run transactions on
// keys, and reliable answers about their outcomes. Each engine has its own folder, registers
// itself, and does not depend on workloads or checkers. Features that only some engines have are
// optional interfaces.
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

	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/suggest"
)

// Driver drives one kind of database.
type Driver interface {
	Info() Info
	// Open connects to the database and checks that it is of this kind. It creates nothing.
	Open(ctx context.Context, cfg Config) (DB, error)
}

// Info describes a driver to people and to the command line.
type Info struct {
	// Name is what --driver takes.
	Name string
	// Title is the database's name for texts.
	Title string
	// DSN is an example for --dsn; DSNHelp describes its format.
	DSN, DSNHelp string
	// Schemes are the schemes of the URLs that Open reads; see Address. With OnlyURL a DSN must be
	// a URL. With Commas it is several, separated by commas. With OwnURL an embedded driver reads
	// URLs of its own name; other embedded drivers get what follows ://, a folder.
	Schemes                 []string
	OnlyURL, Commas, OwnURL bool
	// Embedded drivers need no server, and their DSN may be left out.
	Embedded bool
	// Isolations are the isolations that can be requested, under the database's own names, the
	// default first.
	Isolations []Isolation
	// Can lists its capabilities.
	Can []Capability
	// Blind says that the database does not tell whether a key that is updated or deleted was there.
	Blind bool `json:",omitempty"`
	// Notes are facts that a user should know before trusting a verdict.
	Notes []string
}

// Isolation is an isolation level that can be requested of a database.
type Isolation struct {
	// Name is the database's own name for it.
	Name string
	// Promises names the strongest level that can be checked and that the database's documentation
	// promises. If no single level is all of the promise, it names several, separated by commas. It
	// is empty if the isolation has no transactions of several operations, or with ByServer.
	Promises string
	// ByServer says that the server's settings decide what is promised: the DB is a Claimer.
	ByServer bool
	// Lightweight is the promise for lightweight transactions, in the same form: "lin" if a single
	// statement that commits by itself takes effect at one moment between its call and its answer.
	// It is empty if the driver has none.
	Lightweight string
	// Scans is the promise for transactions with conditions on rows (capability Predicates), in the same form, if it is
	// another one than Promises.
	Scans string `json:",omitempty"`
	// Without are capabilities of the driver that this isolation lacks.
	Without []Capability `json:",omitempty"`
	// Source is where the promise is documented: the address of a page, or its title.
	Source string
	// Note gives the reason for the claim, in a few words.
	Note string
}

// Config tells a driver what to connect to and how.
type Config struct {
	DSN       string
	Isolation string // the Name of one of Info.Isolations
	// CallTimeout bounds each call of the run. A driver may set shorter timeouts for waits in
	// the server.
	CallTimeout time.Duration
	// Positions asks the DB to find out where the database places transactions, see Positioner and Snapshotted.
	Positions bool
	// Dial, if set, makes each connection, so that the harness can disturb it. Drivers with the
	// capability Disturb use it; network and addr are those of net.Dial.
	Dial Dial
}

// Dial connects to a server as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, addr string) (net.Conn, error)

// DB is an open database. All calls that take a context, also those of sessions and transactions, return when it ends: a run
// waits for its calls. Calls of embedded drivers that never wait for others may ignore it.
type DB interface {
	// Server is the server's name and version, for the record.
	Server() string
	// Create makes a schema for this run, with the initial keys and their values.
	Create(ctx context.Context, initial iter.Seq2[string, int64]) error
	// Connect opens a session: one connection that is not shared.
	Connect(ctx context.Context) (Session, error)
	// Close drops what Create made and disconnects.
	Close(ctx context.Context) error
}

// Session is one connection. One goroutine at a time uses it.
type Session interface {
	// Begin starts a transaction at the requested isolation.
	Begin(ctx context.Context) (Tx, error)
	// Close disconnects, which aborts a transaction that is not committed.
	Close()
}

// Looker is a Session that has a cheaper transaction to look at what nobody writes any more.
type Looker interface {
	// Look begins a transaction that only reads, and that ends with Rollback. It need not be isolated from writers.
	Look(ctx context.Context) (Tx, error)
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
	// Commit returns nil if the transaction committed. An Error of class Aborted says that it
	// did not. After any other error the outcome is unknown.
	Commit(ctx context.Context) error
	// Rollback ends the transaction without its effects. An error only means that the session
	// cannot be used any more.
	Rollback(ctx context.Context) error
}

// ManyReader is a Tx that reads many keys with one statement.
type ManyReader interface {
	// ReadMany returns what Read would return for each of keys, in their order.
	ReadMany(ctx context.Context, keys []string) ([]Found, error)
}

// Found is what a read of a key returned.
type Found struct {
	Value int64
	OK    bool // the key exists
}

// InOrder returns the values that were found, in the order of keys.
func InOrder(keys []string, found map[string]int64) []Found {
	out := make([]Found, len(keys))
	for i, key := range keys {
		out[i].Value, out[i].OK = found[key]
	}
	return out
}

// TxnIDer is a Tx that knows the database's own id of the transaction; 0 means that it has none
// yet.
type TxnIDer interface{ TxnID() int64 }

// Position is where the database says it placed a transaction in its own order. Positions are the database's
// numbers: commit timestamps, revisions, numbers of commits. A later one is larger.
type Position struct {
	// Commit is the position of the commit, at least 1. It is 0 if it is not known, or if the transaction
	// changed nothing and has none.
	Commit int64
	// Snapshot, if Snapped, is the position of the state that the transaction read: it saw exactly the commits
	// up to and including this position. 0 is the state before the first one.
	Snapshot int64
	Snapped  bool
}

// Positioned is a Tx that can say, after its Commit has returned nil and before the session is used again, where the
// database placed it. It may ask the database, for as long as a call may take.
type Positioned interface{ Position() Position }

// Versioned is a Positioned that can also say which commit wrote what it has read, if Config.Positions is set.
type Versioned interface {
	// Version returns the position of the commit that wrote what the latest read of key returned; 0 is the state before
	// the first one. told is false if that is not known, and for an absent key and what the transaction wrote itself.
	Version(key string) (commit int64, told bool)
}

// VersionedRows is Versioned for a TableTx: RowVersion is about a group of a row that the latest statement returned.
type VersionedRows interface {
	RowVersion(t *schema.Table, key []any, group int) (commit int64, told bool)
}

// Positioner is a DB whose transactions are Positioned, if Config.Positions is set.
type Positioner interface {
	// Positions says in a few words what the positions are, such as "commit timestamps". It is "" if this
	// database, at this isolation, does not tell any.
	Positions() string
}

// Untold is a Positioner that can say why its transactions are not Positioned although Config.Positions is set, with the
// remedy. It is "" if they are.
type Untold interface{ Untold() string }

// Snapshot is the state that a transaction read, as a set of transactions by TxnID. A transaction is in it if it
// committed, its number is below Max, and it is not in Open.
type Snapshot struct {
	// Min: all transactions with lower numbers had ended. No transaction with the number Max or a higher one had.
	Min, Max int64
	// Open are the transactions from Min to Max that had not ended, ascending.
	Open []int64
}

// Snapshotted is a Tx that can say which snapshot it uses, from its first operation on. It returns nil if it does not
// know, or if Config.Positions is not set. The snapshot must not be changed.
type Snapshotted interface{ Snapshot() *Snapshot }

// Logger is a DB that tells the order of commits afterwards, from a log of the server.
type Logger interface {
	// Log makes the server keep such a log from now on, until Close. It is called after Create or Resume, and again when
	// the log was lost. If that is not possible it returns why, with the remedy.
	Log(ctx context.Context) (unavailable string)
	// Commits reads what the log has since the last call: all commits that were acknowledged before. The server need
	// not keep them any longer. An error ends the log.
	Commits(ctx context.Context) (*Commits, error)
}

// Commits are the positions of commits.
type Commits struct {
	// Positions says in a few words what the positions are, such as "commit LSNs".
	Positions string
	// At is, by TxnID, the position of the commit, at least 1.
	At map[int64]int64
	// Short says that At has only the lower 32 bits of the ids.
	Short bool
}

// Resolver is a DB that can report the outcome of a transaction later.
type Resolver interface {
	// Resolve asks for the outcome of a transaction by its TxnID. It returns InProgress while
	// the transaction is open, and Lost if the outcome cannot be found out.
	Resolve(ctx context.Context, txnID int64) (Outcome, error)
}

// Joiner is a DB of a database with several endpoints. Each endpoint is opened as its own DB.
type Joiner interface {
	// Join makes this endpoint use what first, a DB of the same driver, has created, and waits
	// until all of it is visible here. It is called instead of Create. Close then drops nothing.
	Join(ctx context.Context, first DB) error
}

// Pauser is a DB inside this process whose sessions can be stopped one by one.
type Pauser interface {
	// PauseSession stops a session, drawn at random, until resume is called. resume must be called once.
	PauseSession() (resume func(), err error)
}

// Outcome is the outcome of a transaction.
type Outcome int

const (
	Lost Outcome = iota // the database cannot tell
	InProgress
	DidCommit
	DidAbort
)

// Claimer is a DB whose isolation's promise may depend on the server's settings. Promises returns
// it in the form of Isolation.Promises.
type Claimer interface {
	Promises() string
}

// LightweightClaimer is the same for lightweight transactions, in the form of Isolation.Lightweight.
type LightweightClaimer interface {
	Lightweight() string
}

// Loser is a DB that can say which setting of its server lets a kill lose commits that were acknowledged, such as
// "appendonly is no". It is "" if none is known.
type Loser interface{ Loses() string }

// Class says what an error means for its transaction.
type Class int

const (
	// OutcomeUnknown: it is not known whether it committed. Every unrecognised error of a commit
	// is of this class.
	OutcomeUnknown Class = iota
	// Aborted: it certainly did not commit, and a retry makes sense.
	Aborted
	// Fatal: it did not commit, and a retry is pointless, for example because a permission or a
	// table is missing.
	Fatal
	// Refused: it did not commit, and a retry on this endpoint is pointless, but another
	// endpoint may accept it: this endpoint is read-only.
	Refused
)

// Error is an error of a session or transaction.
type Error struct {
	Class Class
	// Cause is a short stable text for counting, such as "40001 serialization failure".
	Cause string
	// Broken says that the session cannot be used any more.
	Broken bool
	// Full says that the server has reached its limit of connections.
	Full bool
	// NoSpace says that the server's disk is full. Of class Aborted, it may pass.
	NoSpace bool
	Err     error
}

func (e *Error) Error() string {
	if e.Err == nil || e.Err.Error() == e.Cause { // a driver that has no short text for it
		return e.Cause
	}
	return e.Cause + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an Error. An error that no driver has classified leaves the outcome
// unknown and the session unusable.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: OutcomeUnknown, Cause: "unclassified error", Broken: true, Err: err}
}

// DSNError says that a DSN is invalid.
type DSNError struct {
	Driver string
	Err    error
}

// Error omits what package url repeats of the URL, because it may be part of a password.
func (e *DSNError) Error() string {
	text := e.Err.Error()
	var bad *url.Error
	var escape url.EscapeError
	switch {
	case errors.As(e.Err, &bad):
		text = hidden(bad.Err.Error())
	case errors.As(e.Err, &escape):
		text = hidden(escape.Error())
	}
	return e.Driver + ": --dsn: " + strings.Join(strings.Fields(text), " ")
}

func (e *DSNError) Unwrap() error { return e.Err }

// Masker is a Driver whose DSN may hold a password.
type Masker interface {
	// MaskDSN returns dsn without the password, for display. If it cannot find the password in
	// dsn, it returns nothing of dsn.
	MaskDSN(dsn string) string
}

// Masked replaces a password or a whole DSN.
const Masked = "xxxxx"

// Noter is a DB that reports settings of this server that weaken a verdict. It is asked before a run and after it.
type Noter interface{ Notes() []string }

// Owner is a DB that can name what it has created on the server, "" if nothing. The user can
// then drop it if Close is never called.
type Owner interface{ Owns() string }

// Resumer is a DB that can go on with what an earlier run has created, after that run was cut off.
type Resumer interface {
	// Schema is the name under which this run creates, or has created, everything.
	Schema() string
	// Resume is called instead of Create and CreateTables. It uses what an earlier run has created under
	// the name schema, or returns an error if the server does not have it any more. Close drops it.
	Resume(ctx context.Context, schema string) error
}

// Attacher is a DB whose run several processes may drive at once.
type Attacher interface {
	// Schema is the name under which this run has created everything.
	Schema() string
	// Attach is called instead of Create and CreateTables, by a process beside the one that created what has the
	// name schema. It returns an error if the server does not have it. Close drops nothing.
	Attach(ctx context.Context, schema string) error
}

// UnreachableError says that a server could not be reached, or is not of the kind that the
// driver expects.
type UnreachableError struct {
	Driver string
	Err    error
}

// Error returns one line, even if the client library's message has several.
func (e *UnreachableError) Error() string {
	return e.Driver + ": cannot use the server: " + strings.Join(strings.Fields(e.Err.Error()), " ")
}

func (e *UnreachableError) Unwrap() error { return e.Err }

var (
	registry   = map[string]Driver{}
	registryMu sync.Mutex
)

// Register registers a driver under its name.
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
	registryMu.Lock()
	d, known := registry[name]
	registryMu.Unlock()
	if known {
		return d, nil
	}
	var names []string
	for _, d := range All() {
		names = append(names, d.Info().Name)
	}
	return nil, errors.Errorf("unknown driver %q; known are %s%s", name, strings.Join(names, ", "), suggest.Meant(name, names))
}

// FindIsolation returns the isolation called name. Case is ignored, and words may be joined by
// spaces, hyphens or underscores. "" is the default.
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
