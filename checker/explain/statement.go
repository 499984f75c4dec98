package explain

import (
	"fmt"
	"strings"

	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/history"
)

// verbs are the first words of statements with conditions, by the kind of predicate.
var verbs = map[string]string{
	history.ScanRead: "scan", history.ScanUpdate: "update", history.ScanDelete: "delete", history.ScanCount: "count",
}

// Question says what a statement with conditions asked for: "scan t where v > 10 order by v desc
// limit 3".
func Question(p *history.Predicate) string {
	table := p.Table
	if table == "" {
		table = "keys"
	}
	text := verbs[p.Kind] + " " + table
	if len(p.Where) > 0 {
		text += " where " + p.Conditions()
	}
	for n, column := range p.Order {
		word := ", "
		if n == 0 {
			word = " order by "
		}
		if name, down := strings.CutPrefix(column, "-"); down {
			column = name + " desc"
		}
		text += word + column
	}
	if p.Limit > 0 {
		text += fmt.Sprintf(" limit %d", p.Limit)
	}
	return oneLine(text)
}

// oneLine is Printable, with line ends escaped, too.
func oneLine(s string) string { return strings.ReplaceAll(Printable(s), "\n", `\n`) }

// newStatement describes a predicate of the transaction at index i in one line: what it asked for,
// the rows that it returned or changed, and rows that it did not find. Of these it has those with an
// operation that both shown and near choose. Too long a list is shortened: rows that near chooses
// stay, and the rest is counted.
func newStatement(h *history.History, i int, p *history.Predicate, shown, near func(op int) bool) Op {
	ops := h.Ops(&h.Txns[i])
	returned := p.Ops[0] + p.Implied
	found, missed := tuples{}, tuples{}
	for n := returned; n < p.Ops[1]; n++ {
		found.get(rowOf(h, ops[n].Key)).add(h, p, ops[n])
	}
	for _, name := range p.Omitted {
		found.get(h.Schema.RowOf(name)).hidden = true
	}
	o := Op{}
	for n := p.Ops[0]; n < p.Ops[1]; n++ {
		row := rowOf(h, ops[n].Key)
		list := &missed
		if found.find(row) != nil || p.Kind == history.ScanCount && scans.Counted(h, p, ops[n]) {
			list = &found
		}
		t := list.find(row)
		if shown(n) && (n >= returned || near(n)) {
			o.items = append(o.items, newOp(h, i, n))
			if !impossible(h, p, ops, n) {
				t = list.get(row)
				t.hidden = false
			}
		}
		o.near = o.near || near(n)
		if t != nil {
			t.near = t.near || near(n)
		}
	}
	o.text = Question(p) + " -> "
	switch {
	case p.Kind == history.ScanCount:
		o.text += fmt.Sprint(p.Count) + found.titled("counted") + missed.titled("not counted")
	case len(found.list) == 0:
		o.text += "nothing" + missed.titled("not found")
	default:
		o.text += found.String() + missed.titled("not found")
	}
	return o
}

// impossible reports whether operation n says of a statement that counted that no state has this
// count, and nothing about its row: it excludes the version that another operation of the statement
// read, or the only one of the item.
func impossible(h *history.History, p *history.Predicate, ops []history.Op, n int) bool {
	op := ops[n]
	if p.Kind != history.ScanCount {
		return false
	}
	for _, other := range ops[p.Ops[0]:p.Ops[1]] {
		if other.Key == op.Key && other.Value == op.Value && other.Kind != op.Kind {
			return true
		}
	}
	if op.Kind != history.ReadNot || op.Value != h.Initial(op.Key) {
		return false
	}
	for i := range h.Txns {
		for _, other := range h.Ops(&h.Txns[i]) {
			if other.Kind == history.Write && other.Key == op.Key && other.Value != op.Value {
				return false
			}
		}
	}
	return true
}

// tuples are rows of a statement, in the order in which they were added.
type tuples struct {
	list []*tuple
	at   map[string]*tuple
}

// tuple is a row of a statement.
type tuple struct {
	name  string
	items []tupleItem
	// near rows are listed first. hidden rows are counted only: a part of a history leaves out their
	// values.
	near, hidden bool
}

// tupleItem is what a statement did with an item of a row.
type tupleItem struct {
	key  history.Key
	text string // such as t(1).a=12->13
}

func (l *tuples) find(name string) *tuple { return l.at[name] }

// get finds a row or adds it.
func (l *tuples) get(name string) *tuple {
	t := l.at[name]
	if t == nil {
		if l.at == nil {
			l.at = map[string]*tuple{}
		}
		t = &tuple{name: name}
		l.at[name] = t
		l.list = append(l.list, t)
	}
	return t
}

// titled is the list after a semicolon and a title, or nothing if there are no rows.
func (l *tuples) titled(title string) string {
	if len(l.list) == 0 {
		return ""
	}
	return "; " + title + ": " + l.String()
}

// add adds an operation of p on the row. A deletion leaves no value.
func (t *tuple) add(h *history.History, p *history.Predicate, op history.Op) {
	if n := len(t.items); n == 0 || t.items[n-1].key != op.Key {
		t.items = append(t.items, tupleItem{op.Key, h.KeyName(op.Key)})
	}
	item := &t.items[len(t.items)-1]
	switch {
	case op.Kind != history.Write:
		item.text += "=" + h.ValueText(op.Value)
	case p.Kind != history.ScanDelete || op.Value != history.Absent:
		item.text += "->" + h.ValueText(op.Value)
	}
}

func (t *tuple) String() string {
	if len(t.items) == 0 {
		return oneLine(t.name)
	}
	texts := make([]string, len(t.items))
	for i := range t.items {
		texts[i] = t.items[i].text
	}
	return oneLine(strings.Join(texts, ", "))
}

// maxTuples bounds the rows in a list.
const maxTuples = 8

// String lists rows that are not hidden, near ones before others if there are too many, and counts
// the rest.
func (l *tuples) String() string {
	pick := map[*tuple]bool{}
	for _, near := range []bool{true, false} {
		for _, t := range l.list {
			if !t.hidden && t.near == near && len(pick) < maxTuples {
				pick[t] = true
			}
		}
	}
	var texts []string
	for _, t := range l.list {
		if pick[t] {
			texts = append(texts, t.String())
		}
	}
	switch rest := len(l.list) - len(texts); {
	case rest > 0 && len(texts) > 0:
		texts = append(texts, fmt.Sprintf("… %d more", rest))
	case rest == 1:
		return "1 row"
	case rest > 0:
		return fmt.Sprintf("%d rows", rest)
	}
	return strings.Join(texts, ", ")
}

// steps lists what the transaction at index i did, in order: operations, and statements with
// conditions. shown chooses operations; nil is all. near is as for newStatement; nil is all. more
// counts the operations and statements that are left out.
func steps(h *history.History, i int, shown, near func(op int) bool) (list []Op, more int) {
	every := func(int) bool { return true }
	all := shown == nil
	if all {
		shown = every
	}
	if near == nil {
		near = every
	}
	ops, done := h.Ops(&h.Txns[i]), 0
	plain := func(to int) {
		for ; done < to; done++ {
			if shown(done) {
				op := newOp(h, i, done)
				op.near = near(done)
				list = append(list, op)
			} else {
				more++
			}
		}
	}
	predicates := h.Predicates(i)
	for n := range predicates {
		p := &predicates[n]
		if p.Ops[0] < done { // statements that overlap are not judged
			continue
		}
		plain(p.Ops[0])
		s := newStatement(h, i, p, shown, near)
		s.text += openText(h, history.ScanRef{Txn: i, Number: n})
		if all || len(s.items) > 0 || len(p.Choices) > p.AddedChoices {
			list = append(list, s)
		} else {
			more++
		}
		done = p.Ops[1]
	}
	plain(len(ops))
	return list, more
}

// Steps lists the operations and statements with conditions of the transaction at index i, but not
// statements without operations and choices: in a sub-history they are not needed.
func Steps(h *history.History, i int) []Op {
	list, _ := steps(h, i, func(int) bool { return true }, nil)
	return append([]Op{}, list...)
}
