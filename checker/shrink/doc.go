// Package shrink cuts closed sub-histories out of a history, and leaves out of
// them what a violation does not need.
//
// A sub-history is some of the transactions with some of their operations; session
// order and real time stay as they are between those that are kept. It is closed
// if for every read that is kept, every transaction of the whole history that
// wrote that value to that key is kept with that write, whatever its outcome; for a
// read that says only which value it did not find, every write of another one. An
// execution of the whole history is then one of the sub-history, too, when what is
// left out is struck from it, so that what the sub-history violates the whole
// history violates.
//
// Who judges sub-histories is up to the caller: an engine, or the trial of every
// execution.
//
// Its files, in reading order:
//
//	part.go      Part: what is kept, what keeping an operation asks for, and what
//	             goes when one is left out
//	needs.go     which operations need which
//	minimize.go  Minimize: what to leave out next
package shrink
