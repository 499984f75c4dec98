package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

var typeNames = map[Type]string{Int: "int", Text: "text"}

// MarshalText implements encoding.TextMarshaler.
func (t Type) MarshalText() ([]byte, error) {
	if name, ok := typeNames[t]; ok {
		return []byte(name), nil
	}
	return nil, errors.Errorf("there is no type %d of columns", int(t))
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Type) UnmarshalText(b []byte) error {
	for known, name := range typeNames {
		if name == string(b) {
			*t = known
			return nil
		}
	}
	return errors.Errorf("a column has the type %q, which this isohound does not know", b)
}

// MarshalJSON implements json.Marshaler.
func (x Index) MarshalJSON() ([]byte, error) {
	if x.Kind == Btree {
		return json.Marshal(x.Columns)
	}
	type plain Index
	return json.Marshal(plain(x))
}

// UnmarshalJSON implements json.Unmarshaler.
func (x *Index) UnmarshalJSON(b []byte) error {
	*x = Index{Kind: Btree}
	if b[0] == '[' {
		return json.Unmarshal(b, &x.Columns)
	}
	type plain Index
	return json.Unmarshal(b, (*plain)(x))
}

// Check reports errors in a schema: names that are missing or occur twice, columns without a
// type, indexes of columns that do not exist.
func (s Schema) Check() error {
	if len(s) == 1 && s[0] != nil && s[0].IsPlain() {
		return s[0].check()
	}
	seen := map[string]bool{}
	for _, t := range s {
		if t == nil || t.Name == "" {
			return errors.New("a table of the schema has no name")
		}
		if seen[t.Name] {
			return errors.Errorf("the schema has two tables %s", t.Name)
		}
		seen[t.Name] = true
		if err := t.check(); err != nil {
			return errors.Wrapf(err, "table %s", t.Name)
		}
	}
	return nil
}

func (t *Table) check() error {
	if len(t.Key) == 0 || len(t.Groups) == 0 {
		return errors.New("it needs a primary key and at least one group of columns")
	}
	groups, names := map[string]bool{}, map[string]bool{}
	columns := slices.Clone(t.Key)
	for _, g := range t.Groups {
		if groups[g.Name] || g.Name == "" && len(t.Groups) > 1 {
			return errors.Errorf("it has two groups %q, or one of several without a name", g.Name)
		}
		groups[g.Name] = true
		columns = append(columns, g.Columns...)
		if len(g.Columns) == 1 && g.Columns[0].Type == Text && g.Columns[0].Null {
			return errors.Errorf("column %s may be null and is the only one of its group, so a null looks like the text %s; put another column into the group", g.Columns[0].Name, null)
		}
	}
	for _, c := range columns {
		switch {
		case c.Name == "":
			return errors.New("a column has no name")
		case names[c.Name]:
			return errors.Errorf("it has two columns %s", c.Name)
		case typeNames[c.Type] == "":
			return errors.Errorf("column %s has no type", c.Name)
		}
		names[c.Name] = true
	}
	for _, c := range t.Key {
		if c.Null && !t.IsPlain() {
			return errors.Errorf("column %s of the primary key may not be null", c.Name)
		}
	}
	for _, index := range t.Indexes {
		switch {
		case !slices.Contains(IndexKinds, index.Kind):
			return errors.Errorf("an index has the kind %q; it must be one of %s", index.Kind, strings.Join(IndexKinds, ", "))
		case len(index.Columns) == 0:
			return errors.New("an index has no columns")
		case index.Kind == Hash && len(index.Columns) > 1:
			return errors.New("an index of kind hash has several columns")
		}
		for _, name := range index.Columns {
			if !names[name] {
				return errors.Errorf("an index names column %s, which does not exist", name)
			}
		}
	}
	return nil
}
