package linear

import (
	"fmt"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
)

// miniTransaction says why ops is not a mini-transaction (Definition 8: one or
// two reads, at most two writes, each write after a read of its key), or
// returns "". A transaction without operations constrains nothing and passes.
func miniTransaction(sym *history.Symbols, ops []history.Op) string {
	reads, writes := 0, 0
	for i, op := range ops {
		switch op.Kind {
		case history.Read:
			reads++
		case history.Write:
			writes++
			if !readsBefore(ops[:i], op.Key) {
				return fmt.Sprintf("it writes %s without having read it", sym.KeyName(op.Key))
			}
		case history.ReadNot:
			return fmt.Sprintf("it has a failed compare-and-set on %s that returned no value, which the linear engine judges at level lin only", sym.KeyName(op.Key))
		}
		// Bounding the length first keeps readsBefore constant.
		if reads > 2 {
			return "it has more than two reads"
		}
		if writes > 2 {
			return "it has more than two writes"
		}
	}
	return ""
}

func readsBefore(ops []history.Op, k history.Key) bool {
	for _, op := range ops {
		if op.Kind == history.Read && op.Key == k {
			return true
		}
	}
	return false
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
