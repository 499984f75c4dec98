package mariadb

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// Where TiDB places transactions. Each one has a start timestamp, which it gets when it begins, and one that changed
// something has a commit timestamp. Both come from one clock. A plain SELECT at repeatable read sees exactly what has a
// commit timestamp up to the start timestamp. In pessimistic transactions, statements that write or lock see the newest
// rows instead, and at read committed each statement has a timestamp of its own.
//
// A statement that asks costs the server as much as one that reads a row. So most transactions ask once: one that only
// reads for its start before it commits, one that changes something for both afterwards.
const (
	askStart = "SELECT @@tidb_current_ts"
	// askCommit asks for the last transaction of the session that tried to commit something, as JSON.
	askCommit = "SELECT @@tidb_last_txn_info"
)

// inquiry is what a transaction tells about its place.
type inquiry struct {
	s *session
	// current: a statement was sent that writes or locks. changed: one has found what it writes.
	current, changed bool
	// started is the start timestamp of a transaction that has changed nothing, 0 if it is not known.
	started int64
	// committed is the sequence number of the commit in MariaDB's binary log, or of Galera's write set, 0 if there is none (gtid.go).
	committed int64
}

// writing notes that a statement writes or locks.
func (x tx) writing() {
	if x.place != nil {
		x.place.current = true
	}
}

// wrote notes whether a statement found what it writes.
func (x tx) wrote(found bool) {
	if x.place != nil && found {
		x.place.changed = true
	}
}

// tells finds out whether the server says where it places transactions.
func (d *db) tells(ctx context.Context, c *sql.Conn) error {
	if d.name == autoRetry { // a transaction that is executed again has another start timestamp
		return nil
	}
	if d.sign == "" {
		return d.logs(ctx, c)
	}
	var text string
	for _, ask := range []string{askStart, askCommit} {
		if err := c.QueryRowContext(ctx, ask).Scan(&text); isNumber(err, unknownVariable) {
			return nil
		} else if err != nil {
			return errors.Wrap(err, ask)
		}
	}
	d.positions = true
	return nil
}

// Positions implements drivers.Positioner.
func (d *db) Positions() string {
	switch {
	case d.gtids == lastLogged:
		return "numbers in the binary log"
	case d.gtids == lastWriteSet:
		return "numbers of write sets"
	case !d.positions:
		return ""
	}
	return "commit timestamps"
}

// noteStart is called before the commit. It asks where the transaction sees one state and has changed nothing.
func (x tx) noteStart(ctx context.Context) {
	if at := x.place; at != nil && !at.changed && (at.s.db.name == optimistic || at.s.db.name == pessimistic && !at.current) {
		// Without an answer nothing is told, and the commit shows whether the connection still works.
		_ = x.c.QueryRowContext(ctx, askStart).Scan(&at.started)
	}
}

// Position implements drivers.Positioned.
func (x tx) Position() drivers.Position {
	at := x.place
	switch {
	case at == nil:
		return drivers.Position{}
	case at.s.db.gtids != "":
		return drivers.Position{Commit: at.committed}
	case !at.current:
		return drivers.Position{Snapshot: at.started, Snapped: at.started > 0}
	}
	started, committed := at.s.lastCommit()
	if !at.changed {
		// One that has only locked may have a commit timestamp, too, but nothing to place.
		started, committed = at.started, 0
	}
	p := drivers.Position{Commit: committed}
	if at.s.db.name == optimistic && started > 0 {
		p.Snapshot, p.Snapped = started, true
	}
	return p
}

// lastCommit returns the timestamps of the transaction that has just committed, or 0 if it is not known. Nor has an
// optimistic transaction any that has only written values that were there already: TiDB leaves them out.
//
// The server tells of the last transaction that had something to commit. That is the one that has just committed if it
// is not the one that was told the last time, since this question follows every commit that succeeds, and what fails is told
// as an error.
func (s *session) lastCommit() (started, committed int64) {
	ctx, cancel := context.WithTimeout(context.Background(), s.db.callTimeout)
	defer cancel()
	var text string
	if err := s.tx.c.QueryRowContext(ctx, askCommit).Scan(&text); err != nil {
		s.unsure = true // a question that is not answered in time breaks the connection, which the next statement notices
		return 0, 0
	}
	again := text == s.told || s.unsure
	s.told, s.unsure = text, false
	if again {
		return 0, 0
	}
	return readCommit(text)
}

// readCommit reads the timestamps in an answer to askCommit. They are 0 if the commit failed.
func readCommit(text string) (started, committed int64) {
	var last struct {
		Start  int64  `json:"start_ts"`
		Commit int64  `json:"commit_ts"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal([]byte(text), &last); err != nil || last.Error != "" || last.Start <= 0 || last.Commit <= last.Start {
		return 0, 0
	}
	return last.Start, last.Commit
}
