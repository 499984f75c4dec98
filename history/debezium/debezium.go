// Package debezium reads change events of Debezium's connectors for MySQL, MariaDB and PostgreSQL as JSON, one on each line:
// an envelope with before, after, source and op, alone or as the payload beside its schema, and with
// provide.transaction.metadata also the events BEGIN and END. A line may have the key of the event before its value, as
// kafka-console-consumer prints it with print.key=true: KEY, a tab, VALUE.
//
// Each transaction of the database is one of the history, in a session of its own, with what it wrote. Reads of clients,
// sessions, times and transactions that rolled back are in no log, and so not here. Of MySQL and MariaDB an event also says
// what it overwrote; this is a read. Of PostgreSQL that depends on the REPLICA IDENTITY of the table, which no event tells,
// so nothing is read.
//
// A row is an item, db.table(key). Its key are the columns of the event's key. Without one it is the column id, or else the
// first column, with a note. Its value is the number in its only other column, or the text of an object of the others.
//
// The claimed order of commits is that of the events BEGIN and END. If there are none it is that of the positions in the log of
// MySQL and MariaDB, or of the positions of the last commits that PostgreSQL's events name, or else that of the lines.
package debezium

import (
	"io"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/jsonlines"
)

// Positions is what the positions of the history are.
const Positions = "commits in Debezium's stream"

// Reader reads change events. It implements history.Source. All of the file is read before the first transaction.
type Reader struct {
	path  string
	lines *jsonlines.Reader
	hdr   history.Header
	sym   *history.Symbols
	all   *history.Replay // nil until everything was read
}

var _ history.Source = (*Reader)(nil)

// NewReader returns a reader. path is for messages.
func NewReader(r io.Reader, path string) *Reader {
	return &Reader{path: path, lines: jsonlines.New(r), sym: history.NewSymbols(), hdr: history.Header{Source: path, Positions: Positions}}
}

func (r *Reader) Header() *history.Header   { return &r.hdr }
func (r *Reader) Symbols() *history.Symbols { return r.sym }

// Closed is false where the file lacks events of a transaction.
func (r *Reader) Closed() bool { return r.all != nil && r.all.Closed() }

// SizeHint returns how many transactions there are, once that is known.
func (r *Reader) SizeHint() int {
	if r.all == nil {
		return 0
	}
	return r.all.SizeHint()
}

// Notes says what is not known, and what was assumed.
func (r *Reader) Notes() []string {
	if r.all == nil {
		return nil
	}
	return r.all.Notes()
}

// At returns err as a history.FormatError at the latest line.
func (r *Reader) At(err error) error {
	return &history.FormatError{Path: r.path, Line: r.lines.Line(), Byte: -1, Err: err}
}

// Next yields the next transaction, in the claimed order.
func (r *Reader) Next(rec *history.Record) error {
	if r.all == nil {
		if err := r.readAll(); err != nil {
			return r.At(err)
		}
	}
	return r.all.Next(rec)
}

func (r *Reader) readAll() error {
	m := newMaker(r.sym)
	for {
		line, err := r.lines.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = m.line(line)
		}
		if err != nil {
			return err
		}
	}
	txns := m.ordered()
	r.hdr.Server, r.hdr.LeftOut = m.connector, m.leftOut()
	b := history.NewBuilder(r.hdr, r.sym, len(txns))
	for i, t := range txns {
		rec := history.Record{
			ID: int64(i + 1), Session: int64(i + 1), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime,
			Status: history.Committed, DBTxn: t.number, Ops: t.ops, Claim: history.Claim{Commit: t.commit},
		}
		if err := b.Add(&rec); err != nil {
			return err
		}
	}
	r.all = history.NewReplay(b.Done(m.torn == 0, m.notes()))
	return nil
}
