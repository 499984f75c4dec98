package elle

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/forms"
)

func (p *parser) key() (history.Key, error) {
	kind, err := p.in.Next()
	if err != nil {
		return 0, err
	}
	return p.named(kind, p.in.Text())
}

// named returns the key with the given spelling.
func (p *parser) named(kind forms.Kind, text []byte) (history.Key, error) {
	switch kind {
	case forms.Number, forms.String, forms.Keyword, forms.Word:
	default:
		return 0, errors.New("the key of an operation is not a number, a string or a keyword")
	}
	k := p.sym.KeyBytes(text)
	if before, known := p.kinds[k]; known && before != kind {
		return 0, errors.Errorf("key %s occurs in two types, such as keyword and string; isohound cannot tell them apart", p.sym.KeyName(k))
	} else if !known {
		p.kinds[k] = kind
	}
	return k, nil
}

// scalar interprets the latest token as a value.
func (p *parser) scalar(kind forms.Kind) (history.Value, error) {
	text := p.in.Text()
	switch kind {
	case forms.Nil:
		return history.Absent, nil
	case forms.Number:
		return p.number(string(text))
	case forms.String:
		return p.text(kind, string(text))
	case forms.Keyword:
		return p.text(kind, ":"+string(text))
	case forms.Word:
		if s := string(text); s == "true" || s == "false" {
			return p.sym.Raw(s), nil
		}
		return p.text(kind, string(text))
	}
	return 0, errors.New("the value of a micro-operation is neither a scalar nor a list that was read")
}

// text returns the value of a text. One spelling in two types is refused: it would be one value.
func (p *parser) text(kind forms.Kind, text string) (history.Value, error) {
	v := p.sym.String(text)
	if before, known := p.texts[v]; !known {
		p.texts[v] = kind
	} else if before != kind {
		return 0, errors.Errorf("value %s occurs in two types, such as keyword and string; isohound cannot tell them apart", text)
	}
	return v, nil
}

// number interprets a number of EDN or JSON. Equal integers are equal values, whatever their
// spelling. Other numbers are compared by their text.
func (p *parser) number(text string) (history.Value, error) {
	plain := strings.TrimSuffix(text, "N") // an EDN integer of any size
	if n, err := strconv.ParseInt(plain, 10, 64); err == nil {
		return p.sym.Int(n), nil
	}
	if json.Valid([]byte(plain)) {
		return p.sym.Raw(plain), nil
	}
	return p.text(forms.Number, text) // such as a ratio
}

// integer reports whether name is an integer in its canonical spelling.
func integer(name string) bool {
	n, err := strconv.ParseInt(name, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == name
}
