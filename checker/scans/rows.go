package scans

import "slices"

// rows is a set of rows, ascending. Most sets are small.
type rows []int32

func (x rows) has(r int32) bool {
	_, ok := slices.BinarySearch(x, r)
	return ok
}

func (x *rows) add(r int32) {
	if at, ok := slices.BinarySearch(*x, r); !ok {
		*x = slices.Insert(*x, at, r)
	}
}
