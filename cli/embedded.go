//go:build embedded && !front

package cli

// leftOut says which drivers this program lacks. The drivers imported by servers.go take more
// time to build than everything else.
const leftOut = "; this program was built without the others (build tag embedded), ./run.sh drivers builds them all"
