package polygraph

import "slices"

// local has the part of the reachability relation that is about the accesses to one key. The part
// is gathered so that comparing the accesses with each other stays in the processor's cache.
type local struct {
	key     int32
	writers []localWriter // sorted by chain and position
	readers []localReader
	// segments separate the writers by chain: local chain c has those from segments[c] to
	// segments[c+1].
	segments []int32
	chains   []int32 // by local chain: its number in reach.c; chains with writers come first
	bits     []uint64
	// entries are the memory for rows. There is one row for the commit of each writer, one for the
	// start of each reader and, if starts and commits differ, one for the start of each writer. A
	// row has, for each local chain, the last position from which the node can be reached. (For a
	// start: at least the last commit from which it can be reached.) A row is filled when it is
	// first needed. Rows of starts have only the chains with writers. Rows of commits have all
	// chains if the closure has rows.
	entries                []int32
	commits, starts, reads [][]int32 // by writer and reader: the row, nil if it is not filled
	apart                  [][]int32 // rows of starts, if they differ from commits
	width                  int       // length of the row of a commit
	writing                int       // number of chains with writers
	group                  int32     // the key's group, if the closure has no rows
	fetchedRows            int32     // keeps the compiler from removing prefetch
	// initial is the first reader of the initial value, or none.
	initial int32

	localOf []int32 // by chain: its local chain, valid if stamp[chain] is now
	stamp   []int32
	now     int32
}

type localWriter struct {
	txn, class   int32
	chain        int32 // local
	turn, commit int32 // positions in the chain
	rank         int32
	live         bool // its transaction counts
	news         uint64
	readers      int32 // the first of its readers, or none
}

type localReader struct {
	read, txn, class, source int32
	chain, start             int32
	live                     bool
	news                     uint64
	next                     int32 // the next reader of the same version
}

// maxLocal bounds the entries of a key. A key with more is not saturated and is left to the search.
// Only without session order do the entries grow with the square of the accesses.
const maxLocal = 32 << 20

// gather gathers what is known about key k. mask has the classes of the chains with writers of k.
// It returns false if there would be too many entries.
func (w *worker) gather(k int32, mask uint64, all bool) bool {
	m, g, r := w.m, w.g, w.reach
	all = all || w.fresh[k]
	from, to := m.keyFrom[k], m.keyFrom[k+1]
	w.begin(k)
	w.initial = none
	w.writers, w.readers = w.writers[:0], w.readers[:0]
	// Loads from distant addresses are issued together, in short loops, so that the processor does
	// not wait for each of them.
	for i := from; i < to; i++ {
		t := m.writer[i]
		x := localWriter{txn: t, class: m.class[i], chain: r.c.of[t], turn: r.turnAt(t), commit: r.commitAt(t),
			rank: r.rank[g.commit(t)], live: !m.optional[t], readers: none, news: everything}
		if !all {
			x.news = r.news(g.commit(t)) & mask
		}
		w.writers = append(w.writers, x)
	}
	for _, i := range m.readsOn.of(k) {
		rd := &m.reads[i]
		w.readers = append(w.readers, localReader{read: i, txn: rd.txn, class: rd.class, source: rd.source, news: everything})
	}
	for i := range w.readers {
		x := &w.readers[i]
		x.chain, x.start, x.live = r.c.of[x.txn], r.startAt(x.txn), !m.optional[x.txn]
		if x.source >= 0 {
			x.source -= from
		}
		if !all {
			x.news = r.news(g.start(x.txn)) & mask
		}
	}
	w.prefetch()
	for i := range w.writers {
		x := &w.writers[i]
		if w.stamp[x.chain] != w.now {
			w.segments = append(w.segments, int32(i))
		}
		x.chain = w.localChain(x.chain)
	}
	w.segments = append(w.segments, to-from)
	for i := range w.readers {
		x := &w.readers[i]
		x.chain = w.localChain(x.chain)
	}
	if w.entryCount() > maxLocal {
		return false
	}
	w.listReaders()
	w.room()
	return true
}

// prefetch makes the processor load the rows that will be needed into the cache. It does nothing if
// rows are long and only a little of each is needed.
func (w *worker) prefetch() {
	rows := w.reach.rows
	if rows == nil || w.reach.c.count > fewChains {
		return
	}
	for i := range w.writers {
		if x := &w.writers[i]; x.news != 0 {
			w.fetchedRows += rows.Prefetch(w.g.start(x.txn), w.g.commit(x.txn))
		}
	}
	for i := range w.readers {
		if x := &w.readers[i]; x.news != 0 {
			v := w.g.start(x.txn)
			w.fetchedRows += rows.Prefetch(v, v)
		}
	}
}

// worthALook reports whether key k has news: writers in the chains of mask reach more of its
// accesses. If the key has open reads, any node that newly reaches an access counts.
func (s *saturator) worthALook(k int32, mask uint64, all bool) bool {
	m, g, r := s.m, s.g, s.reach
	if all || s.fresh[k] {
		return true
	}
	if len(s.openOn.of(k)) > 0 {
		mask = everything
	}
	for i := m.keyFrom[k]; i < m.keyFrom[k+1]; i++ {
		if r.news(g.commit(m.writer[i]))&mask != 0 {
			return true
		}
	}
	for _, i := range m.readsOn.of(k) {
		if r.news(g.start(m.reads[i].txn))&mask != 0 {
			return true
		}
	}
	return false
}

// begin prepares for key k.
func (w *worker) begin(k int32) {
	if len(w.stamp) != int(w.reach.c.count) {
		w.localOf, w.stamp, w.now = make([]int32, w.reach.c.count), make([]int32, w.reach.c.count), 0
	}
	w.now++
	w.key = k
	w.chains, w.bits, w.segments = w.chains[:0], w.bits[:0], w.segments[:0]
}

// entryCount is the number of entries for the current key.
func (w *worker) entryCount() int {
	writers := int(w.m.keyFrom[w.key+1] - w.m.keyFrom[w.key])
	return (writers<<w.g.split + len(w.m.readsOn.of(w.key))) * len(w.chains)
}

// localChain returns the local number of a chain, and assigns one if there is none.
func (w *worker) localChain(c int32) int32 {
	if w.stamp[c] != w.now {
		w.stamp[c], w.localOf[c] = w.now, int32(len(w.chains))
		w.chains = append(w.chains, c)
		w.bits = append(w.bits, w.reach.classes[c])
	}
	return w.localOf[c]
}

// listReaders links the readers of each version. Of consecutive readers in one chain it keeps only
// the last.
func (w *worker) listReaders() {
	for i := range w.readers {
		r := &w.readers[i]
		if !r.live || r.source < fromInitial {
			continue
		}
		head := &w.initial
		if r.source >= 0 {
			head = &w.writers[r.source].readers
		}
		if r.next = *head; r.next != none && w.readers[r.next].chain == r.chain {
			r.next = w.readers[r.next].next
		}
		*head = int32(i)
	}
}

// room makes room for the entries. No row is filled yet.
func (w *worker) room() {
	w.writing = len(w.segments) - 1
	if w.width = len(w.chains); w.reach.rows == nil {
		w.width = w.writing
	}
	size := (len(w.writers)<<w.g.split + len(w.readers)) * w.width
	w.entries = slices.Grow(w.entries[:0], size)[:0]
	w.commits, w.reads = unfilled(w.commits, len(w.writers)), unfilled(w.reads, len(w.readers))
	if w.starts = w.commits; w.g.split == 1 {
		w.apart = unfilled(w.apart, len(w.writers))
		w.starts = w.apart
	}
}

func unfilled(rows [][]int32, n int) [][]int32 {
	rows = slices.Grow(rows[:0], n)[:n]
	clear(rows)
	return rows
}

// commitRow, startRow, turnRow and readRow return the rows of a writer's commit, its start, its turn and
// of a reader's start. They are small enough to be inlined.
func (w *worker) commitRow(i int32) []int32 {
	if row := w.commits[i]; row != nil {
		return row
	}
	return w.fillCommit(i)
}

func (w *worker) startRow(i int32) []int32 {
	if row := w.starts[i]; row != nil {
		return row
	}
	return w.fillStart(i)
}

func (w *worker) turnRow(i int32) []int32 {
	if w.g.late == 1 {
		return w.commitRow(i)
	}
	return w.startRow(i)
}

func (w *worker) readRow(i int32) []int32 {
	if row := w.reads[i]; row != nil {
		return row
	}
	return w.fillRead(i)
}

func (w *worker) fillCommit(i int32) []int32 {
	w.commits[i] = w.newRow(w.width)
	w.fillRow(w.g.commit(w.writers[i].txn), w.commitMember(i), w.commits[i])
	return w.commits[i]
}

func (w *worker) fillStart(i int32) []int32 {
	if w.g.split == 0 {
		return w.fillCommit(i)
	}
	w.starts[i] = w.newRow(w.writing)
	w.fillRow(w.g.start(w.writers[i].txn), w.startMember(i), w.starts[i])
	return w.starts[i]
}

func (w *worker) fillRead(i int32) []int32 {
	w.reads[i] = w.newRow(w.writing)
	w.fillRow(w.g.start(w.readers[i].txn), w.readerMember(i), w.reads[i])
	return w.reads[i]
}

// newRow returns memory for a row.
func (w *worker) newRow(chains int) []int32 {
	end := len(w.entries)
	w.entries = w.entries[:end+chains]
	return w.entries[end:]
}

// startedBefore reports whether a reader is known to start before a writer commits.
func (w *worker) startedBefore(reader, writer int32) bool {
	if w.reach.rows == nil {
		return bit(w.answered(w.commitMember(writer)), w.readerMember(reader)) != 0
	}
	r := &w.readers[reader]
	return w.commitRow(writer)[r.chain] >= r.start
}

// readerOf returns the index of the reader for a read.
func (w *worker) readerOf(read int32) int32 {
	i, _ := slices.BinarySearch(w.m.readsOn.of(w.key), read)
	return int32(i)
}
