package weak

import "slices"

// components finds the strongly connected components of SO, WR and forced edges, by Tarjan's algorithm
// without recursion. It returns, for each transaction, a number of its component, or none if it is alone in
// it. It follows edges backwards.
func (x *index) components(forced *edges) []int32 {
	n := len(x.counted)
	scc, seen, low := make([]int32, n), make([]int32, n), make([]int32, n)
	fill(scc, none)
	onStack := make([]bool, n)
	type frame struct {
		txn  int32
		into []int32
	}
	var stack []int32
	var path []frame
	count := int32(0)
	enter := func(t int32) {
		count++
		seen[t], low[t] = count, count
		stack, onStack[t] = append(stack, t), true
		path = append(path, frame{t, x.predecessors(t, forced)})
	}
	for root, in := range x.counted {
		if !in || seen[root] != 0 {
			continue
		}
		enter(int32(root))
		for len(path) > 0 {
			f := &path[len(path)-1]
			if len(f.into) > 0 {
				p := f.into[0]
				f.into = f.into[1:]
				if seen[p] == 0 {
					enter(p)
				} else if onStack[p] {
					low[f.txn] = min(low[f.txn], seen[p])
				}
				continue
			}
			t := f.txn
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1].txn
				low[up] = min(low[up], low[t])
			}
			if low[t] != seen[t] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != t {
				at--
			}
			for _, m := range stack[at:] {
				onStack[m] = false
				if at < len(stack)-1 {
					scc[m] = t
				}
			}
			stack = stack[:at]
		}
	}
	return scc
}

// predecessors lists the transactions from which an edge leads to t. Of those before it in its session it
// has only the latest.
func (x *index) predecessors(t int32, forced *edges) []int32 {
	more := forced.into(t)
	if x.c.ru {
		return more
	}
	out := slices.Grow([]int32(nil), len(more)+len(x.readsBy(t))+1)
	if b := x.before[t]; b != none {
		out = append(out, b)
	}
	for _, r := range x.readsBy(t) {
		if r.writer != none {
			out = append(out, r.writer)
		}
	}
	return append(out, more...)
}
