package catalogue

import (
	"bytes"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/internal/yamldoc"
)

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

// document is a scenario's file while it is read.
type document struct{ *yamldoc.Document }

// read decodes one file strictly: an unknown or repeated key is a problem. The scenario contains
// whatever could be read.
func read(file string, text []byte) (*Scenario, *document) {
	s := &Scenario{File: file}
	d := &document{yamldoc.Parse(file, text, "the file is empty", "a file holds one scenario; there is a second document")}
	if d.Root == nil {
		return s, d
	}
	strict := yaml.NewDecoder(bytes.NewReader(text))
	strict.KnownFields(true)
	d.Decoded(strict.Decode(s))
	if len(d.Problems) > 0 && s.Name == "" && s.Driver == "" {
		d.Root = nil // nothing was read; otherwise every key would be reported as missing
	}
	return s, d
}
