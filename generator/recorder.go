package generator

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/schema"
)

// Recorder writes the history during the run. All times in the history are from its clock.
type Recorder struct {
	log    *native.Log
	wire   *wire // in place of log: the recorder of a run that this process has joined
	start  time.Time
	nextID atomic.Int64
	count  atomic.Int64
	claims bool // what the database says of its own order is recorded

	// For windows: hdr is the header of each, state the value of every key at the last cut, as JSON
	// scalars, and carried the transactions of unknown outcome.
	next    NextWindow
	hdr     history.Header
	window  int
	state   map[string]string
	carried []attempt
	// mixed says that there is a value that no transaction of this process had drawn: at first, by an earlier process, or because
	// one wrote another value than it had drawn. A later window may draw it.
	mixed atomic.Bool
}

// NextWindow is called when the file of a window is complete. It returns the log of the next window,
// and a digest of the file.
type NextWindow func() (log *native.Log, digest string, err error)

// NewRecorder starts a history on log: header, then initial values. Without a log nothing is
// recorded; this is used to measure the cost of recording. Keys that the workload does not list
// are absent at first. What the database claims about its own order is recorded if the header has Positions. The header's Created, Clock and Schema are filled in.
func NewRecorder(log *native.Log, hdr history.Header, w Workload) (*Recorder, error) {
	r := &Recorder{log: log, start: time.Now()}
	if log == nil {
		return r, nil
	}
	hdr.Created = r.start.UTC().Format(time.RFC3339Nano)
	hdr.Clock = "monotonic ns"
	if t, ok := w.(Tables); ok {
		hdr.Schema = t.Schema()
	}
	r.hdr, r.claims = hdr, hdr.Positions != ""
	return r, log.Header(&hdr, "null", initial(w))
}

// Windows prepares the recorder for a run that is cut into windows. It must be called before the run.
func (r *Recorder) Windows(w Workload, next NextWindow) {
	r.next, r.window, r.state = next, 1, map[string]string{}
	for k, v := range initial(w) {
		if v != "null" {
			r.state[k] = v
		}
		if n, ok := lastNumber(v); ok && n != 0 || strings.Contains(v, `\`) { // workers draw values above 0
			r.mixed.Store(true)
		}
	}
}

// nextWindow closes the file of the window and begins the next one. No transaction may be running.
func (r *Recorder) nextWindow() error {
	if err := r.Close(history.CutReason); err != nil {
		return err
	}
	log, digest, err := r.next()
	if err != nil {
		return err
	}
	r.log, r.window = log, r.window+1
	r.hdr.Window = &history.Window{Number: r.window, After: digest}
	err = log.Header(&r.hdr, "null", func(yield func(string, string) bool) {
		for _, k := range slices.Sorted(maps.Keys(r.state)) {
			if !yield(k, r.state[k]) {
				return
			}
		}
	})
	r.count.Store(0)
	mixed := r.mixed.Load()
	for i := range r.carried {
		if err == nil {
			err = r.carried[i].write()
		}
	}
	r.mixed.Store(mixed) // history.Header.Fresh does not cover those
	return err
}

// initial yields the initial keys of a workload, with their values as JSON scalars.
func initial(w Workload) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for k, v := range w.Initial() {
			if !yield(k, strconv.FormatInt(v, 10)) {
				return
			}
		}
		t, ok := w.(Tables)
		if !ok {
			return
		}
		for table, row := range t.Rows() {
			for g, values := range row.Groups {
				text, number, isNumber := schema.Content(values)
				value := strconv.FormatInt(number, 10)
				if !isNumber {
					value = string(native.AppendText(nil, text))
				}
				if !yield(table.Item(row.Key, g), value) {
					return
				}
			}
		}
	}
}

// Now returns the time since the start, in nanoseconds, on a monotonic clock.
func (r *Recorder) Now() int64 { return int64(time.Since(r.start)) }

// Close writes the closing line.
func (r *Recorder) Close(reason string) error {
	if r.log == nil {
		return nil
	}
	return r.log.End(native.Ending{Reason: reason, Txns: r.count.Load(), Fresh: r.next != nil && !r.mixed.Load()})
}

// op is an operation as it was executed.
type op struct {
	kind  history.OpKind
	key   string
	value int64
	none  bool // the value is absence
	// isText says that the value is text.
	isText bool
	text   string
	// version is that of what was read, as in history.Record.Versions.
	version int64
	// table, row and group are where an operation on an item took place.
	table *schema.Table
	row   []any
	group int
}

// appendValue appends the value as a JSON scalar.
func (o *op) appendValue(b []byte) []byte {
	switch {
	case o.none:
		return append(b, "null"...)
	case o.isText:
		return native.AppendText(b, o.text)
	}
	return strconv.AppendInt(b, o.value, 10)
}

// same reports whether two operations are recorded alike.
func (o op) same(p op) bool {
	return o.kind == p.kind && o.key == p.key && o.value == p.value && o.none == p.none && o.isText == p.isText && o.text == p.text && o.version == p.version
}

// attempt is one transaction attempt in progress.
type attempt struct {
	r *Recorder
	// node is the endpoint, from 1, or 0 when there is only one.
	node   int16
	rec    history.Record // without operations
	ops    []op
	worker int  // of the process, from 0
	sent   bool // the intent went over the wire
	// values are those of the worker, and drawn is the latest of them when the attempt began.
	values *values
	drawn  int64
	told   bool // in place of values: a load generator told that fresh is true
	// intent is rec when the intent was written, to the log intentIn, and intended are the operations
	// then. Predicates are only added, so their number tells whether they are still the same.
	intentIn *native.Log
	intent   history.Record
	intended []op
	// words are the operations as the file spells them, and buf holds their values.
	words []native.Op
	buf   []byte
	// intentErr is why the intent could not be written.
	intentErr error
}

func (a *attempt) begin(session, due int64) {
	a.rec = history.Record{
		ID: a.r.nextID.Add(1), Session: session, Node: a.node, Due: due,
		Begin: a.r.Now(), End: history.NoTime, Status: history.Unknown,
	}
	a.ops, a.intentIn, a.intentErr, a.sent, a.drawn = a.ops[:0], nil, nil, false, a.values.next
}

// fresh reports whether the last number in each value that the attempt wrote was drawn during it. Then no other attempt of
// the run for which fresh is true wrote the same value.
func (a *attempt) fresh() bool {
	if a.values == nil {
		return a.told
	}
	for i := range a.ops {
		o := &a.ops[i]
		if o.kind != history.Write || o.none {
			continue
		}
		v, ok := max(o.value, -o.value), true
		if o.isText {
			v, ok = lastNumber(o.text)
		}
		if !ok || v <= a.drawn || v > a.values.next || (v-a.drawn)%a.values.step != 0 {
			return false
		}
	}
	return true
}

// lastNumber returns the last number in a text, without its sign. It returns false if there is none below 10^18.
func lastNumber(text string) (n int64, ok bool) {
	to := strings.LastIndexAny(text, digits) + 1
	from := len(strings.TrimRight(text[:to], digits))
	n, err := strconv.ParseInt(text[from:to], 10, 64)
	return n, err == nil && to-from <= 18
}

const digits = "0123456789"

// note counts the attempt, and what it wrote.
func (a *attempt) note() {
	a.r.count.Add(1)
	if a.writes() && !a.fresh() {
		a.r.mixed.Store(true)
	}
}

func (a *attempt) writes() bool {
	for _, o := range a.ops {
		if o.kind == history.Write {
			return true
		}
	}
	return false
}

// intend writes the intent of a commit to the kernel. A transaction that wrote nothing needs no
// intent, since nobody can have read from it.
func (a *attempt) intend() error {
	if !a.writes() || a.r.log == nil && a.r.wire == nil {
		return nil
	}
	if a.r.wire != nil {
		l := lineOf(a, true)
		l.Intent, a.sent = true, true
		a.intent, a.intended = a.rec, append(a.intended[:0], a.ops...)
		return a.r.wire.add(l)
	}
	a.intentIn, a.intent, a.intended = a.r.log, a.rec, append(a.intended[:0], a.ops...)
	return a.r.log.Intent(&a.rec, a.spell())
}

// finish writes the transaction's outcome to the kernel, with the current time as its end if it has none yet.
func (a *attempt) finish(status history.Status, cause string) error {
	if a.rec.End == history.NoTime {
		a.rec.End = a.r.Now()
	}
	a.rec.Status, a.rec.Cause = status, cause
	return a.write()
}

// write writes the finished transaction to the kernel.
func (a *attempt) write() error {
	if a.r.wire != nil {
		return a.r.wire.add(lineOf(a, !a.sent || !a.asIntended()))
	}
	if a.r.log == nil {
		return nil
	}
	// Counted first: the closing line must not count fewer transactions than the file has.
	a.note()
	if a.intentIn != a.r.log {
		return a.r.log.Txn(&a.rec, a.spell(), nil, false)
	}
	if a.asIntended() {
		return a.r.log.Txn(&a.rec, nil, &a.intent, true)
	}
	return a.r.log.Txn(&a.rec, a.spell(), &a.intent, false)
}

// asIntended reports whether operations and predicates are those of the intent.
func (a *attempt) asIntended() bool {
	return len(a.intent.Predicates) == len(a.rec.Predicates) && slices.EqualFunc(a.intended, a.ops, op.same)
}

// spell returns the operations as the file spells them. They are valid until the next call.
func (a *attempt) spell() []native.Op {
	a.words, a.buf = a.words[:0], a.buf[:0]
	for _, o := range a.ops {
		from := len(a.buf)
		a.buf = o.appendValue(a.buf)
		// If buf grows later, its former memory keeps this value.
		a.words = append(a.words, native.Op{Kind: o.kind, Key: o.key, Value: a.buf[from:len(a.buf):len(a.buf)], Version: o.version})
	}
	return a.words
}

// noteClaim records where the database says it placed the transaction, which has just committed. The answer may take a
// while, so the transaction ends before the question.
func (a *attempt) noteClaim(tx drivers.Tx) {
	if t, ok := tx.(drivers.Positioned); ok && a.r.claims {
		a.rec.End = a.r.Now()
		p := t.Position()
		a.rec.Claim.Commit, a.rec.Claim.Snapshot, a.rec.Claim.Snapped = p.Commit, p.Snapshot, p.Snapped
	}
}

// noteVersion records which commit wrote what the latest operation read, if the database tells it.
func (a *attempt) noteVersion(tx drivers.Tx) {
	o := &a.ops[len(a.ops)-1]
	if !a.r.claims || o.none || o.kind != history.Read {
		return
	}
	at, told := int64(0), false
	if o.table == nil {
		if t, ok := tx.(drivers.Versioned); ok {
			at, told = t.Version(o.key)
		}
	} else if t, ok := tx.(drivers.VersionedRows); ok {
		at, told = t.RowVersion(o.table, o.row, o.group)
	}
	if told {
		o.version = history.ParseVersion(at)
	}
}

// noteSnapshot records which snapshot the database says that the transaction used, whatever its outcome.
func (a *attempt) noteSnapshot(tx drivers.Tx) {
	if t, ok := tx.(drivers.Snapshotted); ok {
		if s := t.Snapshot(); s != nil {
			a.rec.Claim.Visible = &history.Visible{Min: s.Min, Max: s.Max, Open: s.Open}
		}
	}
}

func (a *attempt) noteID(tx drivers.Tx) {
	if t, ok := tx.(drivers.TxnIDer); ok {
		a.rec.DBTxn = t.TxnID()
	}
}
