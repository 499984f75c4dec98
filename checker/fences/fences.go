package fences

import (
	"context"
	"slices"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Judge judges the history of a round at serializability.
type Judge func(ctx context.Context, h *history.History) (verdict.Verdict, string, error)

// State says how the history is judged after a round.
type State int

const (
	// Going: everything that was taken in has an execution.
	Going State = iota
	// Violated: what was added is violated.
	Violated
	// Waits: transactions wait for long for what they read, or at the end. The history so far has to be judged as a
	// whole. If that finds no violation, the rounds may go on.
	Waits
	// Whole: the history cannot be judged in rounds.
	Whole
	// Undecided: the judge did not decide a round.
	Undecided
)

// Stats are the figures of the rounds.
type Stats struct {
	Rounds int `json:"rounds"`
	// Fences is how many transactions are fences, Epoch is epoch_agree of the latest round, -1 before there is one.
	Fences int `json:"fences"`
	Epoch  int `json:"epoch_agree"`
	// Frozen is the number of transactions that were kept after the latest round although every later one comes
	// after them: their values may still be read, or their order is open. Removed is how many were removed in all rounds, and Most how many
	// were judged in one round at most.
	Frozen  int `json:"frozen"`
	Removed int `json:"removed"`
	Most    int `json:"most"`
}

// Rounds judges a history in rounds.
type Rounds struct {
	sym   *history.Symbols
	fence history.Key
	judge Judge
	// Idle is for how many records a session may be silent before it counts as over.
	Idle int
	// Patience is for how many records a transaction may wait for what it read.
	Patience int

	stats    Stats
	why      string
	records  int
	sessions map[int64]*session
	chains   int32
	pending  []*node
	kept     []*node
	// writers are those whose last write of a key has the value, of kept and pending.
	writers map[cell]*node
	// initial has the initial values that were read.
	initial map[history.Key]history.Value
	// epoch is that of w, a fence that is kept; -1 before there is one.
	epoch int
	w     *node

	// choose says what is removed, and bare that no edges are added. Tests set them.
	choose func(*graph) []bool
	bare   bool
}

type cell struct {
	key   history.Key
	value history.Value
}

// session is what is known of a session.
type session struct {
	chain int32
	last  *node // the latest one that did not end unknown
	// epoch is that of the latest one taken in; -1 if no fence reaches it.
	epoch   int
	seen    int // the number of its latest record
	waiting int // how many of pending are its
}

// node is a transaction.
type node struct {
	session *session
	chain   int32
	// reads are the reads before the transaction's own writes of the key, writes its last writes, and ops is all that it did,
	// until a round judged it.
	reads, writes []history.Op
	ops           []history.Op
	fresh         bool // it has no epoch yet
	// before is the one before it in its session, until it has its epoch.
	before *node
	// preds are kept transactions that come before it, besides those that it read from and its session's.
	preds []*node
	// optional: the outcome is not known, and nobody has read from it.
	optional bool
	// impossible: optional, and cannot count any more.
	impossible bool
	epoch      int
	place      int // of a fence in the chain, else -1
	since      int // the number of its record
	number     int32
	gone       bool
}

// New judges a history whose records use sym. fence is the key of fences.
func New(sym *history.Symbols, fence history.Key, judge Judge) *Rounds {
	return &Rounds{sym: sym, fence: fence, judge: judge, Idle: 1 << 14, Patience: 1 << 14, sessions: map[int64]*session{},
		writers: map[cell]*node{}, initial: map[history.Key]history.Value{}, epoch: -1, stats: Stats{Epoch: -1}, choose: (*graph).removable}
}

// Stats returns the figures until now.
func (r *Rounds) Stats() Stats { return r.stats }

// Kept returns how many transactions are kept or wait.
func (r *Rounds) Kept() int { return len(r.kept) + len(r.pending) }

// Why says why the history cannot be judged in rounds, or was not decided.
func (r *Rounds) Why() string { return r.why }

// Add adds a transaction. It returns Whole if the history cannot be judged in rounds.
func (r *Rounds) Add(rec *history.Record) State {
	r.records++
	s := r.sessions[rec.Session]
	if s == nil {
		s = &session{chain: r.chains, epoch: -1}
		r.chains++
		r.sessions[rec.Session] = s
	}
	s.seen = r.records
	if rec.Status == history.Aborted {
		return Going
	}
	if len(rec.Predicates) > 0 {
		return r.whole("it has scans")
	}
	n := &node{session: s, chain: s.chain, epoch: -1, place: -1, since: r.records, fresh: true, optional: rec.Status == history.Unknown}
	n.ops = slices.Clone(rec.Ops)
	if why := n.read(r.sym); why != "" {
		return r.whole(why)
	}
	for _, op := range n.reads {
		v := r.sym.Initial(op.Key)
		if op.Value != v {
			continue
		}
		if before, known := r.initial[op.Key]; known && before != v {
			return r.whole("the initial value of " + r.sym.KeyName(op.Key) + " was read late")
		}
		r.initial[op.Key] = v
	}
	for _, w := range n.writes {
		c := cell{w.Key, w.Value}
		if r.writers[c] != nil || w.Value == r.sym.Initial(w.Key) {
			return r.whole("a value of " + r.sym.KeyName(w.Key) + " is written twice")
		}
		r.writers[c] = n
	}
	n.before = s.last
	if n.optional {
		n.chain = r.chains
		r.chains++
	} else {
		s.last = n
	}
	s.waiting++
	r.pending = append(r.pending, n)
	return Going
}

func (r *Rounds) whole(why string) State {
	r.why = why
	return Whole
}

// read sorts the operations of a transaction. It returns why rounds do not judge one, or "".
func (n *node) read(sym *history.Symbols) string {
	for _, op := range n.ops {
		same := func(o history.Op) bool { return o.Key == op.Key }
		at := slices.IndexFunc(n.writes, same)
		switch {
		case op.Kind == history.ReadNot:
			return "it has reads that returned no value"
		case op.Kind == history.Write && op.Value == history.Absent:
			return "it deletes " + sym.KeyName(op.Key) + ", and absence is a value that repeats"
		case op.Kind == history.Write && at >= 0:
			n.writes[at] = op
		case op.Kind == history.Write:
			n.writes = append(n.writes, op)
		case at < 0 && !slices.ContainsFunc(n.reads, func(o history.Op) bool { return o == op }):
			n.reads = append(n.reads, op)
		}
	}
	return ""
}

// source returns who wrote what op of n read; nil, and true, is the initial value.
func (r *Rounds) source(n *node, op history.Op) (*node, bool) {
	if w := r.writers[cell{op.Key, op.Value}]; w != nil && w != n {
		return w, true
	}
	return nil, op.Value == r.sym.Initial(op.Key)
}

// Round judges what was added. last says that nothing follows.
func (r *Rounds) Round(ctx context.Context, last bool) (State, error) {
	r.stats.Rounds++
	r.admit()
	r.stats.Most = max(r.stats.Most, len(r.kept))
	g := r.graph()
	if !g.order() || !g.saturate() {
		return Violated, nil
	}
	if why := r.epochs(g); why != "" {
		return r.whole(why), nil
	}
	if slices.ContainsFunc(r.kept, func(n *node) bool { return !n.optional }) {
		v, why, err := r.judge(ctx, g.history())
		switch {
		case err != nil:
			return Undecided, err
		case v == verdict.Violated:
			return Violated, nil
		case v == verdict.Unknown:
			r.why = why
			return Undecided, nil
		}
	}
	switch {
	case last && r.waiting() != nil:
		return Waits, nil
	case last:
		return Going, nil
	}
	r.remove(g)
	if n := r.waiting(); n != nil && r.records-n.since > r.Patience {
		r.Patience *= 2
		return Waits, nil
	}
	return Going, nil
}

// waiting returns the first transaction that waits, of those whose outcome is known.
func (r *Rounds) waiting() *node {
	for _, n := range r.pending {
		if !n.optional {
			return n
		}
	}
	return nil
}

// admit takes in the transactions of pending that do not wait: all that they read from, and what their sessions did
// before, is taken in.
func (r *Rounds) admit() {
	for i, n := range r.pending {
		n.number = int32(i)
	}
	waits := make([]bool, len(r.pending))
	next := make([][]int32, len(r.pending)) // who waits for each
	var work []int32
	wait := func(i int32) {
		if !waits[i] {
			waits[i] = true
			work = append(work, i)
		}
	}
	depends := func(n, on *node) {
		if int(on.number) < len(r.pending) && r.pending[on.number] == on {
			next[on.number] = append(next[on.number], n.number)
		}
	}
	for i, n := range r.pending {
		if n.before != nil {
			depends(n, n.before)
		}
		for _, op := range n.reads {
			w, ok := r.source(n, op)
			if !ok {
				wait(int32(i))
			} else if w != nil {
				depends(n, w)
			}
		}
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, n := range next[i] {
			wait(n)
		}
	}
	left := r.pending[:0]
	for i, n := range r.pending {
		if waits[i] {
			left = append(left, n)
			continue
		}
		n.session.waiting--
		if n.chain != n.session.chain && n.before != nil && !n.before.gone { // it is a session by itself
			n.preds = []*node{n.before}
		}
		r.kept = append(r.kept, n)
	}
	clear(r.pending[len(left):])
	r.pending = left
	for _, n := range r.kept {
		if !n.optional {
			r.include(n)
		}
	}
}

// include makes those of unknown outcome count from which n, which counts, read.
func (r *Rounds) include(n *node) {
	for work := []*node{n}; len(work) > 0; {
		n, work = work[len(work)-1], work[:len(work)-1]
		for _, op := range n.reads {
			if w, _ := r.source(n, op); w != nil && w.optional {
				w.optional = false
				work = append(work, w)
			}
		}
	}
}

// epochs gives the new transactions, in an order of g, their epochs, and verifies that W comes before them. It returns why
// it does not, or "".
func (r *Rounds) epochs(g *graph) string {
	for _, v := range g.sorted {
		n := g.nodes[v]
		if !n.fresh {
			continue
		}
		if n.before != nil {
			n.epoch, n.before = n.before.epoch, nil
		}
		fence := slices.ContainsFunc(n.writes, func(op history.Op) bool { return op.Key == r.fence })
		for _, op := range n.reads {
			w, _ := r.source(n, op)
			if w != nil {
				n.epoch = max(n.epoch, w.epoch)
			}
			switch {
			case !fence || op.Key != r.fence:
			case w == nil:
				n.place = 0
			case w.place >= 0:
				n.place = w.place + 1
			}
		}
		if n.place >= 0 {
			n.epoch = max(n.epoch, n.place)
			r.stats.Fences++
		}
		if !n.optional && n.chain == n.session.chain {
			n.session.epoch = n.epoch
		}
		if n.epoch < r.epoch {
			return "a session went on, or began, without a fence after transactions had been removed"
		}
	}
	return ""
}

// agreed returns epoch_agree: all later transactions come after the fence of this epoch.
func (r *Rounds) agreed() int {
	least := -1
	for _, s := range r.sessions {
		if s.waiting == 0 && r.records-s.seen > r.Idle {
			continue // it is over
		}
		if s.epoch < 0 {
			return r.epoch
		}
		if least < 0 || s.epoch < least {
			least = s.epoch
		}
	}
	return max(least, r.epoch)
}
