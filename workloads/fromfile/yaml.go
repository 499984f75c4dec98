package fromfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pkg/errors"
	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/internal/suggest"
)

// phrase is a text of the file: a statement, a generator, the type of a column.
type phrase struct {
	node *yaml.Node
	s    string
}

// problems collects the errors of a file.
type problems struct {
	path  string
	lines []string
	list  []problem
}

type problem struct {
	line, column int
	text         string
}

// maxProblems is how many errors are told at once.
const maxProblems = 20

// err returns the errors in the order of the file, one a line.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b problem) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return a.column - b.column
	})
	var texts []string
	for _, e := range p.list[:min(len(p.list), maxProblems)] {
		texts = append(texts, fmt.Sprintf("%s:%d:%d: %s", p.path, e.line, e.column, e.text))
	}
	if n := len(p.list) - maxProblems; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(texts, "\n"))
}

// at adds an error at a node.
func (p *problems) at(n *yaml.Node, format string, args ...any) {
	p.list = append(p.list, problem{n.Line, n.Column, fmt.Sprintf(format, args...)})
}

// fail adds an error at a byte offset of a text.
func (p *problems) fail(t *phrase, at int, format string, args ...any) {
	line, column := p.place(t, at)
	p.list = append(p.list, problem{line, column, fmt.Sprintf(format, args...)})
}

// place finds the line and the column, both from 1, of a byte offset of a text. In a text that YAML
// folds or unescapes the place is that of its beginning.
func (p *problems) place(t *phrase, at int) (line, column int) {
	line, column = t.node.Line, t.node.Column
	before := t.s[:min(at, len(t.s))]
	if t.node.Style == yaml.LiteralStyle {
		line += 1 + strings.Count(before, "\n")
		before = before[strings.LastIndexByte(before, '\n')+1:]
		rest, _, _ := strings.Cut(t.s[at-len(before):], "\n")
		if line <= len(p.lines) {
			if indent := strings.Index(p.lines[line-1], rest); indent >= 0 {
				return line, indent + len(before) + 1
			}
		}
		return line, 1
	}
	if line > len(p.lines) || column > len(p.lines[line-1]) {
		return line, column
	}
	rest := p.lines[line-1][column-1:]
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, column = rest[1:], column+1
	}
	if strings.HasPrefix(rest, before) {
		column += len(before)
	}
	return line, column
}

type pair struct {
	key, value *yaml.Node
}

// pairs returns the entries of a mapping. Keys that occur twice are errors.
func (p *problems) pairs(n *yaml.Node, what string) (out []pair) {
	n = whole(n)
	if n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.at(n, "%s is a mapping, lines of name: value", what)
		return nil
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case k.Kind != yaml.ScalarNode:
			p.at(k, "a name is expected here")
		case seen[k.Value]:
			p.at(k, "%s has %s twice", what, k.Value)
		default:
			seen[k.Value] = true
			out = append(out, pair{k, whole(n.Content[i+1])})
		}
	}
	return out
}

// fields returns the entries of a mapping with known keys.
func (p *problems) fields(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	out := map[string]*yaml.Node{}
	for _, e := range p.pairs(n, what) {
		if !slices.Contains(known, e.key.Value) {
			p.at(e.key, "%s has no key %s%s; it has %s", what, e.key.Value, suggestion(e.key.Value, known), strings.Join(known, ", "))
			continue
		}
		out[e.key.Value] = e.value
	}
	return out
}

// items returns the entries of a list.
func (p *problems) items(n *yaml.Node, what string) []*yaml.Node {
	n = whole(n)
	if n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.at(n, "%s is a list, lines that begin with -", what)
		return nil
	}
	var out []*yaml.Node
	for _, item := range n.Content {
		out = append(out, whole(item))
	}
	return out
}

// scalar returns the text of a scalar.
func (p *problems) scalar(n *yaml.Node, what string) *phrase {
	n = whole(n)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		p.at(n, "%s is one text", what)
		return nil
	}
	return &phrase{n, n.Value}
}

// whole follows an alias.
func whole(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// suggestion names what may have been meant by a word: "; did you mean tables?".
func suggestion(typed string, known []string) string {
	best := suggest.Closest(typed, known)
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
