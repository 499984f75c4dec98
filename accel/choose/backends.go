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

var backends = []Backend{
	{
		Name: string(Chains),
		Open: func(int32) (accel.Backend, Device, error) { return chains.Backend{}, Device{}, nil },
		Seconds: func(s Shape, _ Device, workers int) float64 {
			entries := float64(s.Chains)
			return perEdge*float64(s.Edges) + (perEntry*entries*float64(s.Edges)+perClear*4*entries*float64(s.Vertices))/float64(workers)
		},
	},
	{
		Name: string(Bitset),
		Open: func(group int32) (accel.Backend, Device, error) { return bitset.Backend{Group: group}, Device{}, nil },
		Seconds: func(s Shape, _ Device, workers int) float64 {
			words := float64(s.Sources) / 64 / 2 // nearly a triangle
			return perEdge*float64(s.Edges) + (perWord*words*float64(s.Edges)+perClear*8*words*float64(s.Vertices))/float64(workers)
		},
	},
}
