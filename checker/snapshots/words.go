package snapshots

import (
	"fmt"

	"github.com/isohound/isohound/history"
)

// Words says in a sentence what does not agree.
func (f *Find) Words(h *history.History) string {
	op := h.Ops(&h.Txns[f.Txn])[f.Op]
	used := fmt.Sprintf("%s used snapshot %s", name(h, f.Txn), h.Claim(int(f.Txn)).Visible)
	did := fmt.Sprintf("read %s = %s", h.KeyName(op.Key), h.ValueText(op.Value))
	p, implied := h.PredicateOf(int(f.Txn), f.Op)
	switch {
	case implied && op.Kind == history.ReadNot:
		did = fmt.Sprintf("did not find %s = %s when it looked for %s", h.KeyName(op.Key), h.ValueText(op.Value), p.Asked())
	case implied:
		did = fmt.Sprintf("saw %s = %s when it looked for %s", h.KeyName(op.Key), h.ValueText(op.Value), p.Asked())
	case op.Kind == history.ReadNot:
		did = fmt.Sprintf("saw that %s was not %s", h.KeyName(op.Key), h.ValueText(op.Value))
	}
	if f.Missed {
		return fmt.Sprintf("%s, which has what %s wrote to %s, and %s", used, name(h, f.Other), h.KeyName(op.Key), did)
	}
	return fmt.Sprintf("%s and %s, which %s wrote, and which is not in it", used, did, name(h, f.Other))
}

// name is a transaction with its number in the database.
func name(h *history.History, i int32) string {
	text := fmt.Sprintf("T%d", h.Txns[i].ID)
	if n := h.DBTxn(int(i)); n != 0 {
		text += fmt.Sprintf(" (%d)", n)
	}
	return text
}
