package nearness

// cyclic counts the vertices that lie on cycles, by Tarjan's strongly connected components (SIAM Journal on
// Computing 1972) without recursion.
func cyclic(n int, edges [][2]int32) int {
	from := make([]int32, n+2)
	for _, e := range edges {
		from[e[0]+2]++
	}
	for v := 2; v < n+2; v++ {
		from[v] += from[v-1]
	}
	to := make([]int32, len(edges))
	for _, e := range edges {
		to[from[e[0]+1]] = e[1]
		from[e[0]+1]++
	}
	// The successors of v are now to[from[v]:from[v+1]].
	const unseen, done = 0, -1
	low := make([]int32, n) // 0: unseen; -1: its component is complete; else the smallest number reached
	number := make([]int32, n)
	next := append([]int32(nil), from[:n]...)
	var open, path []int32
	var seen int32
	total := 0
	for root := range n {
		if low[root] != unseen {
			continue
		}
		seen++
		low[root], number[root] = seen, seen
		open, path = append(open, int32(root)), append(path, int32(root))
		for len(path) > 0 {
			v := path[len(path)-1]
			if next[v] < from[v+1] {
				w := to[next[v]]
				next[v]++
				switch {
				case low[w] == unseen:
					seen++
					low[w], number[w] = seen, seen
					open, path = append(open, w), append(path, w)
				case low[w] != done:
					low[v] = min(low[v], number[w])
				}
				continue
			}
			path = path[:len(path)-1]
			reached := low[v]
			if reached == number[v] {
				size := 0
				for last := int32(-1); last != v; size++ {
					last = open[len(open)-1]
					open = open[:len(open)-1]
					low[last] = done
				}
				if size > 1 {
					total += size
				}
			}
			if len(path) > 0 {
				u := path[len(path)-1]
				low[u] = min(low[u], reached)
			}
		}
	}
	return total
}
