package cuda

import (
	"sync"
	"sync/atomic"
)

// cache keeps fetched rows for many readers, up to a number of bytes. When it is full it is
// emptied.
type cache struct {
	rows  []atomic.Pointer[[]uint64] // by vertex
	bytes int64                      // of a row
	mu    sync.Mutex
	held  []int32 // the vertices with rows
}

// rowOverhead is the memory of a row besides its bits.
const rowOverhead = 64

func newCache(vertices int32, columns int) cache {
	return cache{rows: make([]atomic.Pointer[[]uint64], vertices), bytes: int64(columns+63)/64*8 + rowOverhead}
}

func (c *cache) get(v int32) []uint64 {
	if row := c.rows[v].Load(); row != nil {
		return *row
	}
	return nil
}

func (c *cache) put(v int32, row []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(len(c.held)+1)*c.bytes > cacheBytes {
		c.drop()
	}
	if c.rows[v].Swap(&row) == nil {
		c.held = append(c.held, v)
	}
}

func (c *cache) drop() {
	for _, v := range c.held {
		c.rows[v].Store(nil)
	}
	c.held = c.held[:0]
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(len(c.held))*c.bytes + 8*int64(len(c.rows)) + 4*int64(cap(c.held))
}
