package hunt

import (
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/internal/suggest"
	"github.com/isohound/isohound/internal/yamldoc"
)

// document is a plan's file while it is read.
type document struct{ *yamldoc.Document }

// Read reads a plan strictly. All problems that are found make one *yamldoc.Error.
func Read(file string, text []byte) (*Plan, error) { return read(file, text, nil) }

// Reread reads a plan for the page of what was run, which connects to nothing: environment variables of DSNs need not be set.
// driver is the driver that a target of a plan had, "" if no run tells it.
func Reread(file string, text []byte, driver func(plan, target string) string) (*Plan, error) {
	return read(file, text, driver)
}

func read(file string, text []byte, driver func(plan, target string) string) (*Plan, error) {
	d := &document{yamldoc.Parse(file, text, "the file is empty; isohound hunt --init writes a plan", "a file holds one plan; there is a second document")}
	if d.Root == nil {
		return nil, d.Err()
	}
	p := &Plan{document: d, driverBefore: driver}
	d.keys(d.Root, reflect.TypeFor[Plan]())
	d.Decoded(d.Root.Decode(p))
	if len(d.Problems) > 0 {
		return nil, d.Err()
	}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	p.validate()
	return p, d.Err()
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
		d.Add(n.Line, "%s cannot stand here: expected keys with values", shown(n))
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
			d.Add(n.Line, "%s is missing", keyOf(f))
		}
	}
}

// allowed looks whether a value is one of the words, or at least the number, that its key allows.
func (d *document) allowed(key string, value *yaml.Node, f reflect.StructField) {
	if words := f.Tag.Get("enum"); words != "" && value.Kind == yaml.ScalarNode {
		if list := strings.Split(words, ","); !slices.Contains(list, value.Value) {
			d.Add(value.Line, "%s: unknown value %q; known are %s%s", key, value.Value, strings.Join(list, ", "), suggest.Meant(value.Value, list))
		}
	}
	if low := f.Tag.Get("min"); low != "" {
		least, _ := strconv.Atoi(low)
		if n, err := strconv.Atoi(value.Value); err == nil && n < least && value.ShortTag() == "!!int" { // a text is told as one
			d.Add(value.Line, "%s must not be below %s", key, low)
		}
	}
	if f.Tag.Get("required") != "" && (value.Tag == "!!null" || value.Kind == yaml.SequenceNode && len(value.Content) == 0) {
		d.Add(value.Line, "%s is empty", key)
	}
}

func (d *document) unknown(key *yaml.Node, all []reflect.StructField) {
	var names []string
	for _, f := range all {
		names = append(names, keyOf(f))
	}
	guess := suggest.Meant(key.Value, names)
	if guess == "" {
		guess = "; known here are " + strings.Join(names, ", ")
	}
	d.Add(key.Line, "unknown key %q%s", key.Value, guess)
}
