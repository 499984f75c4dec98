package cobra

import (
	"bufio"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
)

// Carries is what a format of Cobra can hold: no times; keys and values are 64-bit numbers; the
// initial value of a key only if it was read.
func Carries(id Identity) fit.Carries {
	c := fit.Carries{
		Format: id.String(), Unknown: true, OpenAtUnknown: true, Aborted: fit.AbortedWhole, Empty: true,
		Initial: fit.InitialRead, Tells: fit.OrInitial,
		Key: fit.Unsigned, Value: fit.Signed,
		Txn: func(n int64) bool { return !special(n) && n != idAnything },
	}
	if id == ByWrite {
		c.Tells = fit.OneWrite
	}
	return c
}

// Write writes h, which fit.To must have prepared, to the files that create opens. After an
// error it does not close the last file.
func Write(create func(name string) (io.WriteCloser, error), h *history.History, id Identity) error {
	w := &writer{h: h, id: id}
	if id == ByWrite {
		w.number()
	}
	for s, txns := range h.BySession() {
		f, err := create("T" + strconv.FormatInt(h.SessionName(int32(s)), 10) + ".log")
		if err != nil {
			return err
		}
		w.b = bufio.NewWriterSize(f, 64<<10)
		for _, i := range txns {
			if err := w.txn(int(i)); err != nil {
				return err
			}
		}
		if err := w.b.Flush(); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

type writer struct {
	h  *history.History
	id Identity
	b  *bufio.Writer
	// by has the writer of each value; wids has the id of each transaction's first write.
	by   map[valueOf]origin
	wids []int64
	// nobody is an id that no transaction has. It stands for the writer of values that nobody
	// wrote.
	nobody int64
}

type valueOf struct {
	key   history.Key
	value history.Value
}

// number numbers writes from 1.
func (w *writer) number() {
	w.by = map[valueOf]origin{}
	w.wids = make([]int64, len(w.h.Txns))
	taken := map[int64]bool{}
	next := int64(1)
	for i := range w.h.Txns {
		t := &w.h.Txns[i]
		taken[t.ID] = true
		w.wids[i] = next
		for _, op := range w.h.Ops(t) {
			if op.Kind == history.Write {
				w.by[valueOf{op.Key, op.Value}] = origin{writer: t.ID, wid: next}
				next++
			}
		}
	}
	for w.nobody = 1; taken[w.nobody]; {
		w.nobody++
	}
}

func (w *writer) txn(i int) error {
	t := &w.h.Txns[i]
	if t.Begin != history.NoTime || t.End != history.NoTime {
		return errors.Errorf("transaction %d has times, which Cobra's logs cannot carry", t.ID)
	}
	w.put('S', t.ID)
	wid := int64(idAnything)
	if w.id == ByWrite {
		wid = w.wids[i]
	}
	for _, op := range w.h.Ops(t) {
		key, value, err := w.numbers(t, op)
		if err != nil {
			return err
		}
		if op.Kind == history.Read {
			o := w.origin(op)
			w.put('R', o.writer, o.wid, key, value)
			continue
		}
		if op.Value == history.Absent {
			w.put('W', idNull, key, 0)
		} else {
			w.put('W', wid, key, value)
		}
		if w.id == ByWrite {
			wid++
		}
	}
	switch t.Status {
	case history.Committed:
		w.put('C', t.ID)
	case history.Aborted:
		w.put('A', t.ID)
	}
	return nil
}

// origin returns the writer and wid of a read.
func (w *writer) origin(op history.Op) origin {
	switch {
	case op.Value == history.Absent:
		return origin{idNull, idNull}
	case op.Value == w.h.Initial(op.Key):
		return origin{idInit, idInit}
	case w.id == ByValue:
		return origin{idAnything, idAnything}
	}
	if o, ok := w.by[valueOf{op.Key, op.Value}]; ok {
		return o
	}
	return origin{w.nobody, 0}
}

func (w *writer) numbers(t *history.Txn, op history.Op) (key, value int64, err error) {
	k, err := strconv.ParseUint(w.h.KeyName(op.Key), 10, 64)
	if err == nil && op.Value != history.Absent {
		value, err = strconv.ParseInt(w.h.ValueText(op.Value), 10, 64)
	}
	if err != nil || op.Kind == history.ReadNot {
		return 0, 0, errors.Errorf("transaction %d: Cobra's logs cannot carry %s(%s,%s)", t.ID, op.Kind, w.h.KeyName(op.Key), w.h.ValueText(op.Value))
	}
	return int64(k), value, nil
}

// put writes a record; the writer keeps the first error.
func (w *writer) put(letter byte, numbers ...int64) {
	b := append(w.b.AvailableBuffer(), letter)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	_, _ = w.b.Write(b)
}
