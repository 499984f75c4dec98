// Package checker judges histories. Check is the entry point: it asks the engines, enforces the
// limits of time and memory, and verifies the proofs.
//
// Its files, in reading order:
//
//	check.go     Check: one history, one level
//	engines.go   the list of engines
//	levels.go    several levels of one history, with verdicts that do not contradict each other
//	standing.go  which levels a history violates and satisfies
//	leftout.go   histories with operations that their reader did not understand
//	vacuity.go   runs that tested almost nothing
//
// Its packages, each of which uses only those above it:
//
//	level           the levels, and which one implies which
//	verdict         the result of a check: verdict, witness, anomalies, refutation
//	budget          limits of memory
//	certify         verifies proofs; shares nothing with the engines but level and verdict
//	engine          what an engine is, and what it may refuse
//	single          the anomalies of single reads
//	explain         names of anomalies, sentences, and pictures
//	shrink          closed sub-histories, and how to make them minimal
//	linear          the engine for mini-transactions, in linear time
//	radix           sorts transactions by time, for linear and polygraph, and by position, for replay
//	replay          the engine for claimed orders: it executes them
//	sat             the CDCL(T) solver of polygraph
//	polygraph       the engine for every history
//	baseline        an engine on an off-the-shelf SAT solver, for comparison
//	checker         this package
//	counterexample  counterexamples of any engine, made minimal, and the other levels
//
// A new engine is a package with a type that implements engine.Engine, and a row in engines.go.
// Proofs and explanations have types of package verdict. So certify, explain and counterexample do
// not depend on the engine.
package checker
