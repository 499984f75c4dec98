// Package polygraph checks any history: any number of reads and writes in a
// transaction, blind writes, values written more than once, transactions of
// unknown outcome. It decides whether the hyper-polygraph of the history
// (VeriStrong paper, Definition 3.1) has an acyclic compatible graph, at
// serializability and snapshot isolation, with session order, without, and
// with real time, by one construction:
//
//   - Saturation adds to the known graph the edges that every execution must have.
//   - The schedule guesses an execution that keeps them. If it reads right, the
//     history is satisfied. That is the usual case. Where recorded times say nearly
//     everything, or saturation would cost more, this comes first.
//   - Else the search changes the order until every read is right, or shows that no
//     order is: unit propagation and clause learning over "a before b", with
//     acyclicity as the theory, and clauses only for what an order got wrong.
//
// Versions matter by their values. A read has a class of values: the one that it
// returned, or, where it returned none, all but some. It is right when the latest
// write before it has a value of its class, whoever wrote it.
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
//	sets.go        reads that returned no value
//	graph.go       the known graph; real time through time points
//
// What is inferred:
//
//	grounds.go     the rules that add edges, and what an edge by each rests on
//	saturate.go    pass after pass, as long as that is worth it
//	rules.go       the rules about reads with a known source, and about writers
//	open.go        the rules about reads with several candidates
//	contested.go   the keys about which something may follow
//	worker.go      keys shared among goroutines
//	local.go       the accesses of one key, brought together
//	entries.go     their entries of the reachability relation
//	reach.go       the closure behind all that, and what happens when it fails
//	known.go, knowngraph.go   the known graph for package accel, and for benchmarks
//
// What is guessed:
//
//	schedule.go    an order that reads right, if waiting for values leads to one
//	waiting.go     its heap
//	first.go       the guess before saturation; executions and their proof
//	realtime.go    the level with real time, where the search is hard
//
// What is searched:
//
//	search.go      the theory: what an order gets wrong becomes clauses
//	sources.go     candidates of a read get variables, the nearest first
//	decide.go      decisions: only what the order gets wrong
//	order.go, reorder.go   the dynamic topological order
//	sequence.go    places in that order
//	accesses.go    the accesses to a key in that order
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
//	g  known graph        e     edge            o  open read    i, j, n  places
//	s  saturator          x     search          l  literal      p  prover
//
// In worker, w is the worker, in schedule, s is the schedule, and in reach, r is reach.
package polygraph
