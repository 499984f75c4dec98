package hunt

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Schema is the JSON schema of plans, for editors. It is made from the types that the decoder fills, so that the two
// cannot disagree about keys; docs/hunt.schema.json is a copy.
func Schema() []byte {
	s := object(reflect.TypeFor[Plan]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Plan of isohound hunt"
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // maps, lists and texts can be encoded
	}
	return append(b, '\n')
}

// scalar is one value: YAML makes numbers and truth values of some words.
var scalar = map[string]any{"type": []string{"string", "number", "boolean"}}

func object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range fields(t) {
		p := schemaOf(f.Type)
		p["description"] = f.Tag.Get("doc")
		if words := f.Tag.Get("enum"); words != "" {
			p["enum"] = strings.Split(words, ",")
		}
		if low := f.Tag.Get("min"); low != "" {
			p["minimum"], _ = strconv.Atoi(low)
		}
		if f.Tag.Get("required") != "" {
			required = append(required, keyOf(f))
			if f.Type.Kind() == reflect.Slice {
				p["minItems"] = 1
			}
		}
		properties[keyOf(f)] = p
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
}

func schemaOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[List]():
		return map[string]any{"oneOf": []any{map[string]any{"type": []string{"string", "null"}}, map[string]any{"type": "array", "items": map[string]any{"type": "string"}}}}
	case reflect.TypeFor[Duration]():
		return map[string]any{"type": "string", "pattern": `^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|ms|s|m|h)`}
	case reflect.TypeFor[Clock]():
		return map[string]any{"type": "string", "pattern": clock.String()}
	case reflect.TypeFor[Values]():
		return map[string]any{"oneOf": []any{scalar, map[string]any{"type": "array", "items": scalar, "minItems": 1}}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		return object(t)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "integer"}
}
