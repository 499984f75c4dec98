package servers

// turns says which node of a cluster is hit: each time the next one, unless Aim has named another.
type turns struct {
	nodes int
	next  int
	aimed int // from 1, or 0
}

// Aim names the node, from 1, that the next Kill or Pause hits.
func (t *turns) Aim(node int) { t.aimed = node }

func (t *turns) turn() int {
	if n := t.aimed; n > 0 {
		t.aimed = 0
		return n - 1
	}
	n := t.next
	t.next = (n + 1) % t.nodes
	return n
}
