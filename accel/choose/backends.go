package choose

import (
	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/bitset"
	"github.com/isohound/isohound/accel/chains"
)

// Costs of the backends on one processor, in seconds. They were measured by
//
//	go test ./accel/choose -run '^$' -bench Cost
//
// on an Intel Xeon (Sapphire Rapids) with 2 MB of L2 cache for each core.
const (
	perEdge  = 30e-9   // of the graph: sorting and turning it around
	perEntry = 0.5e-9  // of the clocks, for each edge
	perWord  = 0.5e-9  // of the matrix, for each edge
	perClear = 0.15e-9 // of either, in bytes that the kernel has to clear
)

// Costs of a GPU, in seconds. Its bandwidth is what it says itself; these are not
// measured but cautious guesses.
const (
	openDevice    = 0.5   // making a context, compiling the kernels, proving them
	perStep       = 10e-6 // of those that follow each other: as many as a chain is long
	perBusByte    = 1e-10
	someBandwidth = 200e9 // of one that does not say
)

var backends = []Backend{
	{
		Name: string(Chains),
		Open: func(*accel.Graph, *Wishes) (accel.Backend, Device, error) { return chains.Backend{}, Device{}, nil },
		Seconds: func(s Shape, _ Device, workers int) float64 {
			entries := float64(s.Chains)
			return perEdge*float64(s.Edges) + (perEntry*entries*float64(s.Edges)+perClear*4*entries*float64(s.Vertices))/float64(workers)
		},
	},
	{
		Name: string(Bitset),
		Open: func(_ *accel.Graph, w *Wishes) (accel.Backend, Device, error) {
			return bitset.Backend{Group: w.Group}, Device{}, nil
		},
		Seconds: func(s Shape, _ Device, workers int) float64 {
			words := float64(s.Sources) / 64 / 2 // nearly a triangle
			return perEdge*float64(s.Edges) + (perWord*words*float64(s.Edges)+perClear*8*words*float64(s.Vertices))/float64(workers)
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
			return perEdge*float64(s.Edges) + perStep*float64(s.Vertices)/float64(max(1, s.Chains)) + rows/bandwidth + perBusByte*12*float64(s.Edges+s.Vertices)
		},
	},
}
