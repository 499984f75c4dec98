package native

import (
	"encoding/json"
	"slices"

	"github.com/mailru/easyjson/jlexer"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/quote"
)

type lineKind int

const (
	lineNone lineKind = iota
	lineTxn
	lineIntent
	lineInitial
	lineClosed
)

// recordParser turns a line into a record. Fields come in any order. Unknown fields are skipped,
// so that later versions may add some. An unknown operation is an error, because leaving one out
// could change a verdict.
type recordParser struct {
	resolver
	// version is that of the file. References are errors before version 2.
	version int
	// number is the position of the line in the file, from 1.
	number int
	// given are the fields of the latest transaction or intent line, null or not, that a transaction line can leave out
	// where its intent has them.
	given  fields
	lex    jlexer.Lexer
	ending Ending // of the latest closing line
	predicateParser
	ahead *predicatesAhead // those of the line, if they were read before; may be nil
}

// fields is a set of fields of a line.
type fields uint32

const (
	fieldSession fields = 1 << iota
	fieldNode
	fieldDBTxn
	fieldDue
	fieldBegin
	fieldOps
	fieldPredicates
	// The others cannot be left out.
	fieldTxn
	fieldIntent
	fieldInitial
	fieldClosed
	fieldEnd
	fieldStatus
	fieldCause
	fieldCommit
	fieldSnapshot
	fieldVisible
	fieldLine
)

const canBeLeftOut = fieldTxn - 1

var fieldNames = map[string]fields{
	"session": fieldSession, "node": fieldNode, "dbtxn": fieldDBTxn, "due": fieldDue, "begin": fieldBegin,
	"ops": fieldOps, "preds": fieldPredicates,
	"txn": fieldTxn, "intent": fieldIntent, "initial": fieldInitial, "closed": fieldClosed, "end": fieldEnd, "status": fieldStatus,
	"cause": fieldCause, "commit": fieldCommit, "snapshot": fieldSnapshot, "visible": fieldVisible, "line": fieldLine,
}

// line reads a line of any kind. Of the session of a transaction or an intent the caller checks
// that there is one.
func (p *recordParser) line(data []byte, rec *history.Record) (lineKind, error) {
	*rec = history.Record{Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Ops: rec.Ops[:0], Versions: rec.Versions[:0], Predicates: rec.Predicates[:0]}
	p.mark()
	p.given = 0
	number, seen := int64(0), fields(0)
	kind, hasStatus := lineNone, false
	p.lex = jlexer.Lexer{Data: data}
	l := &p.lex
	l.Delim('{')
	for !l.IsDelim('}') && l.Ok() {
		name := l.UnsafeFieldName(false)
		l.WantColon()
		field := fieldNames[name]
		if seen&field != 0 {
			return lineNone, errors.Errorf("the line has the field %q twice", name)
		}
		seen |= field
		if kinds := seen & (fieldTxn | fieldIntent | fieldInitial | fieldClosed); kinds&(kinds-1) != 0 {
			return lineNone, errors.New(`the line has two of the fields "txn", "intent", "initial" and "closed"`)
		}
		p.given |= field & canBeLeftOut
		if l.IsNull() && isOptional(name) {
			l.Skip()
			l.WantComma()
			continue
		}
		switch name {
		case "txn":
			kind, rec.ID = lineTxn, l.Int64()
		case "intent":
			kind, rec.ID = lineIntent, l.Int64()
		case "initial":
			kind = lineInitial
			p.initials(l)
		case "closed":
			kind = lineClosed
			if raw := l.Raw(); l.Ok() {
				p.ending = Ending{Txns: -1}
				l.AddError(json.Unmarshal(raw, &p.ending))
				l.AddError(once(raw))
				if string(raw) == "null" {
					l.AddError(errors.New("the closing line says nothing"))
				}
			}
		case "session":
			rec.Session = l.Int64()
		case "node":
			rec.Node = l.Int16()
		case "dbtxn":
			rec.DBTxn = l.Int64()
		case "due":
			rec.Due = l.Int64()
		case "begin":
			rec.Begin = l.Int64()
		case "end":
			rec.End = l.Int64()
		case "status":
			text := l.UnsafeString()
			st, ok := history.ParseStatus(text)
			if l.Ok() && !ok {
				return lineNone, errors.Errorf("status is %q; it must be committed, aborted or unknown", text)
			}
			rec.Status, hasStatus = st, true
		case "cause":
			rec.Cause = l.String()
		case "commit":
			rec.Claim.Commit = l.Int64()
		case "snapshot":
			rec.Claim.Snapshot, rec.Claim.Snapped = l.Int64(), true
		case "visible":
			if raw := l.Raw(); l.Ok() {
				seen, err := parseVisible(raw)
				l.AddError(err)
				rec.Claim.Visible = seen
			}
		case "preds":
			if raw := l.Raw(); l.Ok() {
				var list []history.Predicate // memory for reuse would have statements that others share
				l.AddError(json.Unmarshal(raw, &list))
				l.AddError(complete(raw, list))
				for i := range list {
					if list[i].Statement == nil {
						list[i].Statement = &history.Statement{}
					}
				}
				rec.Predicates = append(rec.Predicates[:0], list...)
			}
		case "line":
			if p.version < 2 {
				l.SkipRecursive()
			} else {
				number = l.Int64()
			}
		case "ops":
			if err := p.ops(l, rec); err != nil {
				return lineNone, err
			}
		default:
			l.SkipRecursive()
		}
		l.WantComma()
	}
	l.Delim('}')
	l.Consumed()
	if err := l.Error(); err != nil {
		return lineNone, describe(err)
	}
	switch kind {
	case lineNone:
		return kind, errors.New(`not a line of a history: it has none of "txn", "intent", "initial" and "closed"`)
	case lineTxn, lineIntent:
		if (p.used || number != 0) && number != int64(p.number) {
			return kind, p.misplaced(rec.ID, number)
		}
		if kind == lineTxn && !hasStatus {
			return kind, errors.Errorf(`transaction %d has no "status"`, rec.ID)
		}
	}
	return kind, nil
}

// once returns an error if an object has a field twice: JSON leaves open which one counts.
func once(raw []byte) error {
	l := jlexer.Lexer{Data: raw}
	seen := map[string]bool{}
	l.Delim('{')
	for !l.IsDelim('}') && l.Ok() {
		name := l.String()
		if l.WantColon(); seen[name] {
			return errors.Errorf("the field %q is there twice", name)
		}
		seen[name] = true
		l.SkipRecursive()
		l.WantComma()
	}
	return nil // what else is wrong, others find
}

// parseVisible reads [min, max, open...].
func parseVisible(raw []byte) (*history.Visible, error) {
	var list []int64
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.Wrap(err, `"visible"`)
	}
	if len(list) < 2 {
		return nil, errors.New(`"visible" has less than two numbers`)
	}
	return history.NewVisible(list), nil
}

// misplaced is the error of a line with texts that does not state its own position.
func (p *recordParser) misplaced(txn, number int64) error {
	if number == 0 {
		return errors.Errorf(`transaction %d has texts, and its line does not say which "line" it is`, txn)
	}
	return errors.Errorf("this is line %d and says that it is line %d: lines before it were lost, added or moved, and its values may refer to them", p.number, number)
}

// isOptional reports whether a field may be left out or null.
func isOptional(field string) bool {
	switch field {
	case "line", "node", "dbtxn", "due", "begin", "end", "cause", "preds", "ops", "commit", "snapshot", "visible":
		return true
	}
	return false
}

// ops reads [[kind, key, value, version], ...].
func (p *recordParser) ops(l *jlexer.Lexer, rec *history.Record) error {
	l.Delim('[')
	for !l.IsDelim(']') && l.Ok() {
		l.Delim('[')
		letter := l.UnsafeString()
		kind, ok := parseKind(letter)
		if l.Ok() && !ok {
			return errors.Errorf("transaction %d has an operation %q, which this isohound does not know", rec.ID, letter)
		}
		l.WantComma()
		key := p.opKey(l)
		l.WantComma()
		var raw []byte // nil if it is left out
		if p.version < 2 || !l.IsDelim(']') {
			raw = l.Raw()
		}
		if !l.Ok() {
			break
		}
		value, err := p.opValue(key, raw)
		if err != nil {
			return errors.Wrapf(err, "transaction %d, key %s", rec.ID, p.sym.KeyName(key))
		}
		l.WantComma()
		rec.Ops = append(rec.Ops, history.Op{Kind: kind, Key: key, Value: value})
		// The fourth element is the version, if it is a number. Later versions of the format may have others.
		if !l.IsDelim(']') && l.CurrentToken() == jlexer.TokenNumber {
			if version := l.Int64(); l.Ok() {
				rec.Tell(history.ParseVersion(version))
			}
			l.WantComma()
		}
		for !l.IsDelim(']') && l.Ok() {
			l.SkipRecursive()
			l.WantComma()
		}
		l.Delim(']')
		l.WantComma()
	}
	l.Delim(']')
	return nil
}

// opKey reads the key of an operation: a name, a number, or both.
func (p *recordParser) opKey(l *jlexer.Lexer) history.Key {
	switch {
	case p.version < 2:
	case l.IsDelim('['):
		l.Delim('[')
		key := p.key(l)
		l.WantComma()
		number := l.Int64()
		l.WantComma()
		l.Delim(']')
		if l.Ok() && number != int64(len(p.keys)) {
			l.AddError(errors.Errorf("key %s gets the number %d, and the next number is %d: a line is lost, or there twice", p.sym.KeyName(key), number, len(p.keys)))
		}
		p.keys = append(p.keys, key)
		return key
	case l.CurrentToken() == jlexer.TokenNumber:
		if number := l.Int64(); l.Ok() {
			if number >= 0 && number < int64(len(p.keys)) {
				return p.keys[number]
			}
			l.AddError(errors.Errorf("no line before says which key has the number %d; is a line lost?", number))
		}
		return 0
	}
	return p.key(l)
}

// opValue interprets the value of an operation, nil if it is left out.
func (p *recordParser) opValue(k history.Key, raw []byte) (history.Value, error) {
	if p.version < 2 || raw != nil && raw[0] != '[' {
		v, err := parseValue(raw, p.sym)
		if err == nil && p.version >= 2 && isText(raw) {
			p.setText(k, v)
		}
		return v, err
	}
	if _, ok := p.text(k); !ok {
		return 0, errors.New("the value refers to the text that an earlier line has for the key, and none has; is a line lost?")
	}
	if raw == nil {
		return p.texts[k], nil
	}
	kept, tail, err := parseBuilt(raw)
	if err != nil {
		return 0, err
	}
	v, ok := p.build(k, kept, tail)
	if !ok {
		return 0, errors.Errorf("the value %.40s does not fit the latest text of the key, %.40s; is a line lost?", raw, p.sym.ValueText(p.texts[k]))
	}
	return v, nil
}

// parseBuilt reads ["tail"], [n] or [n,"tail"]: how many bytes of the latest text are kept, -1 for
// all, and the tail without its quotes.
func parseBuilt(raw []byte) (kept int64, tail []byte, err error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return 0, nil, err
	}
	kept = -1
	if len(parts) > 0 && !isText(parts[0]) {
		var ok bool
		if kept, ok = parseInt(parts[0]); !ok || kept < 0 {
			return 0, nil, errors.Errorf("%.40s is not a number of bytes", parts[0])
		}
		parts = parts[1:]
		if len(parts) == 0 {
			return kept, nil, nil
		}
	}
	if len(parts) != 1 {
		return 0, nil, errors.Errorf(`the value %.40s is neither ["tail"] nor [n] nor [n,"tail"]`, raw)
	}
	text, err := quote.Unquote(parts[0])
	if err != nil {
		return 0, nil, errors.Wrap(err, "value")
	}
	tail = quote.Append(nil, text)
	return kept, tail[1 : len(tail)-1], nil
}

func parseKind(s string) (history.OpKind, bool) {
	switch s {
	case "r":
		return history.Read, true
	case "w":
		return history.Write, true
	case "n":
		return history.ReadNot, true
	}
	return 0, false
}

// key reads the name of a key. The lexer's own string decoding would make different names equal
// (see quote).
func (p *recordParser) key(l *jlexer.Lexer) history.Key {
	raw := l.Raw()
	if !l.Ok() {
		return 0
	}
	name, err := quote.Unquote(raw)
	if err != nil {
		l.AddError(errors.Wrap(err, "key"))
		return 0
	}
	return p.sym.Key(name)
}

// initials reads [[key, value], ...].
func (p *recordParser) initials(l *jlexer.Lexer) {
	l.Delim('[')
	for !l.IsDelim(']') && l.Ok() {
		l.Delim('[')
		key := p.key(l)
		l.WantComma()
		raw := l.Raw()
		if l.Ok() {
			v, err := parseValue(raw, p.sym)
			if err == nil && p.sym.HasInitial(key) {
				err = errors.Errorf("key %s has two initial values", p.sym.KeyName(key))
			}
			if err != nil {
				l.AddError(err)
				return
			}
			p.sym.SetInitial(key, v)
		}
		l.WantComma()
		l.Delim(']')
		l.WantComma()
	}
	l.Delim(']')
}

// parseValue interprets a JSON scalar.
func parseValue(raw []byte, sym *history.Symbols) (history.Value, error) {
	if n, ok := parseInt(raw); ok {
		return sym.Int(n), nil
	}
	if len(raw) == 0 {
		return 0, errors.New("the value is missing")
	}
	switch raw[0] {
	case 'n':
		if string(raw) == "null" {
			return history.Absent, nil
		}
	case '"':
		// A text can be escaped in several ways, but must be one value.
		s, err := quote.Unquote(raw)
		if err != nil {
			return 0, errors.Wrap(err, "value")
		}
		return sym.String(s), nil
	case '[', '{':
		return 0, errors.New("the value is not a scalar")
	}
	if !json.Valid(raw) {
		return 0, errors.Errorf("value %.40q is not JSON", raw)
	}
	return sym.Raw(string(raw)), nil
}

// parseInt reads a decimal integer in its canonical JSON spelling.
func parseInt(b []byte) (int64, bool) {
	neg := false
	if len(b) > 0 && b[0] == '-' {
		neg, b = true, b[1:]
	}
	if len(b) == 0 || len(b) > 18 || b[0] == '0' && (len(b) > 1 || neg) {
		if len(b) == 19 {
			return parseLongInt(b, neg)
		}
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// parseLongInt reads the nineteen-digit integers, which may overflow.
func parseLongInt(b []byte, neg bool) (int64, bool) {
	var n int64
	s := string(b)
	if neg {
		s = "-" + s
	}
	if json.Unmarshal([]byte(s), &n) != nil {
		return 0, false
	}
	return n, true
}

// describe replaces the lexer's error by a readable one.
func describe(err error) error {
	var le *jlexer.LexerError
	if errors.As(err, &le) {
		return errors.Errorf("column %d: %s", le.Offset+1, le.Reason)
	}
	return err
}

// complete refuses predicates with a limit of 0, which is no limit where none is given, and those that do not say from where to
// where their operations go. They are in list, too, which has 0 for what is not there.
func complete(raw []byte, list []history.Predicate) error {
	var told []struct {
		Limit *int   `json:"limit"`
		Ops   []*int `json:"ops"`
	}
	if err := json.Unmarshal(raw, &told); err != nil {
		return err
	}
	for i, x := range told[:min(len(told), len(list))] {
		switch {
		case x.Limit != nil && *x.Limit == 0:
			return errors.New("a predicate: a limit of 0 rows is not possible")
		case slices.Contains(x.Ops, nil):
			return errors.New("a predicate: its operations need two numbers, \"ops\":[FROM,TO], not null")
		case len(x.Ops) != 2 && (x.Ops != nil || list[i].Statement == nil || list[i].Kind != history.ScanCount):
			return errors.Errorf("a predicate: its operations need two numbers, \"ops\":[FROM,TO], not %d", len(x.Ops))
		}
	}
	return nil
}
