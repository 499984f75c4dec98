// Package fences judges a history with fences at serializability in rounds, as the Cobra paper does
// (sections 4.2 and 4.3, appendix B). After each round it removes transactions that no later one can
// depend on. Memory is that of what is kept.
//
// A fence is a transaction that reads and writes the fence key. Each session makes one from time to time. Each
// fence reads what the one before wrote, so fences are a chain by known edges, and the epoch of a fence is its
// place in it. The epoch of any transaction here is that of the last fence that reaches it by session order and
// by reads, and epoch_agree is the least epoch of the latest transactions of all sessions. So the fence W of
// epoch_agree reaches every later transaction by known edges.
//
// # The rule of the paper
//
// A transaction is frozen if its epoch is at most epoch_agree-2 and all its known predecessors have such
// epochs. It is removed if it is frozen, only reads or is overwritten, and so is everything that unsolved
// constraints connect with it in a cycle. That is not sound (scenarios/figures/cobra-theorem52): the paths
// through a removed transaction are lost, and with them violations. The test has that rule.
//
// # The rule here
//
// F are the transactions that are kept, with the known edges K, and D are those that reach W, and W. G* is K
// with both edges between any two writers of a key that K does not order, and from each reader of such a writer
// to another one. K is saturated: if A, whose value r read, reaches the writer B of the same key, then r
// reaches B; if B reaches r, then B reaches A.
//
// A strongly connected component C of G* is removed after a satisfied round if
//
//   - all its members are in D, and
//   - each value that a member wrote is known to be overwritten in D: the member reaches another writer of
//     the key that is in D.
//
// Every kept transaction that has an edge into C then gets an edge to every one that has an edge from C. A read of
// a removed value is left out; the edges to the writers that overwrote it are in K, and stay.
//
// # Proof
//
// Let Z be any later transactions, each reached by W. F, with its required edges, and Z have an execution
// exactly if F without C, with the new edges, and Z have one, and no transaction of Z reads a value that C wrote.
//
// Only if. A read in Z of a value that A in C wrote: A reaches a writer in D, which reaches W and so the reader;
// there is no execution. Now let E be the graph of an execution: K, and the choices that it makes for
// constraints. Its edges within F are in G*. No path of E leaves C and comes back: within F, its vertices would be in
// C; and if it meets z of Z, then C reaches W, W reaches z, and z reaches C, a cycle. So C can be contracted to
// one vertex without a cycle, and some execution has the members of C next to each other. In this one the new
// edges hold. They need not hold in every execution.
//
// If. Take an execution of the rest, and of the round's execution the order of C. Insert C in this order, after
// all that have edges into C and before all that have edges from it; the new edges make this possible. Take a
// read of A's value by r, and another writer B of the key, one of the three in C.
//
//   - All are in F, and K orders A and B: saturation has solved the constraint, by edges of K. They hold.
//   - All are in F, and K does not order A and B: all three are in one component of G*, so in C, whose
//     order is that of an execution.
//   - r is in Z. Then A is not in C, so B is, and K orders A and B, or A would be in C. If B reaches A, the
//     constraint is solved. If A reaches B, then A reaches a kept writer in D that overwrote B's value, which
//     reaches W and r: the rest has no execution.
//   - B is in Z, and r is in F. If r is in C, r reaches W, and so B. If A is in C, A reaches a writer in D; r is that writer, or
//     reaches it; so r reaches W, and B.
//
// Edges of W to later transactions are taken from session order and reads alone, and are verified for each
// transaction when it is taken in. If one fails (a session that was thought to be over goes on without a fence, or a new
// one begins without), the history has to be judged as a whole. The same holds for values that repeat.
//
// # Reads without a source
//
// A transaction waits until everything that it read from has been taken in. One that read a removed value waits for
// ever, like one that read a value that nobody wrote. If something waits for long, or at the end, the history so far is judged as a
// whole. So no tombstones are necessary. If a value was removed and is written again, the readers of the first are in
// D and come before the second writer, and later ones cannot read the first: repeated values matter only among those
// that are kept.
//
// # Unknown outcomes
//
// A transaction of unknown outcome counts once somebody read from it. Until then no edge of K leaves it, and it may
// come before any other. So it is not of Z. It is in G*, with edges to all writers of its keys that do not reach
// it. Nothing is removed that these edges reach, so that the paths of the proof do not meet it, and nothing that accesses
// one of its keys, so that the constraints of the proof do not. If it cannot count any more, because a writer that
// overwrote what it read reaches it, it is left out.
package fences
