// Package acceltest is the test that every backend of accel passes.
package acceltest

import "github.com/isohound/isohound/accel"

// Warshall returns the closure of a graph by the plain algorithm, as rows: bit u
// of row v says that u reaches v. It is false where the graph has a cycle.
func Warshall(g *accel.Graph, added []accel.Edge) ([][]bool, bool) {
	n := g.Len()
	rows := make([][]bool, n)
	for v := range n {
		rows[v] = make([]bool, n)
		for _, u := range g.Into(v) {
			rows[v][u] = true
		}
		for u := range n {
			if u != v && g.Before(u, v) {
				rows[v][u] = true
			}
		}
	}
	for _, e := range added {
		rows[e.To][e.From] = true
	}
	for k := range n {
		for v := range n {
			if rows[v][k] {
				for u := range n {
					rows[v][u] = rows[v][u] || rows[k][u]
				}
			}
		}
	}
	for v := range n {
		if rows[v][v] {
			return nil, false
		}
		rows[v][v] = true
	}
	return rows, true
}
