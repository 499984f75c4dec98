// Package polygraph checks any history: any number of reads and writes in a transaction, blind
// writes, values written more than once, transactions of unknown outcome. It decides whether the
// hyper-polygraph of the history (VeriStrong paper, Definition 3.1) has an acyclic compatible
// graph. It does so for serializability and snapshot isolation, each with session order, without
// session order, and with real time, and for prefix consistency. All levels use the same three steps:
//
//   - Saturation adds to the known graph the edges that every execution must have.
//   - The schedule guesses an execution that keeps all known edges. If all its reads are right,
//     the history is satisfied. This is the usual case. If recorded times give nearly the whole
//     order, or if saturation would cost more than a guess, a schedule is also tried before
//     saturation.
//   - Otherwise the search changes the order until every read is right, or proves that no such
//     order exists. It is a CDCL(T) solver: unit propagation and clause learning over variables
//     "a before b", with acyclicity as the theory. It adds clauses on demand, only for what the
//     current order gets wrong. A search that is hard gets all clauses, if they are few.
//
// A version is identified by its value. Each read has a class of values: the value that it
// returned or, if it returned none, all values but some. A read is right if the latest write
// before it has a value of its class, whichever transaction wrote it.
//
// # Files, in reading order
//
// What is judged:
//
//	polygraph.go   Engine.Judge, and the stages of one check
//	config.go      which parts of the engine a check uses
//	prepare.go     model, known graph and saturator of a history
//	model.go       the history in dense numbers: transactions, writes, reads, classes
//	versions.go    final writes by key and value
//	assumed.go     the order of versions that the database claims, if it is assumed
//	visible.go     the snapshots that it claims, if they are assumed
//	sets.go        reads that returned no value
//	graph.go       the known graph; real time through time points
//
// What is inferred:
//
//	grounds.go     the rules that add edges, and what each edge rests on
//	saturate.go    the passes of saturation, and when they stop
//	rules.go       the rules about reads with a known source, and about writers
//	open.go        the rules about reads with several candidates
//	contested.go   the keys on which reachability can imply edges
//	worker.go      goroutines that share the keys
//	local.go       the accesses to one key, gathered for cache locality
//	entries.go     the rows of the reachability relation for these accesses
//	reach.go       the transitive closure, and what happens when its backend fails
//	known.go, knowngraph.go   the known graph for package accel and for benchmarks
//
// What is guessed:
//
//	schedule.go    an order in which a transaction waits until its reads are right
//	waiting.go     the heap of the schedule
//	first.go       the guess before saturation; executions and their witnesses
//	realtime.go    the try with real time if the search is hard
//
// What is searched:
//
//	search.go      the theory: what the current order gets wrong becomes clauses
//	sources.go     variables for the candidates of a read, the nearest first
//	decide.go      decisions, only on clauses that the order violates
//	order.go, reorder.go   the dynamic topological order
//	sequence.go    positions in that order
//	accesses.go    the accesses to each key in that order
//	eager.go, constraints.go, combine.go, cycles.go   the pipelines of the papers
//
// What is proved:
//
//	evidence.go    what a violation rests on
//	core.go, corecycle.go   the counterexample, and its cycle
//	refutation.go  the proof that is replayed by package certify
//	unfinished.go  what to say when time or memory ran out
//
// # Letters
//
//	h  history            t, u  transactions    w  write        k  key
//	m  model              v     node            r  read         c  class, or chain
//	g  known graph        e     edge            o  open read    i, j, n  indices
//	s  saturator          x     search          l  literal      p  prover
//
// In methods of worker, w is the worker; in those of schedule, s is the schedule; in those of
// reach, r is the reach.
package polygraph
