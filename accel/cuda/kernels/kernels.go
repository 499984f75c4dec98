// Package kernels holds the programs that run on the GPU: *.cu is their source, reach.ptx the
// output of nvcc. docs/cuda.md describes how to regenerate it.
package kernels

import "embed"

//go:generate ./generate.sh

// PTX is the kernels, for the driver to compile.
//
//go:embed reach.ptx
var PTX string

// Sources are what PTX was made of.
//
//go:embed *.cu *.cuh
var Sources embed.FS

// Requirements of the kernels: the compute capability of the device, and the version of CUDA
// that the driver supports, which is the first one with PTX 6.0.
const (
	MinMajor = 6
	MinCUDA  = "9.0"
)

// Sizes that the CUDA sources share with the Go code; a test compares them.
const (
	MaxThreads = 512  // of a block
	Rows       = 512  // of a chunk, at most
	Vectors    = 1024 // of 16 bytes: rows of a chunk times lanes of a strip, at most
	Inner      = 4096 // edges inside a chunk, at most
)

// Arguments maps each kernel to its number of arguments.
var Arguments = map[string]int{
	"closure_rows": 14, "insert_rows": 17, "seed_rows": 5, "square_rows": 6,
	"closing_edges": 7, "among_groups": 11, "gather_bits": 8, "join_pairs": 8,
}
