package mongo

import "github.com/isohound/isohound/drivers"

// Where a replica set places commits. A transaction that changed something is in the oplog of the primary, and becomes visible at the
// timestamp of its last entry there. The answer to a command that wrote has this timestamp as operationTime (manual, "Causal
// Consistency and Read and Write Concerns"; computeOperationTime in the server's source). So nothing is asked. After a repeated commit
// the answer has a later time. On a sharded cluster it is that of the router, which may be later, too, so nothing is told there. The
// snapshot of a transaction is not told anywhere.

// Positions implements drivers.Positioner.
func (d *db) Positions() string {
	if d.asked && d.Untold() == "" {
		return "commit times in the oplog"
	}
	return ""
}

// Untold implements drivers.Untold.
func (d *db) Untold() string {
	switch {
	case d.lack != "":
		return d.lack
	case !d.member:
		return "a sharded cluster does not tell at which time a transaction committed; a replica set does"
	}
	return ""
}

// wrote notes whether a statement has changed something.
func (x *tx) wrote(changed bool) bool {
	x.changed = x.changed || changed
	return changed
}

// place keeps the position of a commit that was sent once and has succeeded.
func (x *tx) place() {
	if at := x.s.OperationTime(); x.db.Positions() != "" && x.changed && at != nil {
		x.committed = int64(at.T)<<32 | int64(at.I)
	}
}

// Position implements drivers.Positioned.
func (x *tx) Position() drivers.Position { return drivers.Position{Commit: x.committed} }

var _ drivers.Untold = (*db)(nil)
