package hunt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is an error in a plan.
type Problem struct {
	File string
	Line int // 0 is the whole file
	Text string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// PlanError is all problems of a plan.
type PlanError struct{ Problems []Problem }

func (e *PlanError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// document is a plan's file while it is read, with positions.
type document struct {
	file     string
	root     *yaml.Node
	problems []Problem
}

// Read reads a plan strictly. All problems that are found make one PlanError.
func Read(file string, text []byte) (*Plan, error) {
	d := &document{file: file}
	p := &Plan{document: d}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := dec.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty; isohound hunt --init writes a plan")
		}
		d.decoding(err)
		return nil, d.err()
	}
	d.root = root.Content[0]
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		d.add(0, "a file holds one plan; there is a second document")
	}
	d.keys(d.root, reflect.TypeFor[Plan]())
	d.decoding(d.root.Decode(p))
	if len(d.problems) > 0 {
		return nil, d.err()
	}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	p.validate()
	return p, d.err()
}

func (d *document) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return a.Line - b.Line })
	return &PlanError{d.problems}
}

func (d *document) add(line int, format string, args ...any) {
	p := Problem{d.file, line, fmt.Sprintf(format, args...)}
	if !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

var (
	atLine    = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (?s)(.*)$`)
	wrongType = regexp.MustCompile("^cannot unmarshal !!(\\w+)(?: `(.*)`)? into (.*)$")
)

// decoding records the decoder's errors, in our words.
func (d *document) decoding(err error) {
	var many *yaml.TypeError
	switch {
	case err == nil:
	case errors.As(err, &many):
		for _, text := range many.Errors {
			d.decoded(text)
		}
	default:
		d.decoded(err.Error())
	}
}

func (d *document) decoded(text string) {
	line := 0
	if m := atLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	if m := wrongType.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("%s cannot stand here: expected %s", strings.TrimSpace(m[1]+" "+m[2]), typeName(m[3]))
	}
	d.add(line, "%s", strings.TrimPrefix(text, "yaml: "))
}

func typeName(goType string) string {
	switch {
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case goType == "string":
		return "a word"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	}
	return "keys with values"
}

// fields are the keys of a struct in a plan, in order.
func fields(t reflect.Type) []reflect.StructField {
	var out []reflect.StructField
	for n := range t.NumField() {
		if f := t.Field(n); f.IsExported() && f.Tag.Get("yaml") != "-" {
			out = append(out, f)
		}
	}
	return out
}

func keyOf(f reflect.StructField) string { return f.Tag.Get("yaml") }

// keys looks for unknown and missing keys, and for words that are not allowed, below a node of type t.
func (d *document) keys(n *yaml.Node, t reflect.Type) {
	switch {
	case n.Kind == yaml.AliasNode:
		d.keys(n.Alias, t)
		return
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			d.keys(item, t.Elem())
		}
		return
	case t.Kind() != reflect.Struct || t == reflect.TypeFor[Values]():
		return
	case n.Kind != yaml.MappingNode:
		d.add(n.Line, "%s cannot stand here: expected keys with values", shown(n))
		return
	}
	all, seen := fields(t), map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(all, func(f reflect.StructField) bool { return keyOf(f) == key.Value })
		if at < 0 {
			d.unknown(key, all)
		} else {
			d.allowed(key.Value, value, all[at])
			d.keys(value, all[at].Type)
		}
		seen[key.Value] = true
	}
	for _, f := range all {
		if f.Tag.Get("required") != "" && !seen[keyOf(f)] {
			d.add(n.Line, "%s is missing", keyOf(f))
		}
	}
}

// allowed looks whether a value is one of the words, or at least the number, that its key allows.
func (d *document) allowed(key string, value *yaml.Node, f reflect.StructField) {
	if words := f.Tag.Get("enum"); words != "" && value.Kind == yaml.ScalarNode {
		if list := strings.Split(words, ","); !slices.Contains(list, value.Value) {
			d.add(value.Line, "%s: unknown value %q; known are %s%s", key, value.Value, strings.Join(list, ", "), meant(value.Value, list))
		}
	}
	if low := f.Tag.Get("min"); low != "" {
		if n, err := strconv.Atoi(value.Value); err == nil && n < 0 {
			d.add(value.Line, "%s must not be below %s", key, low)
		}
	}
	if f.Tag.Get("required") != "" && (value.Tag == "!!null" || value.Kind == yaml.SequenceNode && len(value.Content) == 0) {
		d.add(value.Line, "%s is empty", key)
	}
}

func (d *document) unknown(key *yaml.Node, all []reflect.StructField) {
	var names []string
	for _, f := range all {
		names = append(names, keyOf(f))
	}
	guess := meant(key.Value, names)
	if guess == "" {
		guess = "; known here are " + strings.Join(names, ", ")
	}
	d.add(key.Line, "unknown key %q%s", key.Value, guess)
}

// meant suggests the word that was probably meant: one that differs in few letters, or begins alike.
func meant(word string, known []string) string {
	best, least := "", len(word)/3+2
	for _, k := range known {
		far := distance(strings.ToLower(word), k)
		if len(word) >= 3 && (strings.HasPrefix(k, word) || strings.HasPrefix(word, k)) {
			far = min(far, 2)
		}
		if far < least {
			best, least = k, far
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of letters to insert, remove, change or exchange with the next one that make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0:
				rows[i][j] = j
			case j == 0:
				rows[i][j] = i
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
				}
			}
		}
	}
	return rows[len(a)][len(b)]
}

// line finds the line of the value at a path of keys and indices, or of the last part of it that exists.
func (d *document) line(path ...any) int {
	n, line := d.root, 1
	for _, step := range path {
		var next *yaml.Node
		switch step := step.(type) {
		case int:
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
				line = next.Line
			}
		case string:
			for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					next, line = n.Content[i+1], n.Content[i].Line
				}
			}
		}
		if next == nil {
			return line
		}
		if n = next; n.Kind == yaml.AliasNode {
			n = n.Alias
		}
	}
	return line
}
