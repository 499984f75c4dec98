package polygraph

// waiting is a binary heap of nodes, the one with the lowest priority first.
type waiting []ranked

type ranked struct {
	priority int64
	node     int32
}

func (r ranked) before(o ranked) bool {
	return r.priority < o.priority || r.priority == o.priority && r.node < o.node
}

func (h *waiting) push(r ranked) {
	a := append(*h, r)
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !r.before(a[up]) {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = r
	*h = a
}

func (h *waiting) pop() int32 {
	a := *h
	top := a[0].node
	n := len(a) - 1
	r := a[n]
	a = a[:n]
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && a[down+1].before(a[down]) {
			down++
		}
		if !a[down].before(r) {
			break
		}
		a[i] = a[down]
		i = down
	}
	if n > 0 {
		a[i] = r
	}
	*h = a
	return top
}
