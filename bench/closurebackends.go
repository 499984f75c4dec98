package bench

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
)

// Names of backends.
const (
	bitsetName = "bitset"
	// BitsetTwo is bitset with two goroutines, on a machine with more processors.
	BitsetTwo  = "bitset-2"
	bitsetFull = "bitset-full"
	cudaName   = "cuda"
)

// ClosureBackendNames are those that FindClosureBackends knows.
var ClosureBackendNames = []string{"chains", bitsetName, BitsetTwo, bitsetFull, cudaName}

// ClosureBackendHelp says what each is.
const ClosureBackendHelp = `chains, bitset, bitset-2 (with two goroutines), bitset-full (leading words
that are full are kept, too, so that all of the matrix is moved), cuda`

// FindClosureBackends returns those of a list, with so many goroutines; none given
// are all that differ on this machine. done closes the GPU, if there is one.
func FindClosureBackends(names []string, workers int) (list []ClosureBackend, done func(), err error) {
	if len(names) == 0 {
		names = slices.Clone(ClosureBackendNames)
		if w := cmp.Or(workers, runtime.GOMAXPROCS(0)); w <= 2 {
			names = slices.DeleteFunc(names, func(n string) bool { return n == BitsetTwo })
		}
	}
	done = func() {}
	for _, name := range names {
		b := ClosureBackend{Name: strings.TrimSpace(name), Workers: workers}
		switch b.Name {
		case "chains":
			b.Backend = chains.Backend{}
		case bitsetName:
			b.Backend = bitset.Backend{}
		case BitsetTwo:
			b.Backend, b.Workers = bitset.Backend{}, 2
		case bitsetFull:
			b.Backend = bitset.Backend{Full: true}
		case cudaName:
			b.Unavailable = "this build has no GPU backend"
		default:
			return nil, done, errors.Errorf("unknown backend %q; known are %s", name, strings.Join(ClosureBackendNames, ", "))
		}
		list = append(list, b)
	}
	return list, done, nil
}
