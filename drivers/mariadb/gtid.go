package mariadb

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/isohound/isohound/drivers"
)

// Where MariaDB places commits. With its binary log, each transaction that changed something gets a global transaction id,
// domain-server-sequence. The sequence numbers of a server are the order of its binary log, and InnoDB commits in that
// order (MariaDB manual, Global Transaction ID; Group Commit for the Binary Log). A session tells the id of its last
// logged transaction.
//
// The nodes of Galera agree on an order of all write sets. With wsrep_gtid_mode=ON a write set has one id on all nodes, whose
// sequence numbers are that order. A session tells the id of its last write set, with or without a binary log.
//
// The question is sent together with COMMIT: it needs no round trip of its own. Galera may tell an error of the commit only
// after the answer to the question, so that answer alone is no sign of a commit.
const (
	lastLogged   = "@@last_gtid"
	lastWriteSet = "WSREP_LAST_WRITTEN_GTID()"
)

// logs finds out whether the server tells the ids of commits.
func (d *db) logs(ctx context.Context, c *sql.Conn) error {
	galera, err := isOn(ctx, c, "wsrep_on")
	if err != nil {
		return err
	}
	last, setting, want := lastLogged, "log_bin", "log_bin"
	if galera {
		last, setting, want = lastWriteSet, "wsrep_gtid_mode", "wsrep_gtid_mode=ON on all nodes"
	}
	var on bool
	var id sql.NullString
	switch err := c.QueryRowContext(ctx, "SELECT @@"+setting+", "+last).Scan(&on, &id); {
	case isNumber(err, unknownVariable), isNumber(err, unknownFunction):
		d.untold = "this server does not tell the ids of commits"
	case err != nil:
		return err
	case !on:
		d.untold = setting + " is OFF; with " + want + " in its configuration, and a restart, the server tells the order of its commits"
	default:
		d.positions, d.gtids = true, last
	}
	return nil
}

// Untold implements drivers.Untold.
func (d *db) Untold() string { return d.untold }

// commitLogged commits a transaction that may have changed something. An error after the commit looks like one of the
// commit, whose outcome is then unknown.
func (x tx) commitLogged(ctx context.Context) error {
	at := x.place
	var gtid sql.NullString
	if err := x.c.QueryRowContext(ctx, "COMMIT; SELECT "+at.s.db.gtids).Scan(&gtid); err != nil {
		return commitError(err)
	}
	if gtid.String != at.s.told { // one that changed nothing has none, and the id is still that of the one before
		at.s.told = gtid.String
		at.committed = sequence(gtid.String)
	}
	return nil
}

// sequence returns the sequence number of a global transaction id, or 0 if it is none.
func sequence(gtid string) int64 {
	parts := strings.Split(gtid, "-")
	n, err := strconv.ParseInt(parts[len(parts)-1], 10, 64)
	if len(parts) != 3 || err != nil || n < 0 {
		return 0
	}
	return n
}

var _ drivers.Untold = (*db)(nil)
