package explain

import (
	"fmt"

	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Names of results that contradict their own statement, whatever other transactions did.
const (
	// WrongRow: a statement with conditions found a row that does not fulfil them.
	WrongRow = "WrongRow"
	// WrongOrder: a statement returned rows in another order than the one it asked for.
	WrongOrder = "WrongOrder"
	// OverLimit: a statement returned more rows than its limit.
	OverLimit = "OverLimit"
	// WrongCount: a statement counted more rows, or fewer, than exist in any state.
	WrongCount = "WrongCount"
	// DuplicateRow: a statement changed one row twice, or returned it twice.
	DuplicateRow = "DuplicateRow"
)

var faultNames = map[scans.Fault]string{scans.WrongRow: WrongRow, scans.WrongOrder: WrongOrder, scans.OverLimit: OverLimit, scans.WrongCount: WrongCount}

// fault says what is wrong with a statement whose result contradicts itself, and where: in operation
// at of transaction txn.
func fault(h *history.History, a *verdict.Anomaly) (f scans.Fault, ref verdict.OpRef, p *history.Predicate) {
	if a.Kind != verdict.Contradiction && a.Kind != verdict.NonRepeatableReads && a.Kind != verdict.NotMyOwnWrite {
		return scans.NoFault, ref, nil
	}
	for _, r := range a.Ops {
		p, follows := h.PredicateOf(int(r.Txn), r.Op)
		if p == nil || !follows {
			continue
		}
		op := h.Ops(&h.Txns[r.Txn])[r.Op]
		if op.Kind != history.ReadNot {
			continue
		}
		if f := scans.FaultOf(h, int(r.Txn), p, op); f != scans.NoFault {
			return f, r, p
		}
	}
	return scans.NoFault, ref, nil
}

// faulty explains a statement whose result contradicts itself.
func (w words) faulty(f scans.Fault, r verdict.OpRef, p *history.Predicate) string {
	op, asked, who := w.ref(r), Printable(p.Asked()), w.introduce(r.Txn)
	row := Printable(rowOf(w.h, op.Key))
	switch f {
	case scans.WrongCount:
		return fmt.Sprintf("%s counted %s and got %d. The rows of no state of the table have this count.", who, asked, p.Count)
	case scans.WrongOrder:
		return fmt.Sprintf("%s looked for %s. It got %s, which was %s, behind a row that sorts after it.", who, asked, row, w.value(op.Value))
	case scans.OverLimit:
		return fmt.Sprintf("%s looked for %s. It got %s, too, which is one row more.", who, asked, row)
	}
	verb := "looked for"
	switch p.Kind {
	case history.ScanUpdate:
		verb = "changed"
	case history.ScanDelete:
		verb = "deleted"
	}
	if op.Value == history.Absent {
		return fmt.Sprintf("%s %s %s. %s was among them, and never fulfils the conditions.", who, verb, asked, row)
	}
	return fmt.Sprintf("%s %s %s. %s was among them. It was %s, which does not fulfil the conditions.", who, verb, asked, row, w.value(op.Value))
}

// duplicate explains a statement that returned or changed one row twice.
func (w words) duplicate(a *verdict.Anomaly) string {
	first, second := w.ref(a.Ops[0]), w.ref(a.Ops[1])
	p, _ := w.h.PredicateOf(int(a.Ops[0].Txn), a.Ops[0].Op)
	asked, row := Printable(p.Asked()), Printable(rowOf(w.h, first.Key))
	who := w.introduce(a.Ops[0].Txn)
	values := ""
	if first.Value != second.Value {
		values = fmt.Sprintf(", as %s and as %s", w.value(first.Value), w.value(second.Value))
	}
	switch {
	case first.Kind != history.Write:
		return fmt.Sprintf("%s looked for %s and got row %s twice%s. A row has one primary key, so one state has it once.", who, asked, row, values)
	case p.Kind == history.ScanDelete:
		return fmt.Sprintf("%s deleted %s, row %s twice. A row has one primary key, so a statement deletes it once.", who, asked, row)
	}
	if values != "" {
		values = fmt.Sprintf(", to %s and to %s", w.value(first.Value), w.value(second.Value))
	}
	return fmt.Sprintf("%s changed %s, row %s twice%s. A row has one primary key, so a statement changes it once.", who, asked, row, values)
}
