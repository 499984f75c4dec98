package servers

import "github.com/pkg/errors"

// turns says which node of a cluster is hit: each time the next one, unless Aim has named another.
type turns struct {
	count int // of nodes
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
	t.next = (n + 1) % t.count
	return n
}

// nodes are the servers of a cluster. What happens to the cluster happens to one of them.
type nodes[N node] struct {
	turns
	all    []N
	killed int
}

type node interface {
	Kill()
	Start() error
	Pause(backends bool) (resume func(), err error)
	Stop()
}

// Kill kills the node whose turn it is.
func (c *nodes[N]) Kill() {
	c.killed = c.turn()
	c.all[c.killed].Kill()
}

// Start starts the node again that was killed.
func (c *nodes[N]) Start() error {
	return errors.WithMessagef(c.all[c.killed].Start(), "node %d", c.killed+1)
}

// Pause pauses the node whose turn it is.
func (c *nodes[N]) Pause(backends bool) (resume func(), err error) {
	return c.all[c.turn()].Pause(backends)
}

// Stop stops all nodes and removes what they have stored.
func (c *nodes[N]) Stop() {
	for _, n := range c.all {
		n.Stop()
	}
}
