// Package radix sorts transactions by their times.
package radix

import "slices"

// SortBy sorts ids by key in linear time, by the least significant digit first. It uses only the
// bits in which the keys differ, which are few for the times in a history. Recorders append nearly
// in order, so it first checks whether the ids are sorted already.
func SortBy(ids []int32, key func(int32) int64) []int32 {
	if slices.IsSortedFunc(ids, func(a, b int32) int {
		if key(a) < key(b) {
			return -1
		}
		if key(a) > key(b) {
			return 1
		}
		return 0
	}) {
		return ids
	}
	const digit, width = 11, 1 << 11
	type item struct {
		key uint64
		id  int32
	}
	low, high := key(ids[0]), key(ids[0])
	for _, id := range ids {
		low, high = min(low, key(id)), max(high, key(id))
	}
	items, spare := make([]item, len(ids)), make([]item, len(ids))
	for n, id := range ids {
		items[n] = item{key: uint64(key(id)) - uint64(low), id: id}
	}
	span := uint64(high) - uint64(low)
	for at := 0; at < 64 && span>>at > 0; at += digit {
		var from [width + 1]int
		for _, it := range items {
			from[it.key>>at&(width-1)+1]++
		}
		for d := range width {
			from[d+1] += from[d]
		}
		for _, it := range items {
			d := it.key >> at & (width - 1)
			spare[from[d]] = it
			from[d]++
		}
		items, spare = spare, items
	}
	for n, it := range items {
		ids[n] = it.id
	}
	return ids
}
