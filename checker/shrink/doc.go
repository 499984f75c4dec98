// Package shrink cuts closed sub-histories out of a history, and removes what a violation does not
// need.
//
// A sub-history has some of the transactions with some of their operations. Session order and real
// time between these stay as they are. It is closed if for every kept read, every transaction of
// the whole history that wrote that value to that key is kept with that write, whatever its
// outcome. For a read that only says which value it did not find, every write of another value is
// kept. Take an execution of the whole history and remove what is not kept: the rest is an
// execution of the sub-history. So if the sub-history violates a level, the whole history does.
//
// A choice of a statement (history.Choice) is kept or removed as a whole. It needs what the operations of all its
// alternatives need: the alternative that holds in an execution of the whole history then still holds.
//
// The caller says how sub-histories are judged: by an engine, or by trying every execution.
//
// Its files, in reading order:
//
//	part.go      Part: what is kept, what a kept operation needs, and what is removed
//	             with an operation
//	needs.go     which operations need which
//	denials.go   tokens that nearly all need, or provide
//	onekey.go    what is known of very many operations of a transaction on a key
//	choices.go   choices of statements
//	narrow.go    Narrow: a short stretch of a long recording
//	minimize.go  Minimize: what to remove next
//	needed.go    what cannot be removed because of what needs it
package shrink
