package weak

import (
	"cmp"
	"slices"
)

// wideWriters goes through the reads of those that read from transactions with many writes. The keys of
// each of these transactions are marked once.
func (d *direct) wideWriters() error {
	if len(d.wide) == 0 {
		return nil
	}
	x := d.x
	slices.SortFunc(d.wide, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.writer, b.writer), cmp.Compare(a.reader, b.reader), cmp.Compare(a.at, b.at))
	})
	wrote := make([]int32, x.h.KeyCount()) // by key: the writer plus 1
	for n, p := range d.wide {
		if err := x.stopped(n); err != nil {
			return err
		}
		if n == 0 || d.wide[n-1].writer != p.writer {
			for v := x.versionsFrom[p.writer]; v < x.versionsFrom[p.writer+1]; v++ {
				wrote[x.key[v]] = p.writer + 1
			}
		} else if d.wide[n-1].reader == p.reader {
			continue // it read from the writer before
		}
		from := x.readsFrom[p.reader]
		if d.ordered {
			from = x.end(p.at, x.readsFrom[p.reader+1])
		}
		for j := from; j < x.readsFrom[p.reader+1]; j++ {
			if r := &x.reads[j]; wrote[r.key] == p.writer+1 && r.writer != p.writer && d.s.wants(j) {
				d.s.force(p.writer, r.writer, p.reader, j)
			}
		}
	}
	return nil
}
