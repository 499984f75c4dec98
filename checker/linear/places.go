package linear

import (
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/history"
)

// short is up to how many operations a transaction is searched one by one each time. Only
// transactions with scans have more.
const short = 16

// places finds earlier operations on the same key, of a transaction with more than short operations.
type places struct {
	h    *history.History
	now  int32
	mark []int32 // by key: last[key] is of the present transaction if mark[key] is now
	last []int32
}

// begin begins a transaction.
func (p *places) begin() {
	if p.mark == nil {
		p.mark, p.last = make([]int32, p.h.KeyCount()), make([]int32, p.h.KeyCount())
	}
	p.now++
}

// before returns the operation before j that determines what ops[j] must return: the latest write of
// its key, or else the first read of it, or -1. It is not the latest read, because if that read is
// wrong, later ones need not agree with it. It must be called with each operation of a transaction,
// in their order.
func (p *places) before(ops []history.Op, j int) int {
	key, own := ops[j].Key, -1
	if p.mark[key] == p.now {
		own = int(p.last[key])
	}
	if ops[j].Kind == history.Write || ops[j].Kind == history.Read && own < 0 {
		p.mark[key], p.last[key] = p.now, int32(j)
	}
	return own
}

// latest is before for a transaction with few operations: ops are those before j.
func latest(ops []history.Op, k history.Key) int {
	own := -1
	for n := len(ops) - 1; n >= 0; n-- {
		if ops[n].Key == k && ops[n].Kind != history.ReadNot {
			if own = n; ops[n].Kind == history.Write {
				break
			}
		}
	}
	return own
}

// findRewritten fills rewritten for the transaction at index i, which has more than short operations.
func (x *index) findRewritten(i int32, ops []history.Op) {
	var later []bool
	written := map[history.Key]bool{}
	for j := len(ops) - 1; j >= 0; j-- {
		op := &ops[j]
		if op.Kind == history.Write && later == nil {
			later = make([]bool, len(ops))
		}
		if len(written) > 0 {
			later[j] = written[op.Key]
		}
		if op.Kind == history.Write {
			written[op.Key] = true
		}
	}
	if later != nil {
		if x.rewritten == nil {
			x.rewritten = map[int32][]bool{}
		}
		x.rewritten[i] = later
	}
}

// writesLater reports whether a later operation of the transaction at index i writes the key of
// ops[j].
func (x *index) writesLater(i int32, ops []history.Op, j int) bool {
	if len(ops) > short {
		later := x.rewritten[i]
		return later != nil && later[j]
	}
	return single.Writes(ops[j+1:], ops[j].Key)
}
