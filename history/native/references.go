package native

import (
	"bytes"
	"strconv"

	"github.com/isohound/isohound/history"
)

// References shorten a file, and make it faster to read: a reader that meets one need not look
// up a key or a text.
//
// Keys: an operation with ["name",7] for its key gives the key the number 7, and later operations
// say 7. Numbers count from 0, so a lost line is noticed.
//
// Texts: a value that is left out is the key's latest text in the file, and ["tail"], [n] and
// [n,"tail"] are built from it (see appendText). The latest text is that of the latest line, also if
// that line's transaction aborted. A line with texts, or with references to them, states its own
// number in the file, so such lines cannot be lost, added or moved unnoticed.

const (
	// maxBuilt bounds a text that is built from another one, in bytes with its quotes, and with
	// it the memory that a small hostile file can ask for.
	maxBuilt = 64 << 10
	// minKept is the least number of bytes that a text must share with the latest one to refer
	// to it.
	minKept = 16
	// memory bounds what the writer remembers of keys and texts, in bytes.
	memory = 32 << 20
	// perKey is about what a key costs the writer, in bytes, in addition to its name and text.
	perKey = 160
)

// references is what the writer remembers of the lines so far. Its memory is bounded: a key that
// was not used for long is forgotten, and introduced again under a new number.
type references struct {
	// young holds the keys of the latest operations, old those of the operations before. When young
	// reaches its half of the memory, it becomes old, and what only the former old held is forgotten.
	young, old map[string]*knownKey
	weight     int // of young, in bytes
	next       int64
	// none says that everything is written in full. numbered: lines with texts say their number all the same, since a
	// reader of the version of the header asks for it.
	none, numbered bool
	// texts says that operations appended since it was cleared have texts.
	texts bool
}

type knownKey struct {
	number int64  // or -1
	text   []byte // the latest text, with its quotes; empty if there was none
}

// key returns what is known of a key, and adds a key that is not known.
func (r *references) key(name string) *knownKey {
	if k, ok := r.young[name]; ok {
		return k
	}
	if r.weight >= memory/2 || r.young == nil {
		r.old, r.young, r.weight = r.young, map[string]*knownKey{}, 0
	}
	k, ok := r.old[name]
	if !ok {
		k = &knownKey{number: -1}
	}
	r.young[name] = k
	r.weight += perKey + len(name) + cap(k.text)
	return k
}

// appendOps appends the list of operations.
func (r *references) appendOps(b []byte, ops []Op) []byte {
	b = append(b, `,"ops":[`...)
	for i := range ops {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendOp(b, &ops[i])
	}
	return append(b, ']')
}

func (r *references) appendOp(b []byte, op *Op) []byte {
	b = append(b, '[', '"')
	b = append(b, op.Kind.String()...)
	b = append(b, '"', ',')
	if r.none {
		r.texts = r.texts || r.numbered && isText(op.Value)
		b = append(appendString(b, op.Key), ',')
		return append(appendVersion(append(b, op.Value...), op.Version), ']')
	}
	k := r.key(op.Key)
	switch {
	case k.number >= 0:
		b = strconv.AppendInt(b, k.number, 10)
	case len(op.Key) > digits(r.next):
		k.number = r.next
		r.next++
		b = append(b, '[')
		b = appendString(b, op.Key)
		b = append(b, ',')
		b = strconv.AppendInt(b, k.number, 10)
		b = append(b, ']')
	default: // a number would hardly be shorter
		b = appendString(b, op.Key)
	}
	if isText(op.Value) {
		r.texts = true
		b = r.appendText(b, k, op.Value, op.Version != 0)
	} else {
		b = append(b, ',')
		b = append(b, op.Value...)
	}
	return append(appendVersion(b, op.Version), ']')
}

// appendVersion appends the fourth element of an operation, if it has one.
func appendVersion(b []byte, version int64) []byte {
	if version == 0 {
		return b
	}
	return strconv.AppendInt(append(b, ','), history.SpellVersion(version), 10)
}

// appendText appends a text after its comma, or nothing if it is the key's latest. If it shares
// a beginning of n bytes with the latest text, [n,"tail"] says the rest, without an empty tail,
// and without n if that is the whole latest text. This needs texts whose JSON spelling has no
// escapes, so that their bytes are those between the quotes. Something is appended if the operation has more to say.
func (r *references) appendText(b []byte, k *knownKey, text []byte, more bool) []byte {
	if bytes.Equal(k.text, text) {
		switch {
		case !more:
		case hasEscape(text) || len(text) > maxBuilt:
			b = append(append(b, ','), text...)
		default:
			b = append(strconv.AppendInt(append(b, ',', '['), int64(len(text)-2), 10), ']')
		}
		return b
	}
	b = append(b, ',')
	if n := shared(k.text, text); n >= minKept && len(text) <= maxBuilt {
		b = append(b, '[')
		last, tail := len(k.text)-2, text[1+n:]
		if n < last {
			b = strconv.AppendInt(b, int64(n), 10)
		}
		if len(tail) > 1 { // more than the closing quote
			if n < last {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = append(b, tail...)
		}
		b = append(b, ']')
	} else {
		b = append(b, text...)
	}
	r.weight += max(0, len(text)-cap(k.text))
	k.text = append(k.text[:0], text...)
	return b
}

// shared returns how many bytes two quoted texts share at their beginning, 0 if they cannot
// refer to each other. The result does not divide a character.
func shared(a, b []byte) int {
	end := min(len(a), len(b)) - 1 // the closing quote of the shorter one
	if end <= minKept || !bytes.Equal(a[:minKept], b[:minKept]) || hasEscape(a) || hasEscape(b) {
		return 0
	}
	n := end
	if !bytes.Equal(a[:end], b[:end]) {
		for n = minKept; a[n] == b[n]; {
			n++
		}
	}
	for isContinuation(a[n]) || isContinuation(b[n]) {
		n--
	}
	return n - 1 // without the opening quote
}

func isText(scalar []byte) bool { return len(scalar) > 0 && scalar[0] == '"' }

// hasEscape reports whether a text is spelled with escapes, so that its spelling differs from its
// UTF-8.
func hasEscape(text []byte) bool { return bytes.IndexByte(text, '\\') >= 0 }

// isContinuation reports whether a byte of UTF-8 continues a character.
func isContinuation(c byte) bool { return c&0xc0 == 0x80 }

// digits returns the length of a number that is not negative.
func digits(n int64) int {
	d := 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}

// resolver is what the reader knows of the lines so far.
type resolver struct {
	sym  *history.Symbols
	keys []history.Key // by number
	// texts holds the latest text of each key, 0 if there was none; 0 is no text.
	texts []history.Value
	buf   []byte
	// A line that one parser gives up is read again by the other one. before are the changes to
	// texts since mark, to be undone, and numbers is how many keys had numbers.
	before  []textChange
	numbers int
	used    bool // since mark, an operation had a text
}

type textChange struct {
	key  history.Key
	text history.Value
}

// mark begins a line.
func (r *resolver) mark() {
	r.before, r.numbers, r.used = r.before[:0], len(r.keys), false
}

// undo forgets what was read since mark.
func (r *resolver) undo() {
	for i := len(r.before) - 1; i >= 0; i-- {
		r.texts[r.before[i].key] = r.before[i].text
	}
	r.keys = r.keys[:r.numbers]
	r.mark()
}

// text returns the key's latest text, which the line refers to.
func (r *resolver) text(k history.Key) (history.Value, bool) {
	r.used = true
	if int(k) >= len(r.texts) || r.texts[k] == 0 {
		return 0, false
	}
	return r.texts[k], true
}

// setText notes that v is the key's latest text.
func (r *resolver) setText(k history.Key, v history.Value) {
	if int(k) >= len(r.texts) {
		r.texts = append(r.texts, make([]history.Value, r.sym.KeyCount()-len(r.texts))...)
	}
	r.used = true
	r.before = append(r.before, textChange{k, r.texts[k]})
	r.texts[k] = v
}

// build returns the text of which the first kept bytes, or all if kept is negative, are those of
// the key's latest text, and the others are tail, a JSON string without its quotes. It returns
// false if there is no such text.
func (r *resolver) build(k history.Key, kept int64, tail []byte) (history.Value, bool) {
	last, ok := r.text(k)
	if !ok {
		return 0, false
	}
	b := r.sym.AppendValue(r.buf[:0], last)
	r.buf = b
	length := int64(len(b) - 2)
	if kept < 0 {
		kept = length
	}
	if kept > length || kept+int64(len(tail)) > maxBuilt-2 || hasEscape(b) || hasEscape(tail) || isContinuation(b[1+kept]) {
		return 0, false
	}
	b = append(append(b[:1+kept], tail...), '"')
	r.buf = b
	v := r.sym.RawBytes(b)
	r.setText(k, v)
	return v, true
}
