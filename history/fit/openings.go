package fit

import "github.com/isohound/isohound/history"

// Openings finds the initial values of keys in formats in which a key begins as 0 unless the
// file itself writes the first 0. The file does so if the first committed transaction that
// touches the key, in the order of the file, writes it without having read it and leaves 0: that
// transaction loaded the database. The key then counts as absent before it. With an initial 0 in
// addition to the written one, every stale read of 0 could choose between the two.
//
// A 0 that is written later is a second one, and a read of 0 may be from either.
type Openings struct {
	zero    history.Value
	state   []opening // by key
	decided int       // how many keys some committed transaction has touched
	blind   []history.Key
	opened  int
}

type opening uint8

const (
	untouched opening = iota
	implicit          // begins as 0
	blindZero         // written by the current transaction, whose last write of it so far is 0
	blindOther
	opened // the file writes its first 0
)

// NewOpenings returns one that has seen no transaction of a file with these symbols.
func NewOpenings(sym *history.Symbols) *Openings { return &Openings{zero: sym.Int(0)} }

// Add processes a committed transaction. If the transaction writes the first 0 of a key, Add
// sets the key's initial value in sym to absent.
func (o *Openings) Add(sym *history.Symbols, ops []history.Op) {
	if o.decided == sym.KeyCount() {
		return
	}
	if n := sym.KeyCount(); n > len(o.state) {
		o.state = append(o.state, make([]opening, n-len(o.state))...)
	}
	for _, op := range ops {
		switch s := &o.state[op.Key]; {
		case *s == untouched && op.Kind != history.Write:
			*s = implicit
			o.decided++
		case op.Kind != history.Write || *s == implicit || *s == opened:
		default:
			if *s == untouched {
				o.decided++
				o.blind = append(o.blind, op.Key)
			}
			*s = blindOther
			if op.Value == o.zero {
				*s = blindZero
			}
		}
	}
	for _, k := range o.blind {
		if o.state[k] == blindOther {
			o.state[k] = implicit
			continue
		}
		o.state[k] = opened
		o.opened++
		sym.SetInitial(k, history.Absent)
	}
	o.blind = o.blind[:0]
}

// Note reports how many keys a file sets to 0 first, "" if none.
func (o *Openings) Note() string {
	switch o.opened {
	case 0:
		return ""
	case 1:
		return "1 key begins absent, not as 0: the first transaction of the file that touches it sets it to 0"
	}
	return history.Many(o.opened, "", "keys begin absent, not as 0: the first transaction of the file that touches such a key sets it to 0")
}
