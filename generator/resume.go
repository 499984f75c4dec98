package generator

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/quote"
	"github.com/isohound/isohound/history/schema"
)

// Left is what a run in windows left when it was cut off, as far as it is needed to go on.
//
// The run goes on in the window that was open, whose history is written once more, without what was torn.
// If the process ended between two windows, it goes on in the next one. The sessions of that time count
// as broken: what they were told to be committed must be there at the next cut. Their transactions without
// an outcome may still take effect, and are sessions by themselves, as after a lost connection.
type Left struct {
	sessions  int64         // the highest number of a session
	value     int64         // the highest number that was written or read
	fences    map[int]int64 // by worker, what its fence was seen to hold
	committed []int64       // the sessions that committed in the open window
	written   written       // in the open window
	doubtful  written       // by transactions of unknown outcome
	behind    bool          // there was a cut, which new sessions must see
}

// Resume makes a recorder that goes on with a run in windows that was cut off. last is the run's last window
// and digest that of its file, as the next window names it. log gets the window in which the run goes on,
// and later windows are begun with next. positions are those of the header from now on, see NewRecorder. lost says that transactions
// of the earlier process may be missing.
func Resume(log *native.Log, last *history.History, digest, positions string, lost bool, next NextWindow) (*Recorder, *Left, error) {
	if err := Resumable(last); err != nil {
		return nil, nil, err
	}
	r := &Recorder{log: log, hdr: last.Header, next: next, window: 1, state: map[string]string{}, claims: positions != ""}
	r.mixed.Store(true)
	lost = lost || last.Header.Incomplete // a process that knew it may have ended before it drew a value
	complete := HasEnd(last)
	if complete || positions != "" { // else the open window may have positions of the earlier process
		r.hdr.Positions = positions
	}
	r.hdr.Incomplete = lost // also later windows: what is missing may be read in any of them
	if last.Window != nil {
		r.window = last.Window.Number
	}
	_ = last.OwnInitials(func(k history.Key, v history.Value) error {
		if v != history.Absent {
			r.state[last.KeyName(k)] = last.ValueText(v)
		}
		return nil
	})
	l := &Left{fences: map[int]int64{}, written: written{}, doubtful: written{}, behind: complete || r.window > 1}
	l.learn(last)
	if lost {
		l.value += lostValues
		for k := range history.Key(last.KeyCount()) { // the next cut reads what missing transactions may have written
			o := op{kind: history.Write, key: last.KeyName(k)}
			placer{last.Schema}.place(&o)
			l.written.note([]op{o})
		}
	}
	latest := int64(0) // moment of the earlier process; all that follows comes after it
	for i := range last.Txns {
		t := &last.Txns[i]
		latest = max(latest, t.Begin, t.End)
		r.nextID.Store(max(r.nextID.Load(), t.ID))
	}
	r.start = time.Now().Add(-time.Duration(latest) - time.Millisecond)
	if complete {
		r.window++
		r.hdr.Window = &history.Window{Number: r.window, After: digest}
		r.noteEnd(last)
	}
	err := log.Header(&r.hdr, "null", func(yield func(string, string) bool) {
		for _, k := range slices.Sorted(maps.Keys(r.state)) {
			if !yield(k, r.state[k]) {
				return
			}
		}
	})
	if err == nil {
		err = r.rewrite(last, l)
	}
	return r, l, err
}

// lostValues is more than a process draws in a window: no value that missing transactions wrote is drawn once more.
const lostValues = 1 << 40

// HasEnd reports whether the file of a window has its closing line.
func HasEnd(h *history.History) bool { return h.Closed || h.Ended != "" }

// Resumable returns why a run whose last window is h cannot go on, or nil.
func Resumable(h *history.History) error {
	if HasEnd(h) && h.Ended != history.CutReason {
		return errors.New("the run had ended, and was killed while its results were written; isohound check judges it")
	}
	return nil
}

// noteEnd adds what the last cut read to the state. Nothing was written after it. Lightweight transactions have no fences: there the
// latest read of each key that was written is the cut's.
func (r *Recorder) noteEnd(h *history.History) {
	fenced := make([]bool, h.SessionCount()) // the last transaction of the session that wrote, wrote a fence
	light := !h.HasFences()
	for i := range h.Txns {
		t := &h.Txns[i]
		wrote := slices.ContainsFunc(h.Ops(t), func(op history.Op) bool { return op.Kind == history.Write })
		if wrote {
			fenced[t.Session] = slices.ContainsFunc(h.Ops(t), func(op history.Op) bool { return op.Kind == history.Write && h.IsFence(op.Key) })
		}
		if t.Status != history.Committed || !light && (wrote || !fenced[t.Session]) {
			continue
		}
		for _, op := range h.Ops(t) {
			switch {
			case op.Kind != history.Read:
			case op.Value == history.Absent:
				delete(r.state, h.KeyName(op.Key))
			default:
				r.state[h.KeyName(op.Key)] = h.ValueText(op.Value)
			}
		}
	}
}

// learn collects what the sessions need to know of those before.
func (l *Left) learn(h *history.History) {
	note := func(op history.Op) {
		if op.Value >= history.MinInt {
			l.value = max(l.value, int64(op.Value))
		}
		if n, ok := workerOf(h.KeyName(op.Key)); ok && op.Value != history.Absent {
			l.fences[n] = max(l.fences[n], int64(op.Value))
		}
	}
	_ = h.OwnInitials(func(k history.Key, v history.Value) error {
		note(history.Op{Key: k, Value: v})
		return nil
	})
	commits := map[int64]bool{}
	for i := range h.Txns {
		t := &h.Txns[i]
		session := h.SessionName(t.Session)
		l.sessions = max(l.sessions, session)
		for _, op := range h.Ops(t) {
			if op.Value >= history.MinInt {
				l.value = max(l.value, int64(op.Value))
			}
			if t.Status == history.Committed {
				note(op)
			}
		}
		commits[session] = commits[session] || t.Status == history.Committed
		switch {
		case t.Status == history.Unknown:
			l.doubtful.note(opsOf(h, t))
			fallthrough
		case t.Status == history.Committed && !HasEnd(h):
			l.written.note(opsOf(h, t))
		}
	}
	for session, did := range commits {
		if did && !HasEnd(h) {
			l.committed = append(l.committed, session)
		}
	}
	slices.Sort(l.committed)
}

// rewrite writes the transactions of the open window, or those that are carried over to the next one.
func (r *Recorder) rewrite(h *history.History, l *Left) error {
	caughtUp := map[int32]int32{} // by session, the transaction by which it saw the last cut
	share := make([]int, h.SessionCount())
	for i := range h.Txns {
		t := &h.Txns[i]
		share[t.Session]++
		if _, known := caughtUp[t.Session]; !known && t.Status == history.Committed && readsFences(h, t) {
			caughtUp[t.Session] = int32(i)
		}
	}
	write := func(i int, session int64, fresh bool) error {
		t := &h.Txns[i]
		a := attempt{r: r, rec: h.Record(i), ops: opsOf(h, t)}
		a.node, a.rec.Ops, a.rec.Session = a.rec.Node, nil, session
		if fresh {
			a.rec.ID = r.nextID.Add(1)
		}
		if HasEnd(h) { // a log placed it among the commits of that window
			a.rec.Claim = history.Claim{Visible: a.rec.Claim.Visible}
		}
		if t.Status == history.Unknown {
			r.carried = append(r.carried, a)
		}
		return a.write()
	}
	for i := range h.Txns {
		t := &h.Txns[i]
		session := h.SessionName(t.Session)
		if HasEnd(h) && t.Status != history.Unknown {
			continue
		}
		if saw, known := caughtUp[t.Session]; t.Status == history.Unknown && share[t.Session] > 1 && !HasEnd(h) && !r.alone(h, t.Session) {
			l.sessions++
			session = l.sessions
			if known && l.behind {
				if err := write(int(saw), session, true); err != nil {
					return err
				}
			}
		}
		if err := write(i, session, false); err != nil {
			return err
		}
	}
	return nil
}

// alone reports whether a session is that of one transaction of unknown outcome, with at most the one by
// which it saw the last cut.
func (r *Recorder) alone(h *history.History, session int32) bool {
	others := 0
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Session == session && t.Status != history.Unknown && !readsFences(h, t) {
			others++
		}
	}
	return others == 0
}

// readsFences reports whether a transaction reads fences and does nothing else.
func readsFences(h *history.History, t *history.Txn) bool {
	ops := h.Ops(t)
	return len(ops) > 0 && !slices.ContainsFunc(ops, func(op history.Op) bool { return op.Kind != history.Read || !h.IsFence(op.Key) })
}

// opsOf returns the operations of a transaction as the recorder keeps them.
func opsOf(h *history.History, t *history.Txn) []op {
	var out []op
	for n, from := range h.Ops(t) {
		o := op{kind: from.Kind, key: h.KeyName(from.Key), version: h.Version(t, n)}
		switch {
		case from.Value == history.Absent:
			o.none = true
		case from.Value >= history.MinInt:
			o.value = int64(from.Value)
		default:
			o.isText = true
			o.text, _ = quote.Unquote([]byte(h.ValueText(from.Value)))
		}
		placer{h.Schema}.place(&o)
		out = append(out, o)
	}
	return out
}

// placer says where operations on items took place.
type placer struct{ tables schema.Schema }

func (p placer) place(o *op) {
	if len(p.tables) == 0 || strings.HasPrefix(o.key, history.Fence) {
		return
	}
	if at, ok := p.tables.ParseItem(o.key); ok {
		o.table, o.row = at.Table, at.Key
	}
}

// resume gives the workers what was left, before they start.
func (r *Runner) resume() error {
	l := r.cfg.Left
	n := int64(len(r.workers))
	for worker, value := range l.fences {
		if worker >= len(r.workers) {
			return errors.Errorf("the run had at least %d sessions, and %d cannot go on with it", worker+1, n)
		}
		r.workers[worker].fence = value
	}
	for i, w := range r.workers {
		w.renumber(l.sessions + int64(i) + 1)
		w.values.next += (l.value/n + 1) * n
		w.behind = l.behind
		if l.behind && w.fence != 0 {
			r.last = append(r.last, w)
		}
	}
	r.sessions.Store(l.sessions + n)
	for _, session := range l.committed { // at the same endpoint, where the number tells
		w := r.workers[(session-1)%n]
		w.broken = append(w.broken, session)
	}
	r.kept, r.doubtful = l.written, l.doubtful
	return nil
}
