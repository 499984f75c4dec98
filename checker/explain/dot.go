package explain

import (
	"fmt"
	"strings"

	"github.com/isohound/isohound/history"
)

// DOT writes the dependency graph in Graphviz's language. Kinds of edges differ by label, style and
// width. Edges that are only context are grey. Long values in labels are cut, as in GraphSVG.
func DOT(p *Picture) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph counterexample {\n  label=%s; labelloc=t; rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"Helvetica\"];\n  edge [fontname=\"Courier\", fontsize=11];\n", quoted(p.Title))
	for _, t := range p.Txns {
		lines := []string{fmt.Sprintf("T%d", t.ID), where(t)}
		for _, o := range t.Shown() {
			lines = append(lines, clip(brief(oneLine(o.String())), maxBrief))
		}
		fmt.Fprintf(&b, "  %s [label=%s];\n", quoted(fmt.Sprintf("T%d", t.ID)), quoted(strings.Join(lines, "\n")))
	}
	styles := map[string]string{"SO": "style=dotted", "RT": "style=\"dashed,bold\"", "WR": "style=solid", "WW": "style=solid, penwidth=3", "VO": "style=dashed, penwidth=3", "VS": "style=\"solid,bold\"", "NV": "style=\"dashed,bold\"", "RW": "style=dashed",
		predicateWR: "style=solid", predicateRW: "style=dashed", Maybe: "style=dotted, penwidth=0.7"}
	write := func(edges []Edge, more string) {
		for _, e := range edges {
			fmt.Fprintf(&b, "  %s -> %s [label=%s, tooltip=%s, %s%s];\n", quoted(fmt.Sprintf("T%d", e.From)), quoted(fmt.Sprintf("T%d", e.To)),
				quoted(strings.Join(dotLabel(e), "\n")), quoted(e.Text), styles[e.drawn()], more)
		}
	}
	write(p.Cycle, "")
	write(p.Context, ", color=gray50, fontcolor=gray30")
	b.WriteString("}\n")
	return b.String()
}

func dotLabel(e Edge) []string {
	if e.Scan == "" {
		return labelLines(e)
	}
	lines := strings.Split(e.label(), "\n")
	for n := range lines {
		lines[n] = clip(brief(lines[n]), maxBrief)
	}
	return lines
}

// quoted returns s as a DOT string. Backslashes are escapes there, and a line end in a label is \n.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(Printable(s)) + `"`
}

// label is the text of an edge.
func (e Edge) label() string {
	switch {
	case e.Key == "":
		return e.Kind
	case e.Scan != "":
		return e.drawn() + " " + e.Scan + "\n" + e.sought()
	}
	return e.Kind + " " + e.Key + " = " + e.Value
}

// sought says whether the statement of the edge found its row, or counted it.
func (e Edge) sought() string {
	verb := "found"
	if strings.HasPrefix(e.Scan, verbs[history.ScanCount]+" ") {
		verb = "counted"
	}
	if e.Missed {
		verb = "not " + verb
	}
	return verb + ": " + e.Key
}

// where returns the session of a transaction, its node, and its number in the database, if these
// are known.
func where(t Txn) string {
	s := fmt.Sprintf("session %d", t.Session)
	if t.Node > 0 {
		s += fmt.Sprintf(", node %d", t.Node)
	}
	if t.DBTxn != 0 {
		s += fmt.Sprintf(", db %d", t.DBTxn)
	}
	return s
}

// Shown are the operations that a picture shows.
func (t Txn) Shown() []Op {
	if t.Kept != nil {
		return t.Kept
	}
	return t.Ops
}

// clip shortens a text to n characters.
func clip(s string, n int) string {
	r := []rune(strings.ReplaceAll(s, "\n", "\\n"))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}

// wrap breaks a text at its spaces into at most n lines of that many characters, and shortens what
// does not fit.
func wrap(s string, width, n int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		last := len(lines) - 1
		switch {
		case last >= 0 && len([]rune(lines[last]))+1+len([]rune(word)) <= width:
			lines[last] += " " + word
		case len(lines) < n:
			lines = append(lines, clip(word, width))
		default:
			lines[last] = clip(lines[last]+" …", width)
			return lines
		}
	}
	return lines
}
