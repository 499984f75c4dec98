// Package join adds to a history the positions of commits that the database told after the run, in a log: the commits
// of a logical replication slot of PostgreSQL, or lines of JSON. Transactions are found by the database's own numbers
// for them (history.Record.DBTxn).
package join

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Log is what a database says about its transactions.
type Log struct {
	// Positions says what the positions are, such as "commit LSNs".
	Positions string
	claims    map[int64]history.Claim // by the number of the transaction
	// short: the log has only the lower 32 bits of the numbers.
	short bool
}

// Of returns a log with the positions of commits by the numbers of their transactions. short says that only the lower 32
// bits of the numbers are known.
func Of(positions string, at map[int64]int64, short bool) *Log {
	l := &Log{Positions: positions, claims: make(map[int64]history.Claim, len(at)), short: short}
	for id, position := range at {
		l.claims[id] = history.Claim{Commit: position}
	}
	return l
}

// OfHistory returns a log with the claims of a history, which was read from a log. short is as for Of.
func OfHistory(h *history.History, short bool) (*Log, error) {
	l := &Log{claims: map[int64]history.Claim{}, short: short}
	for i := range h.Txns {
		if c, id := h.Claim(i), h.DBTxn(i); id != 0 && !c.Empty() {
			if short {
				id = int64(uint32(id))
			}
			if err := l.add(id, c, h.Positions); err != nil {
				return nil, err
			}
		}
	}
	if len(l.claims) == 0 {
		return nil, errors.New("it has no commit of a transaction with a number")
	}
	return l, nil
}

// maxLine bounds a line of a log, in bytes.
const maxLine = 1 << 20

// Read reads a log. It has one of two forms. Lines of JSON name a transaction by its number, with its positions, which
// have the meaning of history.Claim:
//
//	{"dbtxn":751,"commit":120,"snapshot":118}
//
// Or each line is a commit that PostgreSQL's test_decoding wrote, as psql -At prints it: lsn|xid|COMMIT xid. Lines of
// BEGIN are skipped. Positions are LSNs then. Other lines, and a transaction that is there twice, are errors.
func Read(r io.Reader) (*Log, error) {
	l := &Log{claims: map[int64]history.Claim{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		read := l.decoded
		if line[0] == '{' {
			read = l.json
		}
		if err := read(line); err != nil {
			return nil, errors.Wrapf(err, "line %d", n)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, errors.WithStack(err)
	}
	if len(l.claims) == 0 {
		return nil, errors.New("it has no commit")
	}
	return l, nil
}

const (
	ownPositions = "positions of a log"
	lsns         = "commit LSNs"
)

func (l *Log) json(line []byte) error {
	var in struct {
		DBTxn, Commit, Snapshot *int64
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	var wrong *json.UnmarshalTypeError
	switch err := d.Decode(&in); {
	case errors.As(err, &wrong):
		return errors.Errorf("%q is a %s; it must be an integer of 64 bits", strings.ToLower(wrong.Field), wrong.Value)
	case err != nil:
		return err
	}
	c := history.Claim{}
	if in.Commit != nil {
		if c.Commit = *in.Commit; c.Commit < 1 {
			return errors.Errorf("the commit position is %d; it must be at least 1", c.Commit)
		}
	}
	if in.Snapshot != nil {
		if c.Snapshot, c.Snapped = *in.Snapshot, true; c.Snapshot < 0 {
			return errors.Errorf("the snapshot position is %d; it must not be negative", c.Snapshot)
		}
	}
	if in.DBTxn == nil || *in.DBTxn <= 0 || c.Empty() {
		return errors.New(`it needs "dbtxn", the database's number of the transaction, and "commit" or "snapshot"`)
	}
	return l.add(*in.DBTxn, c, ownPositions)
}

func (l *Log) decoded(line []byte) error {
	lsn, rest, _ := strings.Cut(string(line), "|")
	xid, data, ok := strings.Cut(rest, "|")
	position, err := parseLSN(lsn)
	if !ok || err != nil {
		return errors.Errorf("%.60q is neither JSON nor lsn|xid|data of PostgreSQL's test_decoding, as psql -At prints it", line)
	}
	what, named, _ := strings.Cut(data, " ")
	named, _, _ = strings.Cut(named, " ") // the time may follow
	switch {
	case what == "BEGIN":
		return nil
	case what != "COMMIT" || named != xid:
		return errors.Errorf("%.60q is no commit; let the database select them: WHERE data LIKE 'COMMIT%%'", data)
	}
	id, err := strconv.ParseUint(xid, 10, 32)
	if err != nil {
		return errors.Errorf("%q is no transaction id", xid)
	}
	l.short = true
	return l.add(int64(id), history.Claim{Commit: position}, lsns)
}

// parseLSN reads a log sequence number, two hexadecimal numbers of 32 bits.
func parseLSN(s string) (int64, error) {
	high, low, _ := strings.Cut(s, "/")
	h, err := strconv.ParseUint(high, 16, 31)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(low, 16, 32)
	return int64(h<<32 | n), err
}

func (l *Log) add(id int64, c history.Claim, positions string) error {
	if l.Positions != "" && l.Positions != positions {
		return errors.New("the log has lines of both forms")
	}
	l.Positions = positions
	if _, twice := l.claims[id]; twice {
		return errors.Errorf("transaction %d is in the log twice", id)
	}
	l.claims[id] = c
	return nil
}

// Joined is a source whose transactions have the positions of a log.
type Joined struct {
	history.Source
	log *Log
	hdr history.Header
	// used has the transactions of the log that were found, with the numbers of those of the history.
	used  map[int64]int64
	tally Tally
}

// Tally counts what was joined. Found and Missing are the committed transactions that wrote, with and without a position.
// Settled are those of unknown outcome with one. Aborted are commits in the log although the client saw them abort, and
// FirstAborted is the number of one.
type Tally struct {
	Found, Missing, Settled, Aborted int
	FirstAborted                     int64
}

// Add adds the counts of another file.
func (t *Tally) Add(o Tally) {
	if t.Aborted == 0 {
		t.FirstAborted = o.FirstAborted
	}
	t.Found, t.Missing, t.Settled, t.Aborted = t.Found+o.Found, t.Missing+o.Missing, t.Settled+o.Settled, t.Aborted+o.Aborted
}

// Words say how many transactions have a position.
func (t *Tally) Words() []string {
	text := fmt.Sprintf("the log has the positions of %d of %d committed transactions that wrote", t.Found, t.Found+t.Missing)
	if t.Settled > 0 {
		text += fmt.Sprintf(", and of %d of unknown outcome", t.Settled)
	}
	words := []string{text}
	if t.Aborted > 0 {
		words = append(words, history.Many(t.Aborted, "transaction is a commit in the log although the client was told that it aborted", "transactions are commits in the log although the client was told that they aborted")+fmt.Sprintf(", transaction %d for one", t.FirstAborted))
	}
	return words
}

// New returns src with the positions of a log. It is an error if src has positions already.
func New(src history.Source, l *Log) (*Joined, error) {
	if p := src.Header().Positions; p != "" {
		return nil, errors.Errorf("the history has positions already (%s)", p)
	}
	j := &Joined{Source: src, log: l, hdr: *src.Header(), used: map[int64]int64{}}
	j.hdr.Positions = l.Positions
	return j, nil
}

// Header returns the header with what the positions are.
func (j *Joined) Header() *history.Header {
	j.hdr.Ended = j.Source.Header().Ended // which it knows at the end
	return &j.hdr
}

// Next reads the next transaction. A transaction that aborted gets no position.
func (j *Joined) Next(rec *history.Record) error {
	if err := j.Source.Next(rec); err != nil {
		return err
	}
	wrote := false
	for _, op := range rec.Ops {
		wrote = wrote || op.Kind == history.Write
	}
	id := rec.DBTxn
	if j.log.short {
		id = int64(uint32(id))
	}
	c, known := j.log.claims[id]
	if rec.DBTxn == 0 || !known {
		if wrote && rec.Status == history.Committed {
			j.tally.Missing++
		}
		return nil
	}
	if other, twice := j.used[id]; twice {
		return j.At(errors.Errorf("transactions %d and %d are both number %d of the database", other, rec.ID, id))
	}
	j.used[id] = rec.ID
	switch rec.Status {
	case history.Aborted:
		if c.Commit != 0 {
			if j.tally.Aborted++; j.tally.Aborted == 1 {
				j.tally.FirstAborted = rec.ID
			}
		}
		return nil
	case history.Unknown:
		j.tally.Settled++
	default:
		if wrote && c.Commit != 0 {
			j.tally.Found++
		} else if wrote {
			j.tally.Missing++
		}
	}
	c.Visible = rec.Claim.Visible
	rec.Claim = c
	return nil
}

// Notes are those of the source and, after the last transaction, what was joined.
func (j *Joined) Notes() []string {
	old := j.Source.Notes()
	return append(old[:len(old):len(old)], j.tally.Words()...)
}

// Tally counts, after the last transaction, what was joined.
func (j *Joined) Tally() Tally { return j.tally }
