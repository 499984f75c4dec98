package weak

import (
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/history"
)

// short is up to how many operations a transaction is searched one by one each time.
const short = 16

// places finds operations of one transaction on the same key.
type places struct {
	h *history.History
	// strict: a later read of a key must return what the first one did.
	strict bool

	// For transactions with more than short operations, by key: the operation that determines what the
	// next one must return, valid if mark is now.
	now  int32
	mark []int32
	last []int32
}

// begin begins a transaction. Then before must be called with each of its operations in their order.
func (p *places) begin(ops []history.Op) {
	if len(ops) <= short {
		return
	}
	if p.mark == nil {
		p.mark, p.last = make([]int32, p.h.KeyCount()), make([]int32, p.h.KeyCount())
	}
	p.now++
}

// before returns the operation before j that determines what ops[j] must return: the latest write of its
// key or, if reads are repeatable, else the first read of it. It returns -1 if ops[j] reads from outside.
func (p *places) before(ops []history.Op, j int) int {
	key := ops[j].Key
	if len(ops) > short {
		own := -1
		if p.mark[key] == p.now {
			own = int(p.last[key])
		}
		if ops[j].Kind == history.Write || p.strict && ops[j].Kind == history.Read && own < 0 {
			p.mark[key], p.last[key] = p.now, int32(j)
		}
		return own
	}
	own := -1
	for n := j - 1; n >= 0; n-- {
		if ops[n].Key != key {
			continue
		}
		if ops[n].Kind == history.Write {
			return n
		}
		if p.strict && ops[n].Kind == history.Read {
			own = n
		}
	}
	return own
}

// finals calls f for each final write of a transaction to a key.
func (p *places) finals(ops []history.Op, f func(history.Op)) {
	if len(ops) <= short {
		for j := range ops {
			if ops[j].Kind == history.Write && !single.Writes(ops[j+1:], ops[j].Key) {
				f(ops[j])
			}
		}
		return
	}
	p.begin(ops)
	for j := len(ops) - 1; j >= 0; j-- {
		if k := ops[j].Key; ops[j].Kind == history.Write && p.mark[k] != p.now {
			p.mark[k] = p.now
			f(ops[j])
		}
	}
}
