package schema

import (
	"strings"

	"github.com/pkg/errors"
)

// Expr is the new value of a column in an update: a constant, or an expression of the old value.
type Expr struct {
	Kind  ExprKind
	Value any // the constant, the summand (int64), or what is appended (string)
}

// ExprKind is the kind of an Expr.
type ExprKind int

// The kinds of expressions.
const (
	Constant ExprKind = iota
	Plus              // column + Value
	Suffix            // column || Value
)

// Set, Add and Append make expressions.
func Set(v any) Expr          { return Expr{Constant, v} }
func Add(n int64) Expr        { return Expr{Plus, n} }
func Append(tail string) Expr { return Expr{Suffix, tail} }

// Sets makes constants of values.
func Sets(values ...any) []Expr {
	out := make([]Expr, len(values))
	for i, v := range values {
		out[i] = Set(v)
	}
	return out
}

// Depends reports whether an update depends on the old values of the group. Then every column of
// the update must depend on its old value: the old value is computed from the new one, and a
// constant would leave it unknown.
func Depends(exprs []Expr) (bool, error) {
	n := 0
	for _, e := range exprs {
		if e.Kind != Constant {
			n++
		}
	}
	if n > 0 && n < len(exprs) {
		return false, errors.New("an update of a group sets either constants only or no constant")
	}
	return n > 0, nil
}

// Before computes what a group held from what a dependent update left.
func Before(after []any, exprs []Expr) ([]any, error) {
	out := make([]any, len(after))
	for i, e := range exprs {
		if after[i] == nil && e.Kind != Constant { // the sum with a null is a null
			continue
		}
		switch e.Kind {
		case Plus:
			out[i] = after[i].(int64) - e.Value.(int64)
		case Suffix:
			head, ok := strings.CutSuffix(after[i].(string), e.Value.(string))
			if !ok {
				return nil, errors.Errorf("after appending %q the database returned %q", e.Value, after[i])
			}
			out[i] = head
		default:
			return nil, errors.New("the old value of a column that is set to a constant is not known")
		}
	}
	return out, nil
}

// After computes what a group holds after an update.
func After(before []any, exprs []Expr) []any {
	out := make([]any, len(exprs))
	for i, e := range exprs {
		if e.Kind != Constant && before[i] == nil {
			continue
		}
		switch e.Kind {
		case Constant:
			out[i] = e.Value
		case Plus:
			out[i] = before[i].(int64) + e.Value.(int64)
		case Suffix:
			out[i] = before[i].(string) + e.Value.(string)
		}
	}
	return out
}
