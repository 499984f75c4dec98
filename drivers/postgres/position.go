package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/isohound/isohound/drivers"
)

// Where CockroachDB places transactions. Each one that committed has a timestamp, that of a hybrid logical clock: at serializable all
// that it read and wrote is as of that moment, so the timestamps are a serial order, in which a transaction that wrote comes before one
// that only read at the same timestamp. At read committed they are the order of versions. SHOW COMMIT TIMESTAMP (since 22.2) tells that of
// the session's last transaction, also after its COMMIT, and leaves transactions as they are.
const askTimestamp = "SHOW COMMIT TIMESTAMP"

// tells finds out whether the server says where it places transactions.
func (d *db) tells(ctx context.Context, c *pgx.Conn) {
	var text string
	// It tells nothing before the session has had a transaction.
	err := c.QueryRow(ctx, "SELECT 1::text").Scan(&text)
	if err == nil {
		err = c.QueryRow(ctx, askTimestamp, pgx.QueryExecModeSimpleProtocol).Scan(&text)
	}
	if d.placed = err == nil && hlc(text) > 0; !d.placed {
		d.untold = "it does not answer " + askTimestamp + " as CockroachDB does since version 22.2"
	}
}

// Positions implements drivers.Positioner.
func (d *db) Positions() string {
	if d.placed {
		return "commit timestamps"
	}
	return ""
}

// Untold implements drivers.Untold.
func (d *db) Untold() string { return d.untold }

// Position implements drivers.Positioned.
func (x *tx) Position() drivers.Position {
	if !x.db.placed {
		return drivers.Position{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), x.db.callTimeout)
	defer cancel()
	var text string
	// A question that is not answered in time breaks the connection, which the next statement notices.
	if err := x.c.QueryRow(ctx, askTimestamp, pgx.QueryExecModeSimpleProtocol).Scan(&text); err != nil {
		return drivers.Position{}
	}
	return drivers.Position{Commit: hlc(text)}
}

// writtenAt is CockroachDB's hidden column with the timestamp of a row, which is that of the commit that wrote it.
const writtenAt = "kv.crdb_internal_mvcc_timestamp::text"

// saw notes when the row that a read returned was written. Rows that the transaction wrote itself have a preliminary timestamp.
func (x *tx) saw(key, written string) {
	if !x.db.placed {
		return
	}
	if x.versions == nil {
		x.versions = map[string]int64{}
	}
	if x.versions[key] = hlc(written); x.wrote[key] {
		x.versions[key] = 0
	}
}

func (x *tx) noteWrite(key string) {
	if !x.db.placed {
		return
	}
	if x.wrote == nil {
		x.wrote = map[string]bool{}
	}
	x.wrote[key] = true
}

// Version implements drivers.Versioned.
func (x *tx) Version(key string) (commit int64, told bool) {
	commit = x.versions[key]
	return commit, commit != 0
}

// The position of a timestamp has the nanoseconds since hlcEpoch and, in the lower bits, the logical part, which counts moments in one
// nanosecond of the clock. That lasts until 2035.
var hlcEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

const (
	logicalBits   = 5
	logicalDigits = 10
)

// hlc reads a timestamp such as 1764174658123456789.0000000003. It returns 0 if it is none, or cannot be a position.
func hlc(text string) int64 {
	wall, logical, _ := strings.Cut(text, ".")
	if logical += strings.Repeat("0", max(0, logicalDigits-len(logical))); len(logical) > logicalDigits {
		return 0
	}
	w, err := strconv.ParseInt(wall, 10, 64)
	l, lerr := strconv.ParseInt(logical, 10, 64)
	since := w - hlcEpoch
	if err != nil || lerr != nil || l < 0 || l >= 1<<logicalBits || since <= 0 || since >= 1<<(63-logicalBits) {
		return 0
	}
	return since<<logicalBits | l
}

var _ drivers.Untold = (*db)(nil)
