package fences

// components returns the strongly connected component of each vertex, and their number (Tarjan's algorithm).
func components(out [][]int32) (of []int32, count int) {
	n := len(out)
	of = make([]int32, n)
	low, index := make([]int32, n), make([]int32, n) // index from 1; 0 is not visited
	next := make([]int32, n)                         // the edge to look at
	var stack, path []int32
	visited := int32(0)
	for root := range int32(n) {
		if index[root] > 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			v := path[len(path)-1]
			if index[v] == 0 {
				visited++
				index[v], low[v], of[v] = visited, visited, -1
				stack = append(stack, v)
			}
			if int(next[v]) < len(out[v]) {
				w := out[v][next[v]]
				next[v]++
				if index[w] == 0 {
					path = append(path, w)
				} else if of[w] < 0 {
					low[v] = min(low[v], index[w])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				low[path[len(path)-1]] = min(low[path[len(path)-1]], low[v])
			}
			if low[v] == index[v] {
				for {
					w := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					of[w] = int32(count)
					if w == v {
						break
					}
				}
				count++
			}
		}
	}
	return of, count
}
