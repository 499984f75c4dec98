// Package checker judges histories. Check is the front door: it asks the engines,
// keeps them within limits of time and memory, and has their proofs verified.
package checker
