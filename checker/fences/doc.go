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
//   - every vertex from which C can be reached in G* is in D, and
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
// Only if. A read in Z of a value that A in C wrote: A reaches a writer in D, which reaches W and so the reader; there is
// no execution. Now let E be the graph of an execution: K, and the choices that it makes for constraints. E
// without vertices of Z is within G*. No path of E leaves C and comes back. Within F it would be in G*, and
// its vertices in C. If it meets Z, look at where it leaves Z for the last time, by an edge z → f. From f it goes to C
// within G*, so f is in D, and f reaches W, which reaches z: a cycle. So C can be contracted to one vertex without
// a cycle, and some execution has the members of C next to each other. In this one the new edges hold.
//
// If. Take an execution of the rest, and of the round's execution the order of C. Insert C in this order, after all
// that have edges into C and before all that have edges from it; the new edges make this possible. Take a read
// of A's value by r, and another writer B of the key, of which one is in C. If all are in F and K orders A and B, saturation has
// solved the constraint, by edges that stay. If K does not order A and B, all three are in one component, C, whose
// order is of an execution. If r is in Z, A is not in C, so B is. K orders A and B, or A would be in C. If B
// reaches A, it is solved. If A reaches B, A reaches the last kept writer that overwrote B's value in D, and that reaches
// r: the rest has no execution. If B is in Z, and A or r is in C: if r is in C, it is in D and reaches W and B. If A is in C,
// it reaches the writer that overwrote it in D, so r reaches that writer, and W, and B.
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
// A transaction of unknown outcome counts once somebody read from it. Until then it has no edge to others, and may
// get some at any time. So it is not of Z and not reached by W, but it is in G*, with edges to all writers of its keys that do not
// reach it, and nothing is removed that accesses one of its keys. If it cannot count any more, because somebody
// overwrote what it read and comes before it, it is left out.
package fences
