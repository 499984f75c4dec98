package single

import (
	"slices"

	"github.com/isohound/isohound/history"
)

// large is how many operations a transaction must have to get an index. Shorter ones are scanned each time.
const large = 64

// indexed has the writes of one large transaction, by key, and by key and value: their operations, in order.
type indexed struct {
	txn     int32
	onKey   map[history.Key][]int32
	ofValue map[keyValue][]int32
}

// index returns the index of the transaction at i, or nil if it is not large.
func (c *Collector) index(i int32) *indexed {
	ops := c.h.Ops(&c.h.Txns[i])
	if len(ops) < large {
		return nil
	}
	if c.latest == nil || c.latest.txn != i {
		x := &indexed{i, map[history.Key][]int32{}, map[keyValue][]int32{}}
		for j, op := range ops {
			if op.Kind == history.Write {
				v := keyValue{op.Key, op.Value}
				x.onKey[op.Key], x.ofValue[v] = append(x.onKey[op.Key], int32(j)), append(x.ofValue[v], int32(j))
			}
		}
		c.latest = x
	}
	return c.latest
}

// lastWrite is LastWrite of the operations before j of the transaction at i.
func (c *Collector) lastWrite(i int32, j int, k history.Key) int {
	x := c.index(i)
	if x == nil {
		return LastWrite(c.h.Ops(&c.h.Txns[i])[:j], k)
	}
	list := x.onKey[k]
	if n, _ := slices.BinarySearch(list, int32(j)); n > 0 {
		return int(list[n-1])
	}
	return -1
}

// lastOfValue returns the last operation before j of the transaction at i that writes what op reads, or -1.
func (c *Collector) lastOfValue(i int32, j int, op history.Op) int {
	x := c.index(i)
	if x == nil {
		for k, other := range slices.Backward(c.h.Ops(&c.h.Txns[i])[:j]) {
			if other.Kind == history.Write && other.Key == op.Key && other.Value == op.Value {
				return k
			}
		}
		return -1
	}
	list := x.ofValue[keyValue{op.Key, op.Value}]
	if n, _ := slices.BinarySearch(list, int32(j)); n > 0 {
		return int(list[n-1])
	}
	return -1
}

// writtenLater returns the first operation of the transaction at i that writes what operation j read, after it, or -1.
func (c *Collector) writtenLater(i int32, j int) int {
	ops := c.h.Ops(&c.h.Txns[i])
	x := c.index(i)
	if x == nil {
		return writtenLater(ops, j)
	}
	list := x.ofValue[keyValue{ops[j].Key, ops[j].Value}]
	if n, _ := slices.BinarySearch(list, int32(j)); n < len(list) {
		return int(list[n])
	}
	return -1
}
