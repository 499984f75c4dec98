package mongotest

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// matches reports whether a document matches a filter ("Query Predicates" in the manual): each
// condition is a value, a regular expression, a document of operators, or $and of filters.
func matches(doc, filter bson.Raw) (bool, *commandError) {
	elems, err := filter.Elements()
	if err != nil {
		return false, fail(BadValue, err.Error())
	}
	for _, e := range elems {
		if e.Key() == "$and" {
			for _, part := range array(e.Value()) {
				if ok, err := matches(doc, part.Document()); err != nil || !ok {
					return false, err
				}
			}
			continue
		}
		if ok, err := fulfils(at(doc, e.Key()), e.Value()); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// at returns the value at a path, and a null where there is none.
func at(doc bson.Raw, path string) bson.RawValue {
	if v, err := doc.LookupErr(strings.Split(path, ".")...); err == nil {
		return v
	}
	return bson.RawValue{Type: bson.TypeNull}
}

func array(v bson.RawValue) []bson.RawValue {
	a, ok := v.ArrayOK()
	if !ok {
		return nil
	}
	values, _ := a.Values()
	return values
}

func fulfils(v, condition bson.RawValue) (bool, *commandError) {
	if pattern, _, ok := condition.RegexOK(); ok {
		expr, err := regexp.Compile(pattern)
		if err != nil {
			return false, fail(BadValue, err.Error())
		}
		text, isText := v.StringValueOK()
		return isText && expr.MatchString(text), nil
	}
	operators, ok := condition.DocumentOK()
	if !ok {
		return equal(v, condition), nil
	}
	elems, err := operators.Elements()
	if err != nil || len(elems) == 0 || !strings.HasPrefix(elems[0].Key(), "$") {
		return equal(v, condition), nil
	}
	for _, e := range elems {
		if ok, err := operator(e.Key(), v, e.Value()); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func operator(name string, v, operand bson.RawValue) (bool, *commandError) {
	in := func() bool {
		return slices.ContainsFunc(array(operand), func(x bson.RawValue) bool { return equal(v, x) })
	}
	switch name {
	case "$eq":
		return equal(v, operand), nil
	case "$ne":
		return !equal(v, operand), nil
	case "$in":
		return in(), nil
	case "$nin":
		return !in(), nil
	}
	// Comparisons match values of the operand's type only ("Comparison/Sort Order", type bracketing).
	c, comparable := compare(v, operand)
	switch name {
	case "$lt":
		return comparable && c < 0, nil
	case "$lte":
		return comparable && c <= 0, nil
	case "$gt":
		return comparable && c > 0, nil
	case "$gte":
		return comparable && c >= 0, nil
	}
	return false, fail(BadValue, "unknown operator: "+name)
}

func equal(a, b bson.RawValue) bool {
	if c, ok := compare(a, b); ok {
		return c == 0
	}
	return a.Type == b.Type && bytes.Equal(a.Value, b.Value)
}

// compare orders two integers or two strings. It returns false for all other values.
func compare(a, b bson.RawValue) (int, bool) {
	x, isInt := a.AsInt64OK()
	y, alike := b.AsInt64OK()
	if isInt && alike {
		return cmp.Compare(x, y), true
	}
	s, isText := a.StringValueOK()
	t, alike := b.StringValueOK()
	return strings.Compare(s, t), isText && alike
}

// arrange sorts documents by the fields of an order.
func arrange(docs []bson.Raw, order bson.Raw) {
	elems, _ := order.Elements()
	slices.SortFunc(docs, func(a, b bson.Raw) int {
		for _, e := range elems {
			direction, _ := e.Value().AsInt64OK()
			if c, _ := compare(at(a, e.Key()), at(b, e.Key())); c != 0 {
				return c * int(direction)
			}
		}
		return 0
	})
}

// changed returns what an update leaves of a document: $set and $inc, or a pipeline of $set.
func changed(doc bson.Raw, u bson.RawValue) (bson.Raw, *commandError) {
	fields := bson.D{}
	if err := bson.Unmarshal(doc, &fields); err != nil {
		return nil, fail(BadValue, err.Error())
	}
	set := func(name string, v any) {
		for i := range fields {
			if fields[i].Key == name {
				fields[i].Value = v
				return
			}
		}
		fields = append(fields, bson.E{Key: name, Value: v})
	}
	stages, isPipeline := array(u), u.Type == bson.TypeArray
	if !isPipeline {
		stages = []bson.RawValue{u}
	}
	for _, stage := range stages {
		operators, _ := stage.Document().Elements()
		for _, o := range operators {
			parts, _ := o.Value().Document().Elements()
			for _, e := range parts {
				switch {
				case o.Key() == "$set" && isPipeline:
					// All expressions of a stage see the document before the stage.
					v, err := evaluate(doc, e.Value())
					if err != nil {
						return nil, err
					}
					set(e.Key(), v)
				case o.Key() == "$set":
					set(e.Key(), e.Value())
				case o.Key() == "$inc" && !isPipeline:
					before, _ := at(doc, e.Key()).AsInt64OK()
					summand, _ := e.Value().AsInt64OK()
					set(e.Key(), before+summand)
				default:
					return nil, fail(BadValue, "this server knows $set, and $inc outside pipelines")
				}
			}
		}
	}
	out, err := bson.Marshal(fields)
	if err != nil {
		return nil, fail(BadValue, err.Error())
	}
	return out, nil
}

// evaluate evaluates an expression of a pipeline: the name of a field, $literal, $add or $concat.
// With a null the last two give a null.
func evaluate(doc bson.Raw, e bson.RawValue) (any, *commandError) {
	if name, ok := e.StringValueOK(); ok && strings.HasPrefix(name, "$") {
		return at(doc, name[1:]), nil
	}
	expression, ok := e.DocumentOK()
	if !ok {
		return e, nil
	}
	o := expression.Index(0)
	if o.Key() == "$literal" {
		return o.Value(), nil
	}
	if o.Key() != "$add" && o.Key() != "$concat" {
		return nil, fail(BadValue, "unknown expression: "+o.Key())
	}
	var sum int64
	var text string
	for _, operand := range array(o.Value()) {
		v, err := evaluate(doc, operand)
		if err != nil {
			return nil, err
		}
		part := v.(bson.RawValue)
		if part.Type == bson.TypeNull {
			return part, nil
		}
		n, isInt := part.AsInt64OK()
		s, isText := part.StringValueOK()
		if o.Key() == "$add" && !isInt || o.Key() == "$concat" && !isText {
			return nil, fail(BadValue, o.Key()+" of a value of another type")
		}
		sum, text = sum+n, text+s
	}
	if o.Key() == "$add" {
		return sum, nil
	}
	return text, nil
}
