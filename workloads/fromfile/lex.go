package fromfile

import (
	"strconv"
	"strings"
)

// tokenKind is the kind of a token of a statement or of a generator.
type tokenKind int

const (
	end     tokenKind = iota
	word              // a name or a keyword
	number            // 17
	decimal           // 0.9
	text              // 'it''s'
	ref               // :item, or :p.price
	symbol
)

// token is a token with its byte offset in the text.
type token struct {
	kind tokenKind
	text string // of a text its content, of a ref what stands behind the colon
	n    int64  // of a number
	at   int
}

// is reports whether the token is a symbol or a keyword; s is in upper case.
func (t token) is(s string) bool {
	return (t.kind == word && strings.ToUpper(t.text) == s) || (t.kind == symbol && t.text == s)
}

// shown is the token as messages show it.
func (t token) shown() string {
	switch t.kind {
	case end:
		return "the end"
	case ref:
		return ":" + t.text
	case text:
		return "'" + t.text + "'"
	}
	return t.text
}

// mistake is an error in a text, at a byte offset.
type mistake struct {
	at   int
	text string
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// symbols are the symbols, longer ones first.
var symbols = []string{"<>", "!=", "<=", ">=", "||", "=", "<", ">", "(", ")", ",", "+", "-", "*", "/", ".", ";", "%", "[", "]"}

// lex cuts a text into tokens, the last of which is the end. It panics with a mistake.
func lex(s string) []token {
	var out []token
	for at := 0; ; {
		for at < len(s) && strings.IndexByte(" \t\r\n", s[at]) >= 0 {
			at++
		}
		if strings.HasPrefix(s[at:], "--") {
			for at < len(s) && s[at] != '\n' {
				at++
			}
			continue
		}
		if at == len(s) {
			return append(out, token{kind: end, at: at})
		}
		t, next := next(s, at)
		out = append(out, t)
		at = next
	}
}

// next reads the token at a byte offset, and returns the offset behind it.
func next(s string, at int) (token, int) {
	run := func(from int, ok func(byte) bool) int {
		for from < len(s) && ok(s[from]) {
			from++
		}
		return from
	}
	letters := func(c byte) bool { return isLetter(c) || isDigit(c) }
	switch c := s[at]; {
	case isLetter(c):
		to := run(at, letters)
		return token{kind: word, text: s[at:to], at: at}, to
	case isDigit(c):
		to := run(at, isDigit)
		kind := number
		if to+1 < len(s) && s[to] == '.' && isDigit(s[to+1]) {
			kind, to = decimal, run(to+1, isDigit)
		}
		t := token{kind: kind, text: s[at:to], at: at}
		if kind == number {
			n, err := strconv.ParseInt(t.text, 10, 64)
			if err != nil {
				panic(mistake{at, t.text + " is not a 64-bit integer"})
			}
			t.n = n
		}
		return t, to
	case c == '\'':
		var b strings.Builder
		for i := at + 1; i < len(s); i++ {
			if s[i] != '\'' {
				b.WriteByte(s[i])
			} else if i+1 < len(s) && s[i+1] == '\'' {
				b.WriteByte('\'')
				i++
			} else {
				return token{kind: text, text: b.String(), at: at}, i + 1
			}
		}
		panic(mistake{at, "a text that begins here has no closing quote '"})
	case c == ':':
		to := run(at+1, letters)
		if to < len(s) && s[to] == '.' {
			to = run(to+1, letters)
		}
		t := token{kind: ref, text: s[at+1 : to], at: at}
		if t.text == "" || t.text[0] == '.' || strings.HasSuffix(t.text, ".") || isDigit(t.text[0]) {
			panic(mistake{at, "a placeholder is a colon and a name, such as :item, or :p.price for a column that the statement p has read"})
		}
		return t, to
	case c == '"' || c == '`':
		panic(mistake{at, "names stand without quotes, and texts in single ones: 'abc'"})
	case c == '?' || c == '$' || c == '@':
		panic(mistake{at, "a placeholder is a colon and a name, such as :item; draw says what it is"})
	}
	for _, sym := range symbols {
		if strings.HasPrefix(s[at:], sym) {
			return token{kind: symbol, text: sym, at: at}, at + len(sym)
		}
	}
	panic(mistake{at, strconv.Quote(s[at:min(at+1, len(s))]) + " has no meaning here"})
}
