package choose

import (
	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
)

// Costs of the backends on one processor, in seconds. They were measured by
//
//	go test ./accel/choose -run '^$' -bench Cost -benchtime 3x -count 4
//
// on two virtual processors of an Intel Xeon (Sapphire Rapids, 2 MB of second-level cache each)
// under other load; the minimum of four runs counts. A word took 0.2 ns with 64 sessions and 1.6
// ns with 1,024: the more transactions overlap, the fewer words are full and skipped.
const (
	perEdge  = 20e-9  // of the graph: sorting, and computing outgoing edges
	perEntry = 1.0e-9 // of the clocks, for each edge
	perWord  = 1.0e-9 // of half the matrix, for each edge
)

// Costs of a GPU, in seconds. The bandwidth is the one that the device reports. They were fitted to
// what an H200 beside 16 processors of an Intel Xeon took: see the table in docs/benchmarks.md.
const (
	openDevice    = 0.5   // creating a context, compiling the kernels, testing them: 0.3, the first time 0.65
	perPlanned    = 45e-9 // for each edge: sorting and planning on the host
	perStep       = 1e-6  // sequential steps: as many as the longest chain
	perBusByte    = 1e-10 // estimated
	someBandwidth = 200e9 // of a device that does not report one
)

var backends = []Backend{
	{
		Name: string(Chains),
		Open: func(*accel.Graph, *Wishes) (accel.Backend, Device, error) { return chains.Backend{}, Device{}, nil },
		Seconds: func(s Shape, _ Device, workers int) float64 {
			return perEdge*float64(s.Edges) + perEntry*float64(s.Chains)*float64(s.Edges)/float64(workers)
		},
	},
	{
		Name: string(Bitset),
		Open: func(*accel.Graph, *Wishes) (accel.Backend, Device, error) { return bitset.Backend{}, Device{}, nil },
		Seconds: func(s Shape, _ Device, workers int) float64 {
			words := float64(s.Columns) / 64 / 2 // nearly triangular
			return perEdge*float64(s.Edges) + perWord*words*float64(s.Edges)/float64(workers)
		},
	},
	{
		Name:        string(CUDA),
		Open:        openGPU,
		OpenSeconds: openDevice,
		Seconds: func(s Shape, d Device, _ int) float64 {
			bandwidth := d.Bandwidth
			if bandwidth == 0 {
				bandwidth = someBandwidth
			}
			words := float64(s.Sources) / 64
			rows := 8 * words * float64(2*s.Edges+s.Vertices)
			return perPlanned*float64(s.Edges) + perStep*float64(s.Vertices)/float64(max(1, s.Chains)) + rows/bandwidth + perBusByte*12*float64(s.Edges+s.Vertices)
		},
	},
}
