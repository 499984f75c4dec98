package elle

import (
	"math"

	"github.com/isohound/isohound/history"
)

// lane is a session whose transactions are being written.
type lane struct {
	h       *history.History
	txns    []int32 // from the one in progress on
	invoked bool    // it has begun
	moment  int64   // of the next event, or of the last one before it that has a time
}

func newLane(h *history.History, txns []int32) *lane {
	l := &lane{h: h, txns: txns, moment: math.MinInt64}
	l.look()
	return l
}

func (l *lane) txn() *history.Txn { return &l.h.Txns[l.txns[0]] }

// time returns the time of the next event. The outcome of an unknown transaction has no time.
func (l *lane) time() int64 {
	t := l.txn()
	switch {
	case !l.invoked:
		return t.Begin
	case t.Status == history.Unknown:
		return history.NoTime
	}
	return t.End
}

func (l *lane) look() {
	if t := l.time(); t != history.NoTime {
		l.moment = max(l.moment, t)
	}
}

// advance goes to the next event, and reports whether there is one.
func (l *lane) advance() bool {
	if l.invoked {
		l.txns = l.txns[1:]
	}
	l.invoked = !l.invoked
	if len(l.txns) == 0 {
		return false
	}
	l.look()
	return true
}

// queue orders lanes by their next events. Of events at the same moment, invocations come first:
// since intervals are closed, neither transaction then precedes the other.
type queue struct{ lanes []*lane }

func (q *queue) Len() int { return len(q.lanes) }

func (q *queue) Less(i, j int) bool {
	a, b := q.lanes[i], q.lanes[j]
	if a.moment != b.moment {
		return a.moment < b.moment
	}
	if a.invoked != b.invoked {
		return b.invoked
	}
	return a.txns[0] < b.txns[0]
}

func (q *queue) Swap(i, j int) { q.lanes[i], q.lanes[j] = q.lanes[j], q.lanes[i] }
func (q *queue) Push(x any)    { q.lanes = append(q.lanes, x.(*lane)) }

func (q *queue) Pop() any {
	l := q.lanes[len(q.lanes)-1]
	q.lanes = q.lanes[:len(q.lanes)-1]
	return l
}
