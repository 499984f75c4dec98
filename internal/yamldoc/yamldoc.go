// Package yamldoc reads YAML files that people write, and says what is wrong with them: in which line, and in words that do
// not speak of Go.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Problem is what is wrong in one place.
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

// Error is all that is wrong in one file or more, a line each.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Document is a file while it is read.
type Document struct {
	File string
	// Root is what the file holds, nil if that cannot be read.
	Root     *yaml.Node
	Problems []Problem
	// unread are the lines whose values could not be decoded.
	unread map[int]bool
}

// Parse parses a file, which holds one document. empty says what is wrong with an empty file, second what is with another
// document in it.
func Parse(file string, text []byte, empty, second string) *Document {
	d := &Document{File: file, unread: map[int]bool{}}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := dec.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New(empty)
		}
		d.Decoded(err)
		return d
	}
	d.Root = root.Content[0]
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		d.Add(0, "%s", second)
	}
	return d
}

// Add records a problem, once.
func (d *Document) Add(line int, format string, args ...any) {
	p := Problem{d.File, line, fmt.Sprintf(format, args...)}
	if !slices.Contains(d.Problems, p) {
		d.Problems = append(d.Problems, p)
	}
}

// At records a problem of the value at a path of keys and indices, unless that value could not be decoded.
func (d *Document) At(path []any, format string, args ...any) {
	if line := d.Line(path...); !d.unread[line] {
		d.Add(line, format, args...)
	}
}

// Err is an *Error of all problems in the order of their lines, or nil.
func (d *Document) Err() error {
	if len(d.Problems) == 0 {
		return nil
	}
	slices.SortStableFunc(d.Problems, func(a, b Problem) int { return a.Line - b.Line })
	return &Error{d.Problems}
}

var (
	atLine     = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (?s)(.*)$`)
	unknownKey = regexp.MustCompile(`^field (\S+) not found in type .*$`)
	wrongType  = regexp.MustCompile("^cannot unmarshal !!(\\w+)(?: `(.*)`)? into (.*)$")
)

// Decoded records an error of the decoder, in our words. It may be nil.
func (d *Document) Decoded(err error) {
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

func (d *Document) decoded(text string) {
	line := 0
	if m := atLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	if m := unknownKey.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("unknown key %q", m[1])
	}
	if m := wrongType.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("%s cannot stand here: expected %s", shown(m[1], m[2]), typeName(m[3]))
	}
	d.Add(line, "%s", strings.TrimPrefix(text, "yaml: "))
	d.unread[line] = line > 0
}

func shown(tag, value string) string {
	switch tag {
	case "seq":
		return "a list"
	case "map":
		return "keys with values"
	}
	return strconv.Quote(value)
}

func typeName(goType string) string {
	switch {
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	case goType == "bool":
		return "true or false"
	case goType == "string":
		return "a word"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	}
	return "keys with values"
}

// Line finds the line of the value at a path of keys and indices, or of the last part of the path that exists. That of a
// mapping or a list is the line of its key. The line of nothing is 0.
func (d *Document) Line(path ...any) int {
	n, line := d.Root, 0
	for _, step := range path {
		if n == nil {
			return line
		}
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		var next *yaml.Node
		switch step := step.(type) {
		case int:
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
				line = next.Line
			} else if n.Kind == yaml.ScalarNode && step == 0 {
				next = n // a list written as one word
			}
		case string:
			for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					next, line = n.Content[i+1], n.Content[i].Line
				}
			}
		}
		if n = next; n != nil && n.Kind == yaml.ScalarNode {
			line = max(line, n.Line)
		}
	}
	return line
}
