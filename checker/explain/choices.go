package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// maxCases bounds the cases of a text.
const maxCases = 6

// noChoice explains why no way to choose has an execution.
func (w words) noChoice(a *verdict.Anomaly) string {
	var b strings.Builder
	told := map[history.ScanRef]bool{}
	for _, r := range a.Choices {
		if told[r.Scan()] {
			continue
		}
		told[r.Scan()] = true
		p := &w.h.Predicates(r.Txn)[r.Predicate]
		who := w.introduce(int32(r.Txn))
		if p.Kind == history.ScanCount {
			fmt.Fprintf(&b, "%s counted %s and got %d, which does not say which rows these were.\n", who, Printable(p.Asked()), p.Count)
		} else {
			fmt.Fprintf(&b, "%s %s %s. A row can be missing there for several reasons.\n", who, pastVerbs[p.Kind], Printable(p.Asked()))
		}
	}
	n := 0
	for i := range a.Cases {
		x := &a.Cases[i]
		if x.Opposed {
			continue
		}
		if n++; n > maxCases {
			continue
		}
		var ifs []string
		for _, s := range x.Assumed {
			ifs = append(ifs, fmt.Sprintf("T%d %s", w.h.Txns[s.Txn].ID, SeenText(w.h, s.ScanRef, s.Seen)))
		}
		name := ""
		if len(x.Anomaly.Names) > 0 {
			name = " (" + x.Anomaly.Name() + ")"
		}
		fmt.Fprintf(&b, "%d. If %s%s: %s\n", n, strings.Join(ifs, " and "), name, strings.ReplaceAll(x.Anomaly.Text, "\n", "\n   "))
	}
	if more := n - maxCases; more > 0 {
		fmt.Fprintf(&b, "… and %d more cases.\n", more)
	}
	b.WriteString("There is no other way, so no execution explains what the statement returned.")
	return b.String()
}

var pastVerbs = map[string]string{history.ScanRead: "looked for", history.ScanUpdate: "changed", history.ScanDelete: "deleted", history.ScanCount: "counted"}

// SeenText says in words what a statement saw in an alternative of a choice: "counted t(4)", "did not find t(5),
// because t(5).a was not 12".
func SeenText(h *history.History, at history.ScanRef, list []history.Seen) string {
	p := &h.Predicates(at.Txn)[at.Number]
	found, missed := "found", "did not find"
	if p.Kind == history.ScanCount {
		found, missed = "counted", "did not count"
	}
	var rows []string
	said := map[string][]string{} // by row: why it was not found
	shown := map[string]bool{}
	for i := range list {
		op := h.Op(&list[i])
		row := rowOf(h, op.Key)
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		if scans.Counted(h, p, op) {
			shown[row] = true
			continue
		}
		name, value := brief(oneLine(h.KeyName(op.Key))), brief(oneLine(h.ValueText(op.Value)))
		switch {
		case op.Kind == history.ReadNot:
			said[row] = append(said[row], name+" was not "+value)
		case op.Value == history.Absent:
			said[row] = append(said[row], name+" did not exist")
		default:
			said[row] = append(said[row], name+" was "+value)
		}
	}
	var out []string
	for _, row := range rows {
		if why := said[row]; len(why) > 0 && !shown[row] {
			out = append(out, fmt.Sprintf("%s %s, because %s", missed, Printable(row), shorten(why)))
		} else {
			out = append(out, found+" "+Printable(row))
		}
	}
	return strings.Join(out, " and ")
}

// openText says what a statement of a counterexample leaves open.
func openText(h *history.History, at history.ScanRef) string {
	p := &h.Predicates(at.Txn)[at.Number]
	text := ""
	for _, c := range p.Choices[:len(p.Choices)-p.AddedChoices] {
		var list []string
		for _, seen := range c {
			list = append(list, SeenText(h, at, seen))
		}
		text += "; it " + alternatives(list)
	}
	return text
}

// shorten joins reasons, and counts those that are too many.
func shorten(list []string) string {
	if more := len(list) - maxAlternatives; more > 1 {
		list = append(list[:maxAlternatives:maxAlternatives], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, " and ")
}
