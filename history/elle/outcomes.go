package elle

import (
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// invocation is an operation without its outcome.
type invocation struct {
	rec   history.Record
	f     string
	how   how
	named bool         // its micro-operations are known
	asked []history.Op // they
	call  call         // if it is a call on a register
	order int64
}

// how is the kind of an operation.
type how uint8

const (
	notUnderstood how = iota
	transaction
	onRegister
)

var (
	errNoList   = errors.New("the value of a transaction is not a list of micro-operations")
	errNotOne   = errors.New("an operation is invoked as a transaction and completed as something else")
	errOther    = errors.New("an :ok operation has other micro-operations than its invocation: they may differ only in what was read")
	errNoAnswer = errors.New("an :ok operation has no value, so its reads are unknown")
)

// operation processes one operation, and reports whether rec now holds a transaction. Its
// appends are not yet turned into registers.
func (r *Reader) operation(op *operation, rec *history.Record) (done bool, err error) {
	if op.who.kind == named && op.who.name == nemesis {
		r.nemesis++
		return false, nil
	}
	st := history.Unknown
	switch op.outcome {
	case "invoke", "info":
	case "ok":
		st = history.Committed
	case "fail":
		st = history.Aborted
	case "":
		return false, errors.New("an operation has no :type")
	default:
		return false, errors.Errorf("the :type of an operation is %.40q; it must be invoke, ok, fail or info", op.outcome)
	}
	if v := &op.value; v.unknown != "" && (op.f == "txn" || len(v.mops) > 0) {
		return false, errors.Errorf("the value of a transaction contains %.40s; known are the micro-operations r, w and append", v.unknown)
	}
	r.clock(op)
	if op.outcome == "invoke" {
		return false, r.invoke(op)
	}
	return r.complete(op, st, rec)
}

// nemesis is the process that injects faults. It is not a client of the database.
const nemesis = "nemesis"

// clock sets the time of an operation: its own, or, if operations have none, its position in the
// file.
func (r *Reader) clock(op *operation) {
	if r.times == undecided {
		r.times = fileOrder
		if op.time != history.NoTime || op.timeless {
			r.times = ownTimes
		}
	}
	if r.times == fileOrder {
		r.hdr.Clock = "order of the file"
		op.time = r.ops * placeUnit
	}
}

// understand returns the kind of an operation, and its call if it is one on a register.
func (r *Reader) understand(op *operation) (what how, c call, err error) {
	switch v := &op.value; {
	case len(v.mops) > 0, (op.f == "txn" || op.f == "") && v.shape <= micro:
		return transaction, c, nil
	case isCall(op.f):
		c, err = r.p.call(op)
		return onRegister, c, err
	}
	return notUnderstood, c, nil
}

func (r *Reader) invoke(op *operation) error {
	in := &invocation{f: op.f, named: op.value.shape == micro, order: r.order, rec: history.Record{
		ID: op.number, Begin: op.time, End: history.NoTime, Due: history.NoTime,
	}}
	r.order++
	var err error
	if in.how, in.call, err = r.understand(op); err != nil {
		return err
	}
	switch in.how {
	case transaction:
		fill(&in.rec, op, false)
		in.asked = make([]history.Op, 0, len(op.value.mops))
		for _, m := range op.value.mops {
			in.asked = append(in.asked, history.Op{Kind: m.kind, Key: m.key, Value: m.value})
		}
	case onRegister:
		in.rec.Ops = in.call.ops(nil, history.Unknown)
	case notUnderstood:
		if op.f == "txn" {
			return errNoList
		}
	}
	if in.rec.Session, err = r.session(op.who); err != nil {
		return err
	}
	if op.who.kind == nobody {
		key := content(op, in.call)
		r.loose[key] = append(r.loose[key], in)
		return nil
	}
	if before, busy := r.pending[in.rec.Session]; busy {
		if before.how != notUnderstood {
			return errors.Errorf("process %s invokes an operation before its last one has completed", op.who)
		}
		r.leaveOut(before.f)
	}
	r.pending[in.rec.Session] = in
	return nil
}

// invoked removes and returns the invocation of an outcome, nil if there is none. Without a
// process, the invocation is found by the content of the operation.
func (r *Reader) invoked(op *operation, c call) (*invocation, error) {
	if op.who.kind == nobody {
		key := content(op, c)
		all := r.loose[key]
		if len(all) == 0 {
			return nil, nil
		}
		r.loose[key] = all[1:]
		return all[0], nil
	}
	session, err := r.session(op.who)
	in := r.pending[session]
	delete(r.pending, session)
	return in, err
}

// complete fills rec from an outcome and the invocation before it, if any.
func (r *Reader) complete(op *operation, st history.Status, rec *history.Record) (done bool, err error) {
	what, c, err := r.understand(op)
	if err != nil {
		return false, err
	}
	in, err := r.invoked(op, c)
	if err != nil {
		return false, err
	}
	*rec = history.Record{
		ID: op.number, Status: st, Begin: history.NoTime, End: op.time, Due: history.NoTime, Ops: rec.Ops[:0],
	}
	if in != nil {
		rec.Session, rec.Begin = in.rec.Session, in.rec.Begin
	} else if rec.Session, err = r.session(op.who); err != nil {
		return false, err
	}
	if st == history.Unknown || in == nil && r.times == fileOrder {
		rec.End = history.NoTime
	}
	switch {
	case st != history.Committed && in != nil:
		what = in.how // the value may be an error message
	case in != nil && in.how == transaction && in.named && what != transaction:
		return false, errNotOne
	}
	switch what {
	case transaction:
		done, err = r.txn(op, in, rec)
	case onRegister:
		if c, done = c.after(in, st); done {
			rec.Ops = c.ops(rec.Ops, st)
		}
	default:
		if op.f == "txn" && st == history.Committed {
			return false, errNoList
		}
	}
	if !done && st != history.Aborted && err == nil {
		r.leaveOut(op.f)
	}
	r.place(op, rec)
	return done, err
}

// place adds the position of a commit. What a transaction is told that changed nothing is about an earlier one of its connection, so
// the same timestamp again says nothing.
func (r *Reader) place(op *operation, rec *history.Record) {
	if op.commit == 0 || rec.Status != history.Committed {
		return
	}
	wrote := slices.ContainsFunc(rec.Ops, func(o history.Op) bool { return o.Kind != history.Read })
	if wrote && r.placed[rec.Session] != op.commit {
		rec.Claim.Commit, r.hdr.Positions = op.commit, "commit timestamps"
	}
	r.placed[rec.Session] = op.commit
}

// txn fills rec from the outcome of a transaction. known reports whether it is known what the
// transaction did.
func (r *Reader) txn(op *operation, in *invocation, rec *history.Record) (known bool, err error) {
	named := in != nil && in.named
	switch {
	case rec.Status != history.Committed && named:
		rec.Ops = append(rec.Ops, in.rec.Ops...)
	case op.value.shape == micro:
		if named && !in.asks(op.value.mops) {
			return false, errOther
		}
		fill(rec, op, rec.Status == history.Committed)
	case rec.Status != history.Committed:
		return in != nil, nil
	case named:
		return false, errNoAnswer
	default:
		return false, nil
	}
	return true, nil
}

// asks reports whether micro-operations are those of the invocation. A value that it gives as nil may have been chosen later.
func (in *invocation) asks(mops []mop) bool {
	return slices.EqualFunc(in.asked, mops, func(a history.Op, m mop) bool {
		return a.Kind == m.kind && a.Key == m.key && (a.Kind == history.Read || a.Value == m.value || a.Value == history.Absent)
	})
}

// fill appends the micro-operations of op to rec, reads only if their results are known.
func fill(rec *history.Record, op *operation, reads bool) {
	for _, m := range op.value.mops {
		if reads || m.kind != history.Read {
			rec.Ops = append(rec.Ops, history.Op{Kind: m.kind, Key: m.key, Value: m.value})
		}
	}
}
