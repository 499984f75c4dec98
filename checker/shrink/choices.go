package shrink

import (
	"slices"

	"github.com/isohound/isohound/history"
)

// choice is a choice of a statement. It needs everything that the operations of its alternatives need: take an
// execution of the whole history and remove what is not kept; the alternative that holds in it still holds.
type choice struct {
	ref       history.ChoiceRef
	providers []int32 // the operations that it needs, once they were looked up
	known     bool
}

// choicesOf lists the choices of a history.
func choicesOf(h *history.History) []*choice {
	var out []*choice
	for _, r := range h.AllChoices() {
		out = append(out, &choice{ref: r})
	}
	return out
}

// needed returns the operations that a choice needs.
func (n *needs) needed(c *choice) []int32 {
	if c.known {
		return c.providers
	}
	c.known = true
	seen := map[int32]bool{}
	for _, list := range n.h.Choice(c.ref) {
		for i := range list {
			op := n.h.Op(&list[i])
			t := token{op.Key, op.Value, held}
			if op.Kind == history.ReadNot {
				t.kind = denied
			}
			n.eachProvider(t, func(w int32) {
				if !seen[w] && n.txnOf[w] != int32(c.ref.Txn) {
					seen[w] = true
					c.providers = append(c.providers, w)
				}
			})
		}
	}
	return c.providers
}

// AddChoice keeps a choice, and its transaction.
func (p *Part) AddChoice(r history.ChoiceRef) {
	at := slices.IndexFunc(p.n.choices, func(c *choice) bool { return c.ref == r })
	if at < 0 || p.chosen[at] {
		return
	}
	p.Add(int32(r.Txn))
	p.chosen[at] = true
	p.count[r.Txn]++
	p.ops++
	p.fresh = append(p.fresh, at)
}

// closeChoices adds what the choices need that were added since the last call.
func (p *Part) closeChoices() {
	for _, at := range p.fresh {
		for _, w := range p.n.needed(p.n.choices[at]) {
			p.Add(p.n.txnOf[w])
			p.add(w)
			p.add(p.n.lastWrite(w))
		}
	}
	p.fresh = nil
}

// dropChoice removes a choice, and its transaction if nothing of that is left.
func (p *Part) dropChoice(at int) {
	if !p.chosen[at] {
		return
	}
	p.chosen[at] = false
	t := p.n.choices[at].ref.Txn
	p.count[t]--
	p.ops--
	if p.count[t] == 0 {
		p.in[t] = false
		p.txns--
	}
}

// dropNeeding removes the choices that need an operation.
func (p *Part) dropNeeding(op int32) {
	for at, kept := range p.chosen {
		if kept && slices.Contains(p.n.needed(p.n.choices[at]), op) {
			p.dropChoice(at)
		}
	}
}

// dropChoicesOf removes the choices of a transaction.
func (p *Part) dropChoicesOf(t int32) {
	for at, kept := range p.chosen {
		if kept && p.n.choices[at].ref.Txn == int(t) {
			p.dropChoice(at)
		}
	}
}

// keptChoices lists the kept choices of a transaction.
func (p *Part) keptChoices(t int32) (out []history.ChoiceRef) {
	for at, kept := range p.chosen {
		if kept && p.n.choices[at].ref.Txn == int(t) {
			out = append(out, p.n.choices[at].ref)
		}
	}
	return out
}
