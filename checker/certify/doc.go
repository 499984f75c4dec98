// Package certify verifies the proofs that checkers give: it replays a witness
// against the meaning of the level, and derives every step of a counterexample
// from the history again. It shares no code with the checkers, so that a
// mistake would have to be made twice in different ways.
//
// Its files, in reading order:
//
//	certify.go        Result: which proof belongs to which verdict
//	witness.go        satisfied: a store that executes the transactions
//	judge.go          Judge: the levels by the trial of every execution
//	anomaly.go        violated: cycles, divergences and anomalies of single reads
//	facts.go          who wrote what, and which transactions must have committed
//	rejudge.go        the part of a history around such an anomaly, judged again
//	contradiction.go  closed sub-histories, judged again
//	refutation.go     where these are too large: a refutation, step by step
//	propagate.go      unit propagation over the clauses of a refutation
//	stop.go           contexts, asked now and then
//
// Letters: h is the history, f are the facts about it, a is an anomaly, e an edge,
// t a transaction and i its index in the history, op an operation and n its index in
// the transaction, k a key, c a cell (a value of a key), j the judge, p the
// refutation that is replayed.
package certify
