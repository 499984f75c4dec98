package elle

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/isohound/isohound/history"
)

// number interprets a number of EDN or JSON. Integers stand for themselves,
// whatever their spelling; others are compared by their text.
func (p *parser) number(text string) history.Value {
	plain := strings.TrimSuffix(text, "N") // an EDN integer of any size
	if n, err := strconv.ParseInt(plain, 10, 64); err == nil {
		return p.sym.Int(n)
	}
	if json.Valid([]byte(plain)) {
		return p.sym.Raw(plain)
	}
	return p.sym.String(text) // a ratio, say
}

// integer reports whether name is an integer in its only spelling.
func integer(name string) bool {
	n, err := strconv.ParseInt(name, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == name
}
