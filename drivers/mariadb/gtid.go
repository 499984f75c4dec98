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
// logged transaction. The question is sent together with COMMIT: it needs no round trip of its own.
const commitAndAsk = "COMMIT; SELECT @@last_gtid"

// logs finds out whether the server tells the ids of commits.
func (d *db) logs(ctx context.Context, c *sql.Conn) error {
	var log bool
	var last sql.NullString
	switch err := c.QueryRowContext(ctx, "SELECT @@log_bin, @@last_gtid").Scan(&log, &last); {
	case isNumber(err, unknownVariable):
		d.untold = "this server does not tell the ids of commits"
		return nil
	case err != nil:
		return err
	case !log:
		d.untold = "log_bin is OFF; with log_bin in its configuration, and a restart, the server tells the order of its commits"
		return nil
	}
	galera, err := isOn(ctx, c, "wsrep_on")
	if galera {
		d.untold = "each node of Galera has a binary log of its own"
	}
	d.positions, d.gtids = !galera, !galera
	return err
}

// Untold implements drivers.Untold.
func (d *db) Untold() string { return d.untold }

// commitLogged commits a transaction that may have changed something. An error after the commit looks like one of the
// commit, whose outcome is then unknown.
func (x tx) commitLogged(ctx context.Context) error {
	at := x.place
	var gtid sql.NullString
	if err := x.c.QueryRowContext(ctx, commitAndAsk).Scan(&gtid); err != nil {
		return commitError(err)
	}
	if gtid.String != at.s.told { // one that changed nothing is not logged, and the id is still that of the one before
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
