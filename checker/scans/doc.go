// Package scans judges what a statement with a condition did not find. It turns that into reads of
// single items, so that every engine that judges these reads judges predicates, with the same
// proofs and counterexamples.
//
// A statement with a condition sees one version of every row of its table: the transaction's own
// latest write of the row, or else the version that the transaction sees. The condition is true
// for the rows that the statement returned or changed. For every other row it is false, or the row
// does not exist (Vbox paper, section 4; Emme paper, Algorithm 3). So a row that was not returned
// is a read of a class of values: those for which the condition is false, and absence. The
// versions of a row are known. So this class read is the same as one operation for each version
// for which the condition is true: the transaction did not see this version (history.ReadNot).
// If only one version is left, or only absence, it is a read of that. Rows that a statement changed
// without reading them are class reads, too: of the values for which the condition is true.
//
// Only versions count that another transaction may see. Rows of which no version fulfils the
// condition need no operation.
//
// A scan may miss every row that is ever inserted. So in a large history these operations are added
// on demand: Rest.Settle checks the history, replays the execution that the check found, and adds
// operations where a scan should have found a row, until no scan should have.
//
// Before all this, Execute guesses an execution that agrees with all reads and scans.
//
// Files in reading order: scans.go (which predicates), scan.go (the operations of one), count.go,
// page.go (order and limit), faults.go (results that contradict their statement), column.go and
// candidates.go (the rows that fulfil conditions), index.go (all versions of the rows), rest.go, repair.go and
// replay.go (operations on demand), choices.go, given.go, nearby.go, pick.go and refute.go (scans that leave a choice),
// execute.go, schedule.go, disturbed.go, pool.go, past.go, mend.go, store.go and query.go (the guess), rows.go and tree.go (sets).
package scans
