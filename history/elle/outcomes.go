package elle

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// operation takes in one operation, and reports whether rec now holds a
// transaction, whose appends are not registers yet.
func (r *Reader) operation(op *operation, rec *history.Record) (done bool, err error) {
	if !op.client {
		r.nemesis++
		return false, nil
	}
	v := &op.value
	if v.unknown != "" && (op.f == "txn" || len(v.mops) > 0) {
		return false, errors.Errorf("the value of a transaction contains %.40s; known are the micro-operations r, w and append", v.unknown)
	}
	switch {
	case op.f == "txn" && v.shape == other:
		return false, errors.New("the value of a transaction is not a list of micro-operations")
	case v.shape == other, op.f != "txn" && op.f != "" && len(v.mops) == 0:
		if _, busy := r.pending[op.process]; busy {
			return false, errors.New("the outcome of a transaction is not one of a transaction")
		}
		r.others++
		return false, nil
	}
	switch op.outcome {
	case "invoke":
		return false, r.invoke(op)
	case "ok":
		return true, r.complete(op, rec, history.Committed)
	case "fail":
		return true, r.complete(op, rec, history.Aborted)
	case "info":
		return true, r.complete(op, rec, history.Unknown)
	case "":
		return false, errors.New("an operation has no :type")
	}
	return false, errors.Errorf("the :type of an operation is %.40q; it must be invoke, ok, fail or info", op.outcome)
}

func (r *Reader) invoke(op *operation) error {
	if _, busy := r.pending[op.process]; busy {
		return errors.Errorf("process %d invokes an operation before its last one has completed", op.process)
	}
	in := &invocation{order: r.order, named: op.value.shape == micro, rec: history.Record{
		ID: op.number, Session: op.process, Begin: op.time, End: history.NoTime, Due: history.NoTime,
	}}
	r.order++
	fill(&in.rec, op, false)
	r.pending[op.process] = in
	return nil
}

// complete makes rec of an outcome and the invocation before it, if any.
func (r *Reader) complete(op *operation, rec *history.Record, st history.Status) error {
	in, invoked := r.pending[op.process]
	delete(r.pending, op.process)
	*rec = history.Record{
		ID: op.number, Session: op.process, Status: st,
		Begin: history.NoTime, End: op.time, Due: history.NoTime, Ops: rec.Ops[:0],
	}
	if invoked {
		rec.Begin = in.rec.Begin
	}
	if st == history.Unknown {
		rec.End = history.NoTime
	}
	switch {
	case st == history.Committed:
		if op.value.shape == none && invoked && in.named {
			return errors.New("an :ok operation has no value, so that what it read is not known")
		}
		fill(rec, op, true)
	case invoked && in.named:
		rec.Ops = append(rec.Ops, in.rec.Ops...)
	default:
		fill(rec, op, false)
	}
	return nil
}

// fill appends the micro-operations of op to rec, reads only where what they
// returned is known.
func fill(rec *history.Record, op *operation, reads bool) {
	for _, m := range op.value.mops {
		if reads || m.kind != history.Read {
			rec.Ops = append(rec.Ops, history.Op{Kind: m.kind, Key: m.key, Value: m.value})
		}
	}
}
