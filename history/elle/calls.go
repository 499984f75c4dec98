package elle

import (
	"fmt"
	"strings"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/forms"
)

// call is an operation on one register, in Knossos's notation:
//
//	{:process 0, :type :ok, :f :read, :value 3}
//	{:process 1, :type :ok, :f :write, :value 3}
//	{:process 2, :type :ok, :f :cas, :value [3 4]}
//
// or on a mutex, :f :acquire and :release. The register has no name, unless the value is a pair
// of a key and one of the values above, as in tests of independent keys. A register begins
// absent. A free mutex is absent.
type call struct {
	f     string
	key   history.Key
	keyed bool // the key was named
	known bool // the value was understood
	given bool // there is a value
	// from is the value that a compare-and-set expects, to the value that is written or was
	// read.
	from, to history.Value
}

func isCall(f string) bool {
	switch f {
	case "read", "write", "cas", "acquire", "release":
		return true
	}
	return false
}

// call reads an operation on a register.
func (p *parser) call(op *operation) (call, error) {
	c := call{f: op.f, from: history.Absent, to: history.Absent}
	name := "register"
	v := &op.value
	c.given = v.shape != missing && v.shape != none
	pair := v.shape == several && len(v.parts) == 2
	switch {
	case op.f == "acquire":
		name, c.known, c.to = "mutex", !pair, p.sym.String(":held")
	case op.f == "release":
		name, c.known, c.from = "mutex", !pair, p.sym.String(":held")
	case op.f == "cas" && pair && v.parts[0].kind != forms.Vector && v.parts[1].kind != forms.Vector:
		c.known, c.from, c.to = true, v.parts[0].value, v.parts[1].value
	case op.f == "cas" && pair && len(v.parts[1].list) == 2:
		c.known, c.keyed, c.from, c.to = true, true, v.parts[1].list[0], v.parts[1].list[1]
	case op.f == "cas":
	case v.shape == none:
		c.known = true
	case v.shape == single:
		c.known, c.to = true, v.parts[0].value
	case pair && v.parts[1].kind != forms.Vector && v.parts[1].kind != forms.Map:
		c.known, c.keyed, c.to = true, true, v.parts[1].value
	}
	var err error
	if !c.keyed {
		c.key = p.sym.Key(name)
	} else if c.key, err = p.named(v.parts[0].kind, []byte(v.parts[0].text)); err != nil {
		return c, err
	}
	return c, nil
}

// after combines an outcome with the invocation before it and returns what was done. known
// reports whether that is known.
func (c call) after(in *invocation, st history.Status) (done call, known bool) {
	asked := in != nil && in.how == onRegister
	switch {
	case st != history.Committed && asked:
		return in.call, in.call.known || in.f == "read" || st == history.Aborted
	case st != history.Committed:
		return c, c.known || c.f == "read" || st == history.Aborted
	case c.f != "read" && asked && in.call.known && !(c.given && c.known):
		return in.call, true // the outcome does not repeat what was asked
	case c.f == "read" && c.keyed && !(asked && in.call.keyed && in.call.key == c.key),
		c.f == "read" && !c.keyed && asked && in.call.keyed:
		// [1 2] may be the value read, or a key and the value read.
		return c, false
	}
	return c, c.known
}

// ops appends the operations of the call. Reads of an aborted call do not count.
func (c call) ops(out []history.Op, st history.Status) []history.Op {
	read := history.Op{Kind: history.Read, Key: c.key, Value: c.from}
	write := history.Op{Kind: history.Write, Key: c.key, Value: c.to}
	switch {
	case !c.known:
	case c.f == "read" && st == history.Committed:
		read.Value = c.to
		out = append(out, read)
	case c.f == "read":
	case c.f == "write" || st == history.Aborted:
		out = append(out, write)
	default:
		out = append(out, read, write)
	}
	return out
}

// content identifies an operation without a process by what it asks for.
func content(op *operation, c call) string {
	var b strings.Builder
	b.WriteString(op.f)
	for _, m := range op.value.mops {
		fmt.Fprintf(&b, " %d %d", m.kind, m.key)
		if m.kind != history.Read {
			fmt.Fprintf(&b, " %d", m.value)
		}
	}
	if c.keyed {
		fmt.Fprintf(&b, " %d", c.key)
	}
	if c.f != "" && c.f != "read" {
		fmt.Fprintf(&b, " %d %d", c.from, c.to)
	}
	return b.String()
}
