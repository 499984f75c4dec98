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
)

var faultNames = map[scans.Fault]string{scans.WrongRow: WrongRow, scans.WrongOrder: WrongOrder, scans.OverLimit: OverLimit, scans.WrongCount: WrongCount}

// fault says what is wrong with a statement whose result contradicts itself, and where: in operation
// at of transaction txn.
func fault(h *history.History, a *verdict.Anomaly) (f scans.Fault, ref verdict.OpRef, p *history.Predicate) {
	if a.Kind != verdict.Contradiction && a.Kind != verdict.NonRepeatableReads {
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
