// Package acceltest is the test that every backend of accel passes.
package acceltest

import (
	"math/big"

	"github.com/isohound/isohound/accel"
)

// Warshall computes the closure of a graph by Warshall's algorithm, as rows: bit u of row v says
// that u reaches v. It returns false if the graph has a cycle.
func Warshall(g *accel.Graph, added []accel.Edge) ([][]bool, bool) {
	n := g.Len()
	rows := make([]big.Int, n)
	for v := range n {
		for _, u := range g.Into(v) {
			rows[v].SetBit(&rows[v], int(u), 1)
		}
		for u := range n {
			if u != v && g.Before(u, v) {
				rows[v].SetBit(&rows[v], int(u), 1)
			}
		}
	}
	for _, e := range added {
		rows[e.To].SetBit(&rows[e.To], int(e.From), 1)
	}
	for k := range n {
		for v := range n {
			if rows[v].Bit(int(k)) != 0 {
				rows[v].Or(&rows[v], &rows[k])
			}
		}
	}
	reached := make([][]bool, n)
	for v := range n {
		if rows[v].Bit(int(v)) != 0 {
			return nil, false
		}
		reached[v] = make([]bool, n)
		for u := range n {
			reached[v][u] = u == v || rows[v].Bit(int(u)) != 0
		}
	}
	return reached, true
}
