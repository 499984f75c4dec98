package catalogue

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
	"go.yaml.in/yaml/v3"
)

// Problem is an error in a scenario's file.
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

// FormatError is all problems in the files of a catalogue.
type FormatError struct{ Problems []Problem }

func (e *FormatError) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// UnmarshalYAML accepts a list or one word.
func (l *List) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		var one string
		if err := n.Decode(&one); err != nil {
			return err
		}
		*l = List{one}
		return nil
	}
	return n.Decode((*[]string)(l))
}

// UnmarshalYAML accepts a time such as 1m30s.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	var text string
	if err := n.Decode(&text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: expected a time such as 1m30s, not %q", n.Line, text)}}
	}
	*d = Duration(parsed)
	return nil
}

// document is a scenario's file while it is read, with positions.
type document struct {
	file     string
	root     *yaml.Node
	problems []Problem
	// unread are the lines whose values could not be read.
	unread map[int]bool
}

// read decodes one file strictly: an unknown or repeated key is a problem. The scenario contains
// whatever could be read.
func read(file string, text []byte) (*Scenario, *document) {
	s, d := &Scenario{File: file}, &document{file: file, unread: map[int]bool{}}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := dec.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		d.decoding(err)
		return s, d
	}
	d.root = root.Content[0]
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		d.add(0, "a file holds one scenario; there is a second document")
	}
	strict := yaml.NewDecoder(bytes.NewReader(text))
	strict.KnownFields(true)
	d.decoding(strict.Decode(s))
	if len(d.problems) > 0 && s.Name == "" && s.Driver == "" {
		d.root = nil // nothing was read; otherwise every key would be reported as missing
	}
	return s, d
}

var (
	atLine     = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (.*)$`)
	unknownKey = regexp.MustCompile(`^field (\S+) not found in type .*$`)
	wrongType  = regexp.MustCompile("^cannot unmarshal !!(\\w+)(?: `(.*)`)? into (.*)$")
)

// decoding records the decoder's errors, in our words.
func (d *document) decoding(err error) {
	var many *yaml.TypeError
	switch {
	case err == nil:
		return
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
	if m := unknownKey.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("unknown key %q", m[1])
	}
	if m := wrongType.FindStringSubmatch(text); m != nil {
		what := strings.TrimSpace(m[1] + " " + m[2])
		text = fmt.Sprintf("%s cannot stand here: expected %s", what, typeName(m[3]))
	}
	d.add(line, "%s", strings.TrimPrefix(text, "yaml: "))
	d.unread[line] = line > 0
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

func (d *document) add(line int, format string, args ...any) {
	p := Problem{d.file, line, fmt.Sprintf(format, args...)}
	if !slices.Contains(d.problems, p) {
		d.problems = append(d.problems, p)
	}
}

// at records a problem of the value at a path of keys and indices, unless that value could not
// be read.
func (d *document) at(path []any, format string, args ...any) {
	if line := d.line(path); !d.unread[line] {
		d.add(line, format, args...)
	}
}

// line finds the line of the value at a path, or of the last part of the path that exists.
func (d *document) line(path []any) int {
	n, line := d.root, 0
	for _, step := range path {
		if n == nil {
			return line
		}
		var next *yaml.Node
		switch step := step.(type) {
		case int:
			if n.Kind == yaml.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
			} else if n.Kind == yaml.ScalarNode && step == 0 {
				next = n // a list written as one word
			}
		case string:
			for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					next = n.Content[i+1]
					line = n.Content[i].Line
				}
			}
		}
		if n = next; n != nil && line < n.Line && n.Kind != yaml.MappingNode && n.Kind != yaml.SequenceNode {
			line = n.Line
		} else if n != nil {
			if _, isIndex := step.(int); isIndex {
				line = n.Line
			}
		}
	}
	return line
}
