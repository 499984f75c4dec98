package generator

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/quote"
)

// call is what a load generator says to the run that it has joined, and answer what the run answers. A call may
// arrive twice, or late, or never; each is safe to repeat.
type call struct {
	// Loader is a name that the load generator has drawn for itself.
	Loader string `json:"loader"`
	// Join asks to take part; with Look, only what there is to do. Host says to people who that is.
	Join bool   `json:"join,omitempty"`
	Look bool   `json:"look,omitempty"`
	Host string `json:"host,omitempty"`
	// Lines are intents and transactions, in order. Seq numbers such calls from 1.
	Seq   int64             `json:"seq,omitempty"`
	Lines []json.RawMessage `json:"lines,omitempty"`
	// Ready says that the sessions have connected, Finished that they have made all their transactions.
	Ready    bool `json:"ready,omitempty"`
	Finished bool `json:"finished,omitempty"`
	// Done is the number of the latest order that was carried out. Problem is why that was not possible.
	// Sessions are then the numbers of the sessions that there are.
	Done     int     `json:"done,omitempty"`
	Problem  string  `json:"problem,omitempty"`
	Sessions []int64 `json:"sessions,omitempty"`
	// Leaving is why the load generator leaves.
	Leaving string `json:"leaving,omitempty"`
}

type answer struct {
	// Gone says that the run knows no such load generator, or has given it up. Ended says that the run is over.
	Gone   bool   `json:"gone,omitempty"`
	Ended  bool   `json:"ended,omitempty"`
	Error  string `json:"error,omitempty"`
	Order  order  `json:"order"`
	Joined *share `json:"joined,omitempty"`
}

// share is what a load generator gets when it joins. One that only looks gets the plan.
type share struct {
	// Number counts those that have joined, from 1.
	Number int `json:"number"`
	// First is the number of the first worker, from 0. Worker n writes values that are n modulo Step.
	First int   `json:"first"`
	Step  int64 `json:"step"`
	// Now is the moment on the run's clock.
	Now int64 `json:"now"`
	// Plan says what is to be done. It is the caller's.
	Plan json.RawMessage `json:"plan"`
}

// order is what all load generators of a run are to do.
type order struct {
	// Number increases.
	Number int    `json:"number"`
	Do     string `json:"do"`
	// Cut counts the cuts that were made. After a new one, a session first has to see the fences Last.
	Cut  int    `json:"cut,omitempty"`
	Last []seen `json:"last,omitempty"`
	// Again are the workers whose fences were not seen, and are to be written again at the next cut.
	Again []int `json:"again,omitempty"`
}

type seen struct {
	Worker int   `json:"worker"`
	Fence  int64 `json:"fence"`
}

// Orders: stop before the next transaction and write the fences; go on; end; the run is over.
const (
	orderHalt = "halt"
	orderGo   = "go"
	orderEnd  = "end"
	orderBye  = "bye"
)

// line is an intent or a finished transaction on its way to the run. Numbers of transactions and sessions are
// those of the load generator.
type line struct {
	Intent   bool   `json:"intent,omitempty"`
	ID       int64  `json:"id"`
	Session  int64  `json:"session"`
	Worker   int    `json:"worker"` // of the load generator, from 0
	Begin    int64  `json:"begin"`
	End      int64  `json:"end,omitempty"`
	Due      *int64 `json:"due,omitempty"`
	DBTxn    int64  `json:"dbtxn,omitempty"`
	Status   int    `json:"status,omitempty"`
	Cause    string `json:"cause,omitempty"`
	Commit   int64  `json:"commit,omitempty"`
	Snapshot *int64 `json:"snapshot,omitempty"`
	// Visible is the snapshot as a set: see history.NewVisible.
	Visible []int64 `json:"visible,omitempty"`
	// Same says that operations and predicates are those of the intent.
	Same bool `json:"same,omitempty"`
	// Fresh says that each value that was written is new in the run.
	Fresh bool                `json:"fresh,omitempty"`
	Ops   []wireOp            `json:"ops,omitempty"`
	Preds []history.Predicate `json:"preds,omitempty"`
}

type wireOp struct {
	Kind history.OpKind `json:"o"`
	Key  quote.Text     `json:"k"`
	// Value is nil for absence.
	Value *int64      `json:"v,omitempty"`
	Text  *quote.Text `json:"t,omitempty"`
	// Version is that of a read (history.Record.Versions), or 0.
	Version int64 `json:"n,omitempty"`
}

// lineOf is an attempt as a line. ops may be left out.
func lineOf(a *attempt, withOps bool) *line {
	l := &line{
		ID: a.rec.ID, Session: a.rec.Session, Worker: a.worker, Begin: a.rec.Begin, End: a.rec.End, DBTxn: a.rec.DBTxn,
		Status: int(a.rec.Status), Cause: a.rec.Cause, Commit: a.rec.Claim.Commit, Same: !withOps,
	}
	if a.rec.Due != history.NoTime {
		due := a.rec.Due
		l.Due = &due
	}
	if a.rec.Claim.Snapped {
		snapshot := a.rec.Claim.Snapshot
		l.Snapshot = &snapshot
	}
	if s := a.rec.Claim.Visible; s != nil {
		l.Visible = append([]int64{s.Min, s.Max}, s.Open...)
	}
	if !withOps {
		return l
	}
	l.Preds, l.Fresh = a.rec.Predicates, a.fresh()
	for i := range a.ops {
		o := &a.ops[i]
		w := wireOp{Kind: o.kind, Key: quote.Text(o.key), Version: o.version}
		switch {
		case o.none:
		case o.isText:
			w.Text = (*quote.Text)(&o.text)
		default:
			w.Value = &o.value
		}
		l.Ops = append(l.Ops, w)
	}
	return l
}

// operations are those of a line as the recorder keeps them.
func (l *line) operations(tables placer) []op {
	out := make([]op, 0, len(l.Ops))
	for _, from := range l.Ops {
		o := op{kind: from.Kind, key: string(from.Key), version: from.Version}
		switch {
		case from.Text != nil:
			o.isText, o.text = true, string(*from.Text)
		case from.Value != nil:
			o.value = *from.Value
		default:
			o.none = true
		}
		tables.place(&o)
		out = append(out, o)
	}
	return out
}

// ErrGivenUp says that a run has given this load generator up, because it was not heard of for too long. It may
// join again.
var ErrGivenUp = errors.New("the run has given this load generator up")

// ErrRunEnded says that a run is over.
var ErrRunEnded = errors.New("the run has ended")

// Link leads to a run.
type Link struct {
	// Ask sends one call and returns its answer. An error says that the answer did not come, unless it is a
	// *drivers.Error of class Fatal: then asking again is pointless.
	Ask func(ctx context.Context, call []byte) ([]byte, error)
	// Nudged gets something when there is a new order.
	Nudged <-chan struct{}
	// Patience is how long a call is repeated.
	Patience time.Duration
	// Note is told when answers do not come, and when they do again.
	Note func(string)
}

// askAgain is how long a call waits before it is repeated, and tellAfter how long until people are told.
const (
	askAgain  = 100 * time.Millisecond
	tellAfter = time.Second
)

// call repeats a call until it is answered.
func (l *Link) call(ctx context.Context, c *call) (*answer, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	begun, told := time.Now(), false
	for {
		raw, err := l.Ask(ctx, body)
		if err == nil {
			if told {
				l.Note("the run answers again")
			}
			a := &answer{}
			if err := json.Unmarshal(raw, a); err != nil {
				return nil, errors.Wrap(err, "the run's answer")
			}
			switch {
			case a.Gone:
				return nil, ErrGivenUp
			case a.Ended:
				return a, ErrRunEnded
			case a.Error != "":
				return nil, errors.New(a.Error)
			}
			return a, nil
		}
		var e *drivers.Error
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.As(err, &e) && e.Class == drivers.Fatal {
			return nil, err
		}
		if time.Since(begun) > l.Patience {
			return nil, &SilentError{l.Patience, err}
		}
		if !told && time.Since(begun) > tellAfter {
			told = true
			l.Note("the run does not answer, its transactions wait before they commit: " + err.Error())
		}
		pause(ctx, askAgain)
	}
}

// SilentError says that a run did not answer.
type SilentError struct {
	For time.Duration
	Err error
}

func (e *SilentError) Error() string {
	return "the run did not answer for " + e.For.String() + ": " + e.Err.Error()
}
func (e *SilentError) Unwrap() error { return e.Err }

// wire takes lines to the run. As in native.Log, lines that wait while a call is on its way go with the next one.
type wire struct {
	send func(seq int64, lines []json.RawMessage) error

	mu      sync.Mutex
	sent    sync.Cond
	waiting []json.RawMessage
	added   int64 // lines
	done    int64
	seq     int64
	busy    bool
	err     error
}

// perCall bounds the lines of a call, in bytes. A line may be longer.
const perCall = 256 << 10

func newWire(send func(int64, []json.RawMessage) error) *wire {
	w := &wire{send: send}
	w.sent.L = &w.mu
	return w
}

// add returns when the run has the line on its disk.
func (w *wire) add(l *line) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return errors.WithStack(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.waiting = append(w.waiting, raw)
	w.added++
	for own := w.added; w.done < own && w.err == nil; {
		if w.busy {
			w.sent.Wait()
			continue
		}
		n, size := 0, 0
		for n < len(w.waiting) && (n == 0 || size+len(w.waiting[n]) <= perCall) {
			size += len(w.waiting[n])
			n++
		}
		lines := w.waiting[:n:n]
		w.waiting = w.waiting[n:]
		w.seq++
		w.busy = true
		w.mu.Unlock()
		err := w.send(w.seq, lines)
		w.mu.Lock()
		w.busy = false
		w.done += int64(n)
		if err != nil {
			w.err = err
		}
		w.sent.Broadcast()
	}
	return w.err
}

// isFence reports whether operations are those of a fence, or of a look at fences.
func isFence(ops []op) bool {
	for i := range ops {
		if strings.HasPrefix(ops[i].key, history.Fence) {
			return true
		}
	}
	return false
}
