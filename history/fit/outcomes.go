package fit

import "github.com/isohound/isohound/history"

// outcomes decides what replaces a transaction of unknown outcome. Such a transaction counts
// exactly when a transaction that counts reads from it. There are three cases. If nobody reads
// from it, it is written as aborted. If nobody else can have written a value that was read, it
// is written as committed. If somebody else can, it is written as committed but without its
// reads: that only adds writes, which an execution can place after all others. The successors of
// an unknown transaction in its session are not ordered after it. Therefore one that becomes
// committed and is not the last of its session moves into its own session.
func (f *fitting) outcomes() {
	if f.c.Unknown {
		f.openEnds()
		return
	}
	var unknown []int
	for i := range f.h.Txns {
		if f.h.Txns[i].Status == history.Unknown {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return
	}
	writers := f.writersOf(unknown)
	f.bare = map[int]bool{}
	counted := map[int]bool{}
	var queue []int
	for i := range f.h.Txns {
		if f.h.Txns[i].Status == history.Committed {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, op := range f.h.Ops(&f.h.Txns[i]) {
			from := writers[slot{op.Key, op.Value}]
			if op.Kind != history.Read || from == nil {
				continue
			}
			for _, u := range from.unknown {
				if u == i {
					continue
				}
				if !counted[u] {
					counted[u] = true
					f.bare[u] = true
				}
				if from.sure == 0 && len(from.unknown) == 1 && f.bare[u] {
					// It did commit: its own reads count too.
					f.bare[u] = false
					queue = append(queue, u)
				}
			}
		}
	}
	last := map[int32]int{}
	for i := range f.h.Txns {
		last[f.h.Txns[i].Session] = i
	}
	var sure, unsure, unread tally
	for _, u := range unknown {
		switch {
		case !counted[u]:
			f.status[u] = history.Aborted
			unread.add(u)
			continue
		case f.bare[u]:
			unsure.add(u)
		default:
			delete(f.bare, u)
			sure.add(u)
		}
		f.status[u] = history.Committed
		f.apart[u] = last[f.h.Txns[u].Session] != u
	}
	f.lose(sure.n, sure.first, history.Many(sure.n, "transaction of unknown outcome was read from", "transactions of unknown outcome were read from"),
		"written as committed, because the reads prove it")
	f.lose(unsure.n, unsure.first, history.Many(unsure.n, "transaction of unknown outcome may have been read from", "transactions of unknown outcome may have been read from"),
		"written as committed, without their reads")
	f.lose(unread.n, unread.first, history.Many(unread.n, "transaction of unknown outcome was not read from", "transactions of unknown outcome were not read from"),
		"written as aborted, or left out")
}

// openEnds finds sessions that end in a transaction of unknown outcome, for formats in which
// that marks a recording that was cut off.
func (f *fitting) openEnds() {
	if !f.c.OpenAtUnknown || !f.h.Closed {
		return
	}
	var t tally
	for _, txns := range f.h.BySession() {
		if n := len(txns); n > 0 && f.h.Txns[txns[n-1]].Status == history.Unknown {
			t.add(int(txns[n-1]))
		}
	}
	f.lose(t.n, t.first, history.Many(t.n, "session ends in a transaction of unknown outcome", "sessions end in transactions of unknown outcome"),
		"the recording will look cut off, so a read without a writer is no longer a violation")
}

// origins are the possible writers of a value: the transactions of unknown outcome, and the
// number of others.
type origins struct {
	unknown []int
	sure    int
}

// writersOf finds the origins of each value that a transaction of unknown outcome wrote.
func (f *fitting) writersOf(unknown []int) map[slot]*origins {
	all := map[slot]*origins{}
	for _, u := range unknown {
		for _, op := range f.h.Ops(&f.h.Txns[u]) {
			if op.Kind != history.Write {
				continue
			}
			s := slot{op.Key, op.Value}
			if all[s] == nil {
				all[s] = &origins{}
				if f.h.Initial(op.Key) == op.Value {
					all[s].sure = 1
				}
			}
			if n := len(all[s].unknown); n == 0 || all[s].unknown[n-1] != u {
				all[s].unknown = append(all[s].unknown, u)
			}
		}
	}
	for i := range f.h.Txns {
		if f.h.Txns[i].Status != history.Committed {
			continue
		}
		for _, op := range f.h.Ops(&f.h.Txns[i]) {
			if o := all[slot{op.Key, op.Value}]; o != nil && op.Kind == history.Write {
				o.sure++
			}
		}
	}
	return all
}

// aborted leaves out aborted transactions if they cannot be kept. A read from one of them then
// finds no writer, which is a violation too.
func (f *fitting) aborted() {
	var t tally
	for i := range f.h.Txns {
		if f.h.Txns[i].Status == history.Aborted {
			t.add(i)
		}
	}
	switch f.c.Aborted {
	case AbortedNone:
		f.gone = map[int]bool{}
		for i, st := range f.status {
			if st == history.Aborted {
				f.gone[i] = true
			}
		}
		f.lose(t.n, t.first, history.Many(t.n, "transaction aborted", "transactions aborted"), "left out, so reads from them have no writer")
	case AbortedWrites:
		if t.n > 0 {
			f.notes = append(f.notes, history.Many(t.n, "aborted transaction keeps only its writes, and not its number", "aborted transactions keep only their writes, and not their numbers"))
		}
	}
}
