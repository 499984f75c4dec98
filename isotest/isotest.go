// Package isotest records the transactions of a Go program and judges whether an isolation level allows
// them: for a test of an application or a database under go test, and for a simulator.
//
//	r := isotest.New()
//	r.Initial("x", 0)
//	s := r.Session()              // one for each goroutine that runs transactions
//	t := s.Begin()                // before the transaction begins
//	t.Read("x", got)              // after each operation, with what it returned or wrote
//	t.Write("x", got+1)
//	t.Commit()                    // after the commit has succeeded
//	isotest.Holds(test, r, level.SER)
//
// Values that are written once only make checks fast and verdicts sharp: a read then names its writer. Other
// values are judged, too. docs/go-api.md is the guide; the modules below examples/ are complete programs.
package isotest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
)

// Recorder collects transactions. Several goroutines may use it, each with sessions of its own.
type Recorder struct {
	mu       sync.Mutex
	now      func() int64 // nil: no times
	latest   int64        // what now returned last
	clock    string       // for the header
	sym      *history.Symbols
	initial  map[history.Key]history.Value
	records  []*history.Record
	open     map[*Txn]bool
	sessions int64
	ids      int64
	err      error
}

// New returns a recorder whose times come from the monotonic clock. Every key is absent at first.
func New() *Recorder {
	started := time.Now()
	r := Simulated(func() int64 { return int64(time.Since(started)) })
	r.clock = "monotonic ns"
	return r
}

// Simulated returns a recorder for a simulator. now returns the simulator's time in nanoseconds, not negative and never
// less than before; levels with real time, such as strict serializability, compare these times: a transaction
// that ends strictly before another one begins comes before it. Without times, now is nil. The verdict depends
// only on what is recorded, and on the order of the calls.
func Simulated(now func() int64) *Recorder {
	return &Recorder{now: now, sym: history.NewSymbols(), initial: map[history.Key]history.Value{}, open: map[*Txn]bool{}}
}

// Initial sets the value of a key before all transactions. A value is an integer, a string, or nil for a
// key that is absent. Strings, keys too, may hold any bytes.
func (r *Recorder) Initial(key string, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.initial[r.sym.Key(key)] = r.value(key, value)
}

// value turns a value into one of histories. r.mu is held.
func (r *Recorder) value(key string, value any) history.Value {
	switch v := value.(type) {
	case nil:
		return history.Absent
	case int:
		return r.sym.Int(int64(v))
	case int32:
		return r.sym.Int(int64(v))
	case int64:
		return r.sym.Int(v)
	case string:
		return r.sym.String(v)
	}
	r.fail(errors.Errorf("isotest: key %q has a value of type %T; values are int, int32, int64, string, or nil for absence", key, value))
	return history.Absent
}

// fail keeps the first mistake in the use of the recorder. r.mu is held.
func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// time reads the clock. r.mu is held.
func (r *Recorder) time() int64 {
	if r.now == nil {
		return history.NoTime
	}
	t := r.now()
	if t < r.latest {
		r.fail(errors.Errorf("isotest: the clock says %d ns after %d ns; it must not be negative and must not go back", t, r.latest))
	}
	r.latest = t
	return t
}

// Session is a client: its transactions follow one another. One goroutine at a time uses it.
type Session struct {
	r      *Recorder
	number int64
	open   bool
}

// Session begins a session.
func (r *Recorder) Session() *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions++
	return &Session{r: r, number: r.sessions}
}

// Txn is a transaction in progress, or one that has ended.
type Txn struct {
	r   *Recorder
	s   *Session
	rec history.Record
}

// Begin begins a transaction. Call it before the database's own begin.
func (s *Session) Begin() *Txn {
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.open {
		r.fail(errors.Errorf("isotest: session %d begins a transaction before its last one has ended; a goroutine needs a session of its own", s.number))
	}
	s.open = true
	r.ids++
	t := &Txn{r, s, history.Record{ID: r.ids, Session: s.number, Begin: r.time(), End: history.NoTime, Due: history.NoTime}}
	r.open[t] = true
	return t
}

// Read records that the transaction read a value, or nil if it found the key absent.
func (t *Txn) Read(key string, value any) { t.op(history.Read, key, value) }

// Write records that the transaction wrote a value, or nil if it deleted the key. Call it before the write is
// sent, or at least before another session can see the write.
func (t *Txn) Write(key string, value any) { t.op(history.Write, key, value) }

func (t *Txn) op(kind history.OpKind, key string, value any) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open[t] {
		r.fail(errors.Errorf("isotest: transaction %d has ended and has another operation on %q", t.rec.ID, key))
		return
	}
	t.rec.Ops = append(t.rec.Ops, history.Op{Kind: kind, Key: r.sym.Key(key), Value: r.value(key, value)})
}

// Commit records that the transaction committed. Call it after the database has said so.
func (t *Txn) Commit() { t.end(history.Committed) }

// Abort records that the transaction certainly had no effect.
func (t *Txn) Abort() { t.end(history.Aborted) }

// Unknown records that it is not known whether the transaction committed: the commit ended with an error that does
// not say, such as a timeout. Transactions that never end are of unknown outcome, too. What the session does then counts
// as another session.
func (t *Txn) Unknown() { t.end(history.Unknown) }

func (t *Txn) end(status history.Status) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open[t] {
		r.fail(errors.Errorf("isotest: transaction %d ends twice", t.rec.ID))
		return
	}
	delete(r.open, t)
	t.rec.Status, t.rec.End, t.s.open = status, r.time(), false
	if status == history.Unknown {
		r.sessions++
		t.s.number = r.sessions
	}
	r.records = append(r.records, &t.rec)
}

// History returns what has been recorded so far. Transactions in progress are of unknown outcome. The error says
// how the recorder was used wrongly.
func (r *Recorder) History() (*history.History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	sym := r.sym.Clone(r.sym.KeyName)
	for k, v := range r.initial {
		sym.SetInitial(k, v)
	}
	records := slices.Clone(r.records)
	for _, t := range slices.SortedFunc(maps.Keys(r.open), func(a, b *Txn) int { return cmp.Compare(a.rec.ID, b.rec.ID) }) {
		rec := t.rec
		records = append(records, &rec)
	}
	b := history.NewBuilder(history.Header{Source: "isotest", Clock: r.clock}, sym, len(records))
	for _, rec := range records {
		if err := b.Add(rec); err != nil {
			return nil, errors.Wrap(err, "isotest")
		}
	}
	return b.Done(true, nil), nil
}

// Save writes what has been recorded to a file, which isohound check and isohound explain read.
func (r *Recorder) Save(path string) error {
	h, err := r.History()
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return errors.WithStack(err)
	}
	err = native.WriteHistory(f, false, h, "recorded by isotest")
	if cerr := f.Close(); err == nil {
		err = errors.WithStack(cerr)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
