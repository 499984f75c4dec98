package bench

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
	"github.com/isohound/isohound/accel/cuda"
)

// Names of backends.
const (
	bitsetName = "bitset"
	// BitsetTwo is bitset with two goroutines, on a machine with more processors.
	BitsetTwo    = "bitset-2"
	bitsetFull   = "bitset-full"
	cudaName     = "cuda"
	cudaSquaring = "cuda-squaring"
)

// ClosureBackendNames are the names that FindClosureBackends accepts.
var ClosureBackendNames = []string{"chains", bitsetName, BitsetTwo, bitsetFull, cudaName, cudaSquaring}

// ClosureBackendHelp describes each backend.
const ClosureBackendHelp = `chains, bitset, bitset-2 (with two goroutines), bitset-full (the leading
words of a row are kept where they are full, too), cuda, cuda-squaring (repeated squaring of the matrix,
as Cobra does)`

// FindClosureBackends returns the backends in a list, with that many goroutines. An empty list
// means all that differ on this machine. done releases the GPU, if there is one.
func FindClosureBackends(names []string, workers int) (list []ClosureBackend, done func(), err error) {
	if len(names) == 0 {
		names = slices.Clone(ClosureBackendNames)
		if cmp.Or(workers, runtime.GOMAXPROCS(0)) <= 2 {
			names = slices.DeleteFunc(names, func(n string) bool { return n == BitsetTwo })
		}
	}
	var opened []*cuda.Backend
	done = func() {
		for _, b := range opened {
			b.Close()
		}
	}
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
		case cudaName, cudaSquaring:
			if gpu := b.openGPU(); gpu != nil {
				opened = append(opened, gpu)
			}
		default:
			return nil, done, errors.Errorf("unknown backend %q; known are %s", name, strings.Join(ClosureBackendNames, ", "))
		}
		list = append(list, b)
	}
	return list, done, nil
}

// openGPU opens the GPU, or records why there is none.
func (b *ClosureBackend) openGPU() *cuda.Backend {
	gpu, err := cuda.Open(cuda.Config{Squaring: b.Name == cudaSquaring})
	if err != nil {
		b.Unavailable = err.Error()
		return nil
	}
	d := gpu.Device()
	b.Backend, b.Bandwidth = gpu, d.Bandwidth
	b.Device = fmt.Sprintf("%s, %s, driver for CUDA %d.%d by %s, at most %.0f GB/s by its clock and bus", d.Name, humanize.IBytes(uint64(d.Memory)),
		d.Driver/1000, d.Driver%1000/10, d.Binding, d.Bandwidth/1e9)
	return gpu
}
