package native

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
)

// TestPredicatesThatContradictThemselves: a limit of 0 rows, and a read with a write among its operations, are errors with their
// line, in the text that isohound writes and in any other JSON.
func TestPredicatesThatContradictThemselves(t *testing.T) {
	for _, c := range []struct{ kind, op, more, err string }{
		{"read", "r", `"limit":1,`, ""},
		{"read", "r", `"limit":null,`, ""},
		{"read", "r", ``, ""},
		{"update", "w", ``, ""},
		{"read", "r", `"limit":0,`, "a predicate: a limit of 0 rows is not possible"},
		{"read", "r", `"limit":-1,`, "a limit of -1 rows is not possible"},
		{"read", "w", ``, "a predicate of kind read has a write among its operations"},
	} {
		line := `{"txn":1,"session":1,"status":"committed","ops":[["` + c.op + `","t(1)",5]],"preds":[{"kind":"` + c.kind + `","table":"t","where":[["a","<",7]],` + c.more + `"ops":[0,1]}]}`
		for _, spaced := range []bool{false, true} {
			if spaced {
				line = strings.NewReplacer(`":`, `" : `, `,"`, `, "`).Replace(line)
			}
			r, err := NewReader(bytes.NewReader([]byte(`{"isohound":1,"initial":null}`+"\n"+line+"\n"+`{"closed":{"reason":"complete","txns":1}}`+"\n")), "h", 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = history.Load(context.Background(), r)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), "h:2:")) {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

// TestOperationsOfPredicates: a statement that does not say from where to where its operations go is an error. One that counts has none.
func TestOperationsOfPredicates(t *testing.T) {
	const tail, count = `"table":"t","where":[["a","<",7]]`, `,"count":1`
	for _, c := range []struct {
		kind, ops string
		ok        bool
	}{
		{"read", `,"ops":[0,1]`, true}, {"read", `,"ops":[0,0]`, true}, {"count", count, true}, {"count", count + `,"ops":[0,0]`, true},
		{"read", ``, false}, {"read", `,"ops":null`, false}, {"read", `,"ops":[]`, false}, {"read", `,"ops":[0]`, false}, {"update", `,"ops":[0,1,1]`, false},
		{"read", `,"ops":[0,null]`, false}, {"read", `,"ops":[null,1]`, false}, {"delete", ``, false}, {"count", count + `,"ops":[0]`, false},
	} {
		op := map[string]string{"read": `["r","t(1)",5]`, "count": ``}[c.kind]
		line := `{"txn":1,"session":1,"status":"committed","ops":[` + op + `],"preds":[{"kind":"` + c.kind + `",` + tail + c.ops + `}]}`
		r, err := NewReader(strings.NewReader(`{"isohound":1,"initial":null}`+"\n"+line+"\n"+`{"closed":{"reason":"complete","txns":1}}`+"\n"), "h", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = history.Load(context.Background(), r)
		if c.ok && err != nil || !c.ok && (err == nil || !strings.Contains(err.Error(), `h:2: a predicate: its operations need two numbers, "ops":[FROM,TO]`)) {
			t.Errorf("%s: %v", line, err)
		}
	}
	// What is not read must not hide what is wrong.
	for _, ops := range []string{`[0,1,"x"]`, `[0,1,1.5]`} {
		line := `{"txn":1,"session":1,"status":"committed","ops":[["r","t(1)",5]],"preds":[{"kind":"read",` + tail + `,"ops":` + ops + `}]}`
		r, err := NewReader(strings.NewReader(`{"isohound":1,"initial":null}`+"\n"+line+"\n"+`{"closed":{"reason":"complete","txns":1}}`+"\n"), "h", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = history.Load(context.Background(), r); err == nil || !strings.Contains(err.Error(), "h:2:") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
