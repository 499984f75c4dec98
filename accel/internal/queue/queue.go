// Package queue is a priority queue of small numbers, the least first.
package queue

import "math/bits"

// Queue is a set of numbers from 0 on, below a bound.
type Queue struct {
	set   []uint64 // a bit for each number
	some  []uint64 // a bit for each word of set that is not 0
	first int      // words of some before it are 0
}

// New returns an empty queue for numbers below n.
func New(n int32) *Queue {
	words := (int(n) + 63) / 64
	return &Queue{set: make([]uint64, words), some: make([]uint64, (words+63)/64)}
}

// Add adds a number, if it is not there.
func (q *Queue) Add(i int32) {
	q.set[i>>6] |= 1 << (i & 63)
	q.some[i>>12] |= 1 << (i >> 6 & 63)
	q.first = min(q.first, int(i>>12))
}

// Least returns the least number, or -1.
func (q *Queue) Least() int32 {
	for ; q.first < len(q.some); q.first++ {
		if w := q.some[q.first]; w != 0 {
			word := q.first<<6 + bits.TrailingZeros64(w)
			return int32(word<<6 + bits.TrailingZeros64(q.set[word]))
		}
	}
	return -1
}

// Next removes the least number and returns it, or -1.
func (q *Queue) Next() int32 {
	i := q.Least()
	if i < 0 {
		return -1
	}
	w := &q.set[i>>6]
	if *w &= *w - 1; *w == 0 {
		q.some[i>>12] &^= 1 << (i >> 6 & 63)
	}
	return i
}

// Bytes is the memory that the queue holds.
func (q *Queue) Bytes() int64 { return 8 * int64(cap(q.set)+cap(q.some)) }
