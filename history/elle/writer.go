package elle

import (
	"bufio"
	"container/heap"
	"io"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/forms"
	"github.com/isohound/isohound/history/quote"
)

// Carries is what both formats can hold: everything except reads whose results nobody received,
// and initial values.
func Carries(format string) fit.Carries {
	return fit.Carries{
		Format: format, Times: true, Unknown: true, KnownOnly: true, Aborted: fit.AbortedWhole,
		Empty: true, Initial: fit.InitialAbsent, Renumbers: true,
		Key:   func(name string) bool { return len(quote.Append(nil, name)) < forms.MaxToken },
		Value: func(text string) bool { return text != "-0" && len(text) < forms.MaxToken },
	}
}

// Write writes h, which fit.To must have prepared, as a stream of EDN maps or as a JSON array.
// Operations are in the order of their times. Elle derives the real-time order from the order in
// the file. If h has no times, sessions are written side by side as far as possible, and Elle
// must not be asked for real time: the first operation without a time then says :real-time
// false. Values are those of registers, or lists if Appends says so.
func Write(w io.Writer, h *history.History, asJSON bool) error {
	o := &output{b: bufio.NewWriterSize(w, 64<<10), h: h, json: asJSON}
	if h.Workload == ListWorkload {
		o.appends, _ = newAppends(h)
	}
	q := &queue{}
	for _, txns := range h.BySession() {
		if len(txns) > 0 {
			q.lanes = append(q.lanes, newLane(h, txns))
		}
	}
	heap.Init(q)
	if asJSON {
		_, _ = o.b.WriteString("[")
	}
	for q.Len() > 0 {
		l := q.lanes[0]
		if err := o.event(l); err != nil {
			return err
		}
		if l.advance() {
			heap.Fix(q, 0)
		} else {
			heap.Pop(q)
		}
	}
	if asJSON {
		_, _ = o.b.WriteString("]\n")
	}
	return o.b.Flush() // Flush returns the first error of all writes
}

// output writes operations.
type output struct {
	b     *bufio.Writer
	h     *history.History
	json  bool
	index int64 // of the next operation
	// appends is nil if values are those of registers.
	appends *appends
}

var outcomes = [...]string{history.Unknown: "info", history.Committed: "ok", history.Aborted: "fail"}

// event writes the next event of a lane.
func (o *output) event(l *lane) error {
	t := l.txn()
	what := "invoke"
	if l.invoked {
		what = outcomes[t.Status]
	}
	b := o.b.AvailableBuffer()
	if o.json && o.index > 0 {
		b = append(b, ",\n"...)
	}
	b = strconv.AppendInt(o.name(append(b, '{'), "index"), o.index, 10)
	if now := l.time(); now != history.NoTime {
		b = strconv.AppendInt(o.name(append(b, ", "...), "time"), now, 10)
	} else if o.index == 0 {
		b = append(o.name(append(b, ", "...), realTime), "false"...)
	}
	b = o.word(o.name(append(b, ", "...), "type"), what)
	b = strconv.AppendInt(o.name(append(b, ", "...), "process"), o.h.SessionName(t.Session), 10)
	b = o.word(o.name(append(b, ", "...), "f"), "txn")
	b = append(o.name(append(b, ", "...), "value"), '[')
	for n, op := range o.h.Ops(t) {
		if op.Kind == history.ReadNot || op.Kind == history.Read && t.Status != history.Committed {
			return errors.Errorf("transaction %d: Elle's histories cannot carry %s(%s,%s)",
				t.ID, op.Kind, o.h.KeyName(op.Key), o.h.ValueText(op.Value))
		}
		if n > 0 {
			b = append(b, ", "...)
		}
		b = o.mop(b, op, l.invoked)
	}
	if b = append(b, "]}"...); !o.json {
		b = append(b, '\n')
	}
	o.index++
	_, _ = o.b.Write(b)
	return nil
}

// mop appends a micro-operation. The invocation of a read has no value yet.
func (o *output) mop(b []byte, op history.Op, known bool) []byte {
	what := op.Kind.String()
	if o.appends != nil && op.Kind == history.Write {
		what = "append"
	}
	b = append(o.word(append(b, '['), what), ", "...)
	name := o.h.KeyName(op.Key)
	if integer(name) {
		b = append(b, name...)
	} else {
		b = quote.Append(b, name)
	}
	b = append(b, ", "...)
	switch known = known || op.Kind == history.Write; {
	case known && op.Value != history.Absent && o.appends != nil:
		b = o.appends.appendValue(b, op, o.json)
	case known && op.Value != history.Absent:
		b = o.h.AppendValue(b, op.Value) // JSON scalars are EDN too
	case o.json:
		b = append(b, "null"...)
	default:
		b = append(b, "nil"...)
	}
	return append(b, ']')
}

func (o *output) name(b []byte, name string) []byte {
	if o.json {
		return append(append(append(b, '"'), name...), `":`...)
	}
	return append(append(append(b, ':'), name...), ' ')
}

func (o *output) word(b []byte, word string) []byte {
	if o.json {
		return append(append(append(b, '"'), word...), '"')
	}
	return append(append(b, ':'), word...)
}
