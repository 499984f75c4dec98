// Package certify verifies the proofs of checkers. It replays a witness by the definition of the
// level. It derives every step of a counterexample from the history again. It shares no code with
// the checkers, so a wrong proof passes only if two different programs make the same mistake.
//
// Its files, in reading order:
//
//	certify.go        Result: which proof belongs to which verdict
//	witness.go        satisfied: a store that executes the transactions
//	commitorder.go    satisfied: an order of commits, at weak levels
//	commitrules.go    what each weak level demands of it
//	assumed.go        the order of versions that the database claims, if it is assumed
//	clocks.go         level cc: the causal past of each transaction
//	statements.go     scans of an order of commits
//	tables.go         the rows of the tables with scans, their versions and their current state
//	column.go         the values of a column
//	order.go          indexes of the current rows
//	plan.go           what all scans of one statement have in common
//	scan.go           one scan: its conditions, what it returned, its page
//	candidates.go     the rows that may fulfil the conditions of a scan
//	scans.go          satisfied: every judged scan fits the witness
//	implied.go        violated: what was added to the history for scans follows from them
//	judge.go          Judge: the levels by the trial of every execution
//	commits.go        the same for weak levels
//	anomaly.go        violated: cycles, divergences and anomalies of single reads
//	seen.go           cycles at weak levels: why a transaction had to see another one
//	class.go          edges of reads that only say which versions they did not see
//	facts.go          who wrote what, and which transactions must have committed
//	rejudge.go        the part of a history around such an anomaly, by the trial of every execution
//	twice.go          statements that return or change one row twice
//	contradiction.go  closed sub-histories, by the trial of every execution
//	choices.go        what scans leave open: that it follows from them, and that no way to choose has an execution
//	refutation.go     refutations of sub-histories that are too large for that, step by step
//	propagate.go      unit propagation over the clauses of a refutation
//	stop.go           checks of the context, after every so many steps
//
// Letters: h is the history, f are the facts about it, a is an anomaly, e an edge,
// t a transaction and i its index in the history, op an operation and n its index in
// the transaction, k a key, c a cell (a value of a key), j the judge, p the
// refutation that is replayed.
package certify
