// Package checker judges histories. Check is the front door: it asks the engines,
// keeps them within limits of time and memory, and has their proofs verified.
//
// Its files, in reading order:
//
//	check.go     Check: one history, one level
//	engines.go   the list of engines
//	levels.go    several levels of one history, none of which contradicts another
//	standing.go  which levels a history violates and satisfies
//	leftout.go   histories that were not read whole
//	vacuity.go   runs that tested next to nothing
//
// Its packages, each of which uses only those above it:
//
//	level           the levels, and which one implies which
//	verdict         the result of a check: verdict, witness, anomalies, refutation
//	budget          limits of memory
//	certify         verifies proofs; shares nothing with the engines but level and verdict
//	engine          what an engine is, and what it may refuse
//	single          the anomalies that one read shows by itself
//	explain         names of anomalies, sentences, and pictures
//	shrink          closed sub-histories, and how to make them smaller
//	linear          the engine for mini-transactions, in linear time
//	radix           sorts transactions by time, for linear and polygraph
//	sat             clause learning with a theory, for polygraph
//	polygraph       the engine for every history
//	baseline        an engine on a SAT solver off the shelf, for comparison
//	checker         this package
//	counterexample  counterexamples of any engine, made minimal, and the other levels
//
// A new engine is a package with a type that implements engine.Engine, and a row in
// engines.go. What explains and proves its verdicts is in package verdict, so that
// certify, explain and counterexample need not know who found them.
package checker
