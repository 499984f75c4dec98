package results

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// JSONWords says what is wrong with a file in JSON, for somebody who does not know Go's types.
func JSONWords(err error) string {
	var wrong *json.UnmarshalTypeError
	var moment *time.ParseError
	switch {
	case errors.As(err, &moment):
		return fmt.Sprintf("%q is not a time such as 2026-11-29T04:31:01Z", strings.Trim(moment.Value, `"`))
	case strings.HasPrefix(err.Error(), "Time.UnmarshalJSON"): // which has no type of its own
		return "a time is not a text"
	case !errors.As(err, &wrong):
		return err.Error()
	}
	what, is, want := wrong.Field, "", wanted(wrong.Type)
	if what == "" {
		what = "it"
	}
	number, isNumber := strings.CutPrefix(wrong.Value, "number ")
	switch {
	case isNumber: // a fraction for a whole number, or too large
		is, want = number, strings.Replace(want, "a ", "a possible ", 1)
	case wrong.Value == "object":
		is = "an object"
	case wrong.Value == "array":
		is = "a list"
	case wrong.Value == "string":
		is = "a text"
	case wrong.Value == "bool":
		is = "true or false"
	default:
		is = "a " + wrong.Value
	}
	return fmt.Sprintf("%s is %s, not %s", what, is, want)
}

// wanted names what JSON has for a type.
func wanted(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a text"
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
