package linear

import (
	"fmt"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// miniTransaction says why the operations of transaction i are not a mini-transaction (Definition 8:
// one or two reads, at most two writes, each write after a read of its key), or returns "". The
// numbers do not bound the operations of statements with conditions, nor reads that only say which
// value they did not find. A transaction that only reads may read any number of keys: its edges, too,
// are known. (The final read of a run does.) One without operations constrains nothing and passes.
func miniTransaction(x *index, i int32, ops []history.Op) string {
	long := len(ops) > short
	if !long && !x.scans && fewAccesses(ops) {
		return ""
	}
	var scans []history.Predicate
	if x.scans {
		scans = x.h.Predicates(int(i))
	}
	if long {
		x.places.begin()
	}
	reads, writes := 0, 0
	for j, op := range ops {
		for len(scans) > 0 && scans[0].Ops[1] <= j {
			scans = scans[1:]
		}
		before := 0
		if long {
			before = x.places.before(ops, j)
		} else if op.Kind == history.Write {
			before = latest(ops[:j], op.Key)
		}
		switch {
		case op.Kind == history.ReadNot && !x.h.Closed:
			return fmt.Sprintf("it says only which value of %s it did not find, and the history was cut off, so others may be missing", x.h.KeyName(op.Key))
		case op.Kind == history.Write && before < 0:
			return fmt.Sprintf("it writes %s without having read it", x.h.KeyName(op.Key))
		case op.Kind == history.ReadNot || len(scans) > 0 && scans[0].Ops[0] <= j:
		case op.Kind == history.Write:
			writes++
		default:
			reads++
		}
		if writes > 2 {
			return "it has more than two writes"
		}
	}
	if reads > 2 && writes > 0 {
		return "it has more than two reads"
	}
	return ""
}

// fewAccesses reports whether ops, all without conditions, are a mini-transaction.
func fewAccesses(ops []history.Op) bool {
	reads, writes := 0, 0
	for j := range ops {
		switch {
		case ops[j].Kind == history.Read:
			reads++
		case ops[j].Kind == history.ReadNot || latest(ops[:j], ops[j].Key) < 0:
			return false
		default:
			writes++
		}
	}
	return writes == 0 || reads <= 2 && writes <= 2
}

// misshapen builds the refusal for the transaction at index i.
func (c *check) misshapen(i int, why string) error {
	t := &c.h.Txns[i]
	kind := "mini-transaction"
	if c.lvl == level.LIN {
		kind = "lightweight transaction"
	}
	return &engine.Refusal{Engine: Name, Reason: fmt.Sprintf(
		"transaction %d (session %d) is not a %s: %s", t.ID, c.h.SessionName(t.Session), kind, why)}
}

// notUnique builds the refusal for two writes of one value.
func (c *check) notUnique(i, other int32, op history.Op) error {
	t := &c.h.Txns[i]
	by := "is the key's initial value"
	if other >= 0 {
		by = fmt.Sprintf("is also written by transaction %d", c.h.Txns[other].ID)
	}
	return &engine.Refusal{Engine: Name, Reason: fmt.Sprintf(
		"values are not unique: transaction %d (session %d) writes %s to %s, which %s",
		t.ID, c.h.SessionName(t.Session), c.h.ValueText(op.Value), c.h.KeyName(op.Key), by)}
}
