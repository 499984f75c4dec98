package bench

import (
	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/bench/classic"
)

// TrafficHelp says what counts as moved.
const TrafficHelp = `Bytes moved: the closure's rows, each written once, and read once for every edge that leads
away from its vertex. For rows of bits a row ends at its vertex's place in a topological order, and
with intervals begins and ends where those that overlap with it do; for chains it has four bytes for
each chain. A backend that unites rows part by part in a cache, or skips redundant edges,
moves less through the memory, and may take less than the bandwidth's time.`

// bitTraffic is the number of bytes that a closure with rows of bits moves.
func bitTraffic(g *accel.Graph, order []int32) int64 {
	words := make([]int64, g.Len())
	if g.Intervals != nil {
		first, last := classic.Windows(g)
		for v := range words {
			words[v] = int64(last[v]>>6 - first[v]>>6 + 1)
		}
	} else {
		for i, v := range order {
			words[v] = int64(i>>6 + 1)
		}
	}
	total := int64(0)
	for v := range g.Len() {
		total += words[v]
		for _, u := range g.Into(v) {
			total += min(words[u], words[v])
		}
	}
	return 8 * total
}

// chainTraffic is the number of bytes that rows of that many chains move.
func chainTraffic(g *accel.Graph, chains int64) int64 {
	return 4 * chains * (int64(g.Len()) + int64(len(g.From)))
}
