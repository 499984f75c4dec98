package cobra

import (
	"fmt"
	"io"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Next reads the next transaction.
func (r *Reader) Next(rec *history.Record) error {
	if r.turns == nil {
		return r.next(rec)
	}
	return r.inTurn(rec)
}

func (r *Reader) next(rec *history.Record) error {
	r.rec.Ops = rec.Ops[:0]
	for {
		if r.log == nil {
			if len(r.logs) == 0 {
				return io.EOF
			}
			if err := r.open(); err != nil {
				return err
			}
		}
		x, err := r.log.next()
		var done bool
		switch {
		case err == io.EOF:
			done = r.end()
		case err != nil:
			return r.At(err)
		default:
			if done, err = r.take(x, rec); err != nil {
				return r.At(err)
			}
			if done {
				return nil
			}
		}
		if done {
			*rec = r.rec
			return nil
		}
	}
}

func (r *Reader) open() error {
	l := r.logs[0]
	f, err := r.folder.Open(l.name)
	if err != nil {
		return r.At(err)
	}
	if r.buffer == nil {
		r.buffer = newBuffer(f)
	}
	r.buffer.Reset(f)
	r.file, r.log = f, newLog(r.buffer, l.name)
	r.latest = r.log
	return nil
}

// end closes a log, and reports whether it ends inside a transaction.
func (r *Reader) end() (inside bool) {
	if r.begun || r.log.torn {
		r.closed = false
		r.cut = append(r.cut, r.log.name)
	}
	inside = r.begun
	if inside {
		r.noOutcome++
	}
	r.read += r.log.after
	r.begun, r.log, r.logs = false, nil, r.logs[1:]
	r.closeLog()
	return inside
}

// take processes a record, and reports whether rec now holds a complete transaction.
func (r *Reader) take(x record, rec *history.Record) (done bool, err error) {
	switch x.letter {
	case 'S':
		if r.begun { // the client continued without knowing the outcome
			*rec = r.rec
			r.noOutcome++
			r.start(x.txn, nil)
			return true, nil
		}
		r.start(x.txn, r.rec.Ops)
		return false, nil
	case 'C', 'A':
		if !r.begun || r.rec.ID != x.txn {
			return false, errors.Errorf("transaction %d ends but is not open", x.txn)
		}
		r.rec.Status = history.Committed
		if x.letter == 'A' {
			r.rec.Status = history.Aborted
		}
		*rec, r.begun = r.rec, false
		return true, nil
	}
	if !r.begun {
		return false, errors.New("an operation is outside any transaction")
	}
	return false, r.op(x)
}

func (r *Reader) start(id int64, ops []history.Op) {
	r.begun = true
	r.txns++
	r.rec = history.Record{
		ID: id, Session: r.logs[0].session, Ops: ops[:0],
		Begin: history.NoTime, End: history.NoTime, Due: history.NoTime,
	}
	if r.id == ByWrite { // the format cobra does not record who wrote
		r.writers.started(id)
	}
}

// op adds an operation to the transaction in progress.
func (r *Reader) op(x record) error {
	if err := r.kind(x); err != nil {
		return err
	}
	op := history.Op{Kind: history.Write, Key: r.sym.KeyNumber(uint64(x.key))}
	if x.letter == 'R' {
		op.Kind = history.Read
	}
	switch {
	case x.letter == 'R' && (x.writer == idMissing || x.wid == idMissing):
		r.missing++
		return nil
	case absent(x):
		op.Value = history.Absent
	case x.letter == 'R' && (x.writer == idInit || x.wid == idInit):
		op.Value = r.values.of(identity{key: op.Key, writer: idInit, wid: idInit, value: x.value})
		r.values.initial(op.Key, op.Value)
	default:
		writer := x.writer
		if x.letter == 'W' {
			writer = idAnything
			if r.id == ByWrite {
				writer = r.rec.ID
			}
		} else if r.id == ByWrite {
			r.writers.read(x.writer)
		}
		op.Value = r.values.of(identity{key: op.Key, writer: writer, wid: x.wid, value: x.value})
	}
	r.rec.Ops = append(r.rec.Ops, op)
	return nil
}

func absent(x record) bool {
	gone := func(n int64) bool { return n == idNull || n == idDeleted }
	return gone(x.wid) || x.letter == 'R' && gone(x.writer)
}

// kind refuses an operation of the other format, which would be misread.
func (r *Reader) kind(x record) error {
	if special(x.wid) || x.letter == 'R' && special(x.writer) {
		return nil
	}
	shared := x.wid == idAnything
	switch {
	case r.id == ByValue && (!shared || x.letter == 'R' && x.writer != idAnything):
		return errors.New("a write has a unique id, so the format is cobra-uv, not cobra")
	case r.id == ByWrite && (shared || x.letter == 'R' && x.writer == idAnything):
		return errors.New("a write has the shared id 0xabddefee, so the format is cobra, not cobra-uv")
	}
	return nil
}

// Notes reports what is missing from the logs.
func (r *Reader) Notes() []string {
	var notes []string
	if r.noOutcome > 0 {
		notes = append(notes, history.Many(r.noOutcome, "transaction has neither commit nor abort; it counts as unknown", "transactions have neither commit nor abort; they count as unknown"))
	}
	if n := len(r.cut); n > 0 {
		names := strings.Join(r.cut[:min(n, 3)], ", ")
		if n > 3 {
			names += ", …"
		}
		notes = append(notes, history.Many(n, "log ends", "logs end")+fmt.Sprintf(" inside a transaction (%s): the recording was cut off", names))
	}
	if r.missing > 0 {
		notes = append(notes, history.Many(r.missing, "read was left out because the client did not find its writer", "reads were left out because the client did not find their writer"))
	}
	if n := r.writers.unknown(); n > 0 {
		notes = append(notes, history.Many(n, "transaction whose writes were read is missing from the logs", "transactions whose writes were read are missing from the logs"))
	}
	return notes
}
