//go:build embedded && !front

package main

// leftOut says which drivers this program was built without. The drivers that
// servers.go imports take more time to build than all the rest.
const leftOut = "; this program was built without the others (build tag embedded), ./run.sh drivers builds them all"
