package certify

import (
	"slices"
	"sort"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// shownEdge verifies an edge that a claimed snapshot shows.
func (f *lookup) shownEdge(snapshots bool, e verdict.Edge) error {
	reader, writer := e.To, e.From
	if e.Kind == verdict.NV {
		reader, writer = e.From, e.To
	}
	has, lacks := f.h.Shows(int(reader), int(writer))
	switch {
	case !snapshots:
		return errors.New("at this level no snapshots are assumed")
	case !f.writes(writer, e.Key):
		return errors.New("the transaction that the snapshot has or lacks did not write the key")
	case e.Kind == verdict.VS && !has, e.Kind == verdict.NV && !lacks:
		return errors.New("the database does not claim that of the snapshot, or that is not assumed")
	}
	return nil
}

// shown adds: if both count, the transaction that a snapshot has committed before the other one started, and one that it
// lacks committed after that.
func (p *refutation) shown(s *verdict.Step) error {
	for _, i := range []int32{s.Txn, s.Other} {
		if _, err := p.txn(i); err != nil {
			return err
		}
	}
	has, lacks := p.h.Shows(int(s.Other), int(s.Txn))
	if !p.lvl.Snapshot() || s.Rule == verdict.Shown && !has || s.Rule == verdict.Hidden && !lacks {
		return errors.New("the database does not claim that of the snapshot, or that is not assumed")
	}
	c := p.begin()
	c.ifCounts(s.Txn)
	c.ifCounts(s.Other)
	if s.Rule == verdict.Shown {
		c.before(commit(s.Txn), start(s.Other))
	} else {
		c.before(start(s.Other), commit(s.Txn))
	}
	return c.done()
}

// claimed reports whether a snapshot that is assumed says that node a comes before node b, if the transaction of a
// committed. The other one may be of unknown outcome: one that does not count comes after all others.
func (p *refutation) claimed(a, b int32) bool {
	if !p.lvl.Snapshot() || !p.h.SnapshotsAssumed() || a&1 == b&1 {
		return false
	}
	if a&1 == 1 {
		has, _ := p.h.Shows(int(b>>1), int(a>>1))
		return has
	}
	_, lacks := p.h.Shows(int(a>>1), int(b>>1))
	return lacks
}

// visibility has, by transaction of the judge, the others that its snapshot has and those that it lacks, and those whose
// snapshots lack it.
func (j *judge) visibility(h *history.History, kept []account) {
	for s := range kept {
		for t := range kept {
			has, lacks := h.Shows(kept[s].txn, kept[t].txn)
			if has {
				j.txns[s].has |= 1 << t
			}
			if lacks {
				j.txns[s].lacks |= 1 << t
				j.txns[t].hidden |= 1 << s
			}
		}
	}
}

// agreesWithSnapshots returns an error if an execution contradicts the snapshots that are assumed. It takes about one
// step for each transaction and each one that is in progress in a snapshot.
func agreesWithSnapshots(h *history.History, points []int32) error {
	x := newVisible(h, points)
	for _, p := range points {
		i := p >> 1
		if p&1 == 0 {
			if other, ok := x.starts(int(i)); !ok {
				return errors.Errorf("the witness has transaction %d start with another snapshot than the database says; transaction %d is in one of the two",
					h.Txns[i].ID, h.Txns[other].ID)
			}
			continue
		}
		if other, ok := x.commits(i); !ok {
			return errors.Errorf("the witness has transaction %d commit after transaction %d, whose snapshot has it as the database says", h.Txns[i].ID, h.Txns[other].ID)
		}
	}
	return nil
}

// visible follows an execution and compares it with the snapshots that are assumed.
type visible struct {
	h     *history.History
	wrote []bool // by transaction
	// latest is the committed one with the highest position, or -1. first and second are the transactions that have
	// started and whose snapshots have the highest positions, or -1.
	latest        int32
	first, second int32
	// numbers are the numbers of the transactions that wrote, ascending, and txns the transactions. done says, for each,
	// whether it committed, count how many did, and top is the last of them, or -1.
	numbers []int64
	txns    []int32
	done    []bool
	count   int
	top     int
}

func newVisible(h *history.History, points []int32) *visible {
	x := &visible{h: h, wrote: make([]bool, len(h.Txns)), latest: -1, first: -1, second: -1, top: -1}
	for _, p := range points {
		if p&1 == 0 {
			continue
		}
		i := p >> 1
		x.wrote[i] = slices.ContainsFunc(h.Ops(&h.Txns[i]), func(op history.Op) bool { return op.Kind == history.Write })
		if x.wrote[i] && h.DBTxn(int(i)) > 0 && h.HasVisible() {
			x.txns = append(x.txns, i)
		}
	}
	slices.SortFunc(x.txns, func(a, b int32) int {
		if h.DBTxn(int(a)) < h.DBTxn(int(b)) {
			return -1
		}
		return 1
	})
	for _, i := range x.txns {
		x.numbers = append(x.numbers, h.DBTxn(int(i)))
	}
	x.done = make([]bool, len(x.numbers))
	return x
}

// starts compares the snapshot of transaction i with the commits so far. If they are not the same, it returns another
// transaction that shows it.
func (x *visible) starts(i int) (other int32, ok bool) {
	at, told := x.h.SnapshotAt(i)
	if told && x.latest >= 0 && x.h.Claim(int(x.latest)).Commit > at {
		return x.latest, false
	}
	if told {
		switch s := int32(i); {
		case x.first < 0 || at > x.upto(x.first):
			x.first, x.second = s, x.first
		case x.second < 0 || at > x.upto(x.second):
			x.second = s
		}
	}
	v := x.h.Claim(i).Visible
	if v == nil {
		return -1, true
	}
	n := sort.Search(len(x.numbers), func(n int) bool { return x.numbers[n] >= v.Max })
	if x.top >= n {
		return x.txns[x.top], false
	}
	has := n
	for _, open := range v.Open {
		if at, known := slices.BinarySearch(x.numbers, open); known {
			if has--; x.done[at] {
				return x.txns[at], false
			}
		}
	}
	if own := x.h.DBTxn(i); x.wrote[i] && v.Has(own) {
		has--
	}
	if x.count == has {
		return -1, true
	}
	for at, number := range x.numbers[:n] {
		if !x.done[at] && v.Has(number) && x.txns[at] != int32(i) {
			return x.txns[at], false
		}
	}
	return -1, true
}

func (x *visible) upto(i int32) int64 { return x.h.Claim(int(i)).Snapshot }

// commits adds a commit. If a transaction that has started has it in its snapshot by its position, it returns that one.
func (x *visible) commits(i int32) (other int32, ok bool) {
	if !x.wrote[i] {
		return -1, true
	}
	if at := x.h.Claim(int(i)).Commit; at != 0 {
		if other = x.first; other == i {
			other = x.second
		}
		if other >= 0 && x.upto(other) >= at {
			return other, false
		}
		if x.latest < 0 || at > x.h.Claim(int(x.latest)).Commit {
			x.latest = i
		}
	}
	if number := x.h.DBTxn(int(i)); number > 0 && len(x.numbers) > 0 {
		if at, known := slices.BinarySearch(x.numbers, number); known {
			x.done[at] = true
			x.count++
			x.top = max(x.top, at)
		}
	}
	return -1, true
}
