// Package dsl is a compact notation for small histories, for tests, docs and
// people. A file is a list of lines, in any of these forms:
//
//	# a comment, also after anything else
//	initial 0                      the initial value of every key (0 if not given)
//	initial x=5 y=nil              the initial value of some keys
//	open                           the recording was cut off (see History.Closed)
//	no_common_clock                intervals are of several clocks (see history.Header.NoCommonClock)
//	s1: r(x,0) w(x,1)              a transaction of session 1
//	s2 T7 [3,9]: r(x,1) abort      with its id, begin and end, and its outcome
//	s3 @12<10: w(x,1)              with the place that the database claims for it
//	s3 $816 {812:820:815}: w(x,1)  with the database's number, and its snapshot as a set of such numbers
//
// What stands between the session and the colon may be in any order, each at most once.
//
// Where the database says it placed a transaction stands before the colon: @12 is a commit at position 12,
// @12<10 such a commit after reading the state as of position 10, @<10 a reader of that state
// (history.Claim). r(x,1)@12 is a read of what the commit at position 12 wrote (history.Record.Versions); in a row of a
// statement with conditions it is x=1 @12. {812:820:815} is a snapshot in PostgreSQL's notation (history.Visible).
//
// Operations are r(key,value), w(key,value), and n(key,value) for a failed compare-and-set that
// only showed that the value differed. A value is nil or null for absence, a number, true or
// false, or text. Text that is not a word stands in double quotes, quoted as in JSON. A key is a
// word or a quoted text; a word may contain balanced brackets, such as stock(1,17). Neither a
// key nor the default may have two initial values. The outcome is commit, abort or unknown; none
// means commit. Either end of an interval may be ?, not recorded. Transactions without an id are
// numbered from 1 in the order of lines, skipping ids that are taken.
//
// A statement with conditions works on all keys. Each key that exists is a row with two integer
// columns: k, the key where it is a number, and v, its value (schema.Plain).
//
//	p(v>10; x=12, y=15)            a scan that returned x and y with these values, and no other row
//	p(v>=3 and v<9;)               a scan that returned nothing
//	p(k>5 by -v limit 1; 7=3)      an order, downwards by v, and a limit
//	pw(v>10; x=12->13, y=->14)     an update: it read 12 and left 13 in x; it left 14 in y
//	pd(v in (1,2); x, y=2)         a deletion of x and of y, of which it read the value
//	pc(v between 1 and 5; 3)       a count of the rows
//
// A row with the value ? was returned or changed, too, but its operation is left out. Three dots at the
// end say that the history is a part of another one, in which the statement may have missed other
// rows, too (history.Predicate.Partial). Conditions are
// = <> < <= > >= with a number, in, between, is null and is not null.
package dsl

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/quote"
	"github.com/isohound/isohound/history/schema"
)

// Parse reads a history. Errors name path and the line.
func Parse(text, path string) (*history.History, error) {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	p := parser{sym: sym, closed: true, plain: schema.Plain()}
	for n, line := range strings.Split(text, "\n") {
		if err := p.line(line); err != nil {
			return nil, &history.FormatError{Path: path, Line: n + 1, Byte: -1, Err: err}
		}
	}
	p.number()
	hdr := history.Header{Source: path, NoCommonClock: p.noClock}
	if p.scans {
		hdr.Schema = p.plain
	}
	b := history.NewBuilder(hdr, sym, len(p.records))
	for i := range p.records {
		if err := b.Add(&p.records[i]); err != nil {
			return nil, &history.FormatError{Path: path, Line: p.lineOf[i], Byte: -1, Err: err}
		}
	}
	return b.Done(p.closed, nil), nil
}

// MustParse is Parse for tests and examples with a fixed text.
func MustParse(text string) *history.History {
	h, err := Parse(text, "")
	if err != nil {
		panic(err)
	}
	return h
}

// noCommonClock is the line that says so, as the field in the header of a native file does.
const noCommonClock = "no_common_clock"

type parser struct {
	sym       *history.Symbols
	closed    bool
	noClock   bool // see history.Header.NoCommonClock
	defaulted bool // the initial value of every key was given
	n         int
	records   []history.Record
	lineOf    []int
	unnamed   []int
	plain     schema.Schema
	scans     bool // a transaction has a statement with conditions
}

func (p *parser) line(line string) error {
	p.n++
	if !utf8.ValidString(line) {
		return errors.New("the line is not valid UTF-8")
	}
	s := &scanner{rest: line}
	s.space()
	switch {
	case s.done():
		return nil
	case s.word("open"):
		p.closed = false
		return s.end()
	case s.word(noCommonClock):
		p.noClock = true
		return s.end()
	case s.word("initial"):
		return p.initial(s)
	}
	return p.txn(s)
}

func (p *parser) initial(s *scanner) error {
	for !s.done() {
		mark := s.rest
		name, err := s.key()
		if err == nil && s.byte('=') {
			k := p.sym.Key(name)
			if p.sym.HasInitial(k) {
				return errors.Errorf("key %s has two initial values", key(name))
			}
			v, err := p.value(s)
			if err != nil {
				return err
			}
			p.sym.SetInitial(k, v)
		} else {
			s.rest = mark
			v, err := p.value(s)
			if err != nil {
				return err
			}
			if p.defaulted {
				return errors.New("there are two initial values of every key")
			}
			p.sym.DefaultInitial, p.defaulted = v, true
		}
		s.space()
	}
	return nil
}

func (p *parser) txn(s *scanner) error {
	rec := history.Record{Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
	var err error
	if !s.byte('s') {
		return errors.Errorf("expected a session such as s1, or initial, open or no_common_clock, at %q", shown(s.rest))
	}
	if rec.Session, err = s.number("session"); err != nil {
		return err
	}
	s.space()
	named, err := s.attributes(&rec)
	if err != nil {
		return err
	}
	if !s.byte(':') {
		return errors.Errorf("expected a colon before the operations, at %q", shown(s.rest))
	}
	for s.space(); !s.done(); s.space() {
		switch {
		case s.word("commit"):
			return p.add(rec, named, s)
		case s.word("abort"):
			rec.Status = history.Aborted
			return p.add(rec, named, s)
		case s.word("unknown"):
			rec.Status = history.Unknown
			return p.add(rec, named, s)
		}
		if found, err := p.scan(s, &rec); err != nil {
			return err
		} else if found {
			continue
		}
		op, err := p.op(s)
		if err != nil {
			return err
		}
		rec.Ops = append(rec.Ops, op)
		if err := s.version(&rec); err != nil {
			return err
		}
	}
	return p.add(rec, named, s)
}

func (p *parser) add(rec history.Record, named bool, s *scanner) error {
	if !named {
		p.unnamed = append(p.unnamed, len(p.records))
	}
	p.records = append(p.records, rec)
	p.lineOf = append(p.lineOf, p.n)
	return s.end()
}

// number gives ids to the transactions that have none.
func (p *parser) number() {
	taken := map[int64]bool{}
	for _, r := range p.records {
		taken[r.ID] = true
	}
	id := int64(1)
	for _, i := range p.unnamed {
		for taken[id] {
			id++
		}
		p.records[i].ID = id
		id++
	}
}

func (p *parser) op(s *scanner) (history.Op, error) {
	var op history.Op
	switch {
	case s.prefix("r("):
		op.Kind = history.Read
	case s.prefix("w("):
		op.Kind = history.Write
	case s.prefix("n("):
		op.Kind = history.ReadNot
	default:
		return op, errors.Errorf("expected r(key,value), w(key,value), n(key,value), p(conditions; rows), commit, abort or unknown, at %q", shown(s.rest))
	}
	name, err := s.key()
	if err != nil {
		return op, err
	}
	op.Key = p.sym.Key(name)
	if !s.byte(',') {
		return op, errors.Errorf("expected a comma after the key, at %q", shown(s.rest))
	}
	s.space()
	if op.Value, err = p.value(s); err != nil {
		return op, err
	}
	if !s.byte(')') {
		return op, errors.Errorf("expected ) after the value, at %q", shown(s.rest))
	}
	return op, nil
}

func (p *parser) value(s *scanner) (history.Value, error) {
	if text, ok, err := s.quoted(); err != nil {
		return 0, err
	} else if ok {
		return p.sym.String(text), nil
	}
	word := s.name()
	switch {
	case word == "":
		return 0, errors.Errorf("expected a value, at %q", shown(s.rest))
	case word == "nil", word == "null":
		return history.Absent, nil
	case fit.Signed(word):
		n, _ := strconv.ParseInt(word, 10, 64) // the caller checked that it is a number
		return p.sym.Int(n), nil
	case json.Valid([]byte(word)):
		return p.sym.Raw(word), nil
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil { // +5, 007
		return p.sym.Int(n), nil
	}
	return p.sym.String(word), nil
}

// isScalar reports whether a word is a value other than text.
func isScalar(word string) bool {
	_, err := strconv.ParseInt(word, 10, 64)
	return err == nil || word == "nil" || json.Valid([]byte(word))
}

// scanner reads one line from left to right.
type scanner struct{ rest string }

func (s *scanner) space() {
	s.rest = strings.TrimLeft(s.rest, " \t\r")
	if strings.HasPrefix(s.rest, "#") {
		s.rest = ""
	}
}

// shown is the beginning of a text that an error quotes.
func shown(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

func (s *scanner) done() bool { return s.rest == "" }

func (s *scanner) end() error {
	s.space()
	if !s.done() {
		return errors.Errorf("nothing may follow here, at %q", shown(s.rest))
	}
	return nil
}

func (s *scanner) prefix(p string) bool {
	rest, ok := strings.CutPrefix(s.rest, p)
	s.rest = rest
	return ok
}

func (s *scanner) byte(c byte) bool { return s.prefix(string(c)) }

// word consumes w if it stands alone.
func (s *scanner) word(w string) bool {
	rest, ok := strings.CutPrefix(s.rest, w)
	if !ok || rest != "" && !strings.ContainsRune(" \t\r#", rune(rest[0])) {
		return false
	}
	s.rest = rest
	s.space()
	return true
}

// separators end a word.
const separators = " \t\r\n,()=#\"[]"

// key consumes the name of a key: a text in quotes, or everything up to a separator outside
// brackets.
func (s *scanner) key() (string, error) {
	if text, ok, err := s.quoted(); ok || err != nil {
		return text, err
	}
	end, depth := 0, 0
	for ; end < len(s.rest); end++ {
		c := s.rest[end]
		if c == '(' {
			depth++
		} else if c == ')' && depth > 0 {
			depth--
		} else if strings.IndexByte(separators, c) >= 0 && !(c == ',' && depth > 0) {
			break
		}
	}
	name := s.rest[:end]
	if name == "" || depth > 0 {
		return "", errors.Errorf("expected the name of a key, at %q", shown(s.rest))
	}
	s.rest = s.rest[end:]
	return name, nil
}

// name consumes everything up to a separator.
func (s *scanner) name() string {
	end := strings.IndexAny(s.rest, separators)
	if end < 0 {
		end = len(s.rest)
	}
	name := s.rest[:end]
	s.rest = s.rest[end:]
	return name
}

func (s *scanner) quoted() (string, bool, error) {
	if !strings.HasPrefix(s.rest, `"`) {
		return "", false, nil
	}
	for i := 1; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case '"':
			text, err := quote.Unquote([]byte(s.rest[:i+1]))
			if err != nil {
				return "", false, errors.Wrapf(err, "text %s", s.rest[:i+1])
			}
			s.rest = s.rest[i+1:]
			return text, true, nil
		}
	}
	return "", false, errors.Errorf("the text %s has no closing quote", shown(s.rest))
}

func (s *scanner) number(what string) (int64, error) {
	word := s.digits()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0, errors.Errorf("expected a number for the %s, at %q", what, shown(word+s.rest))
	}
	return n, nil
}

func (s *scanner) digits() string {
	i := 0
	for i < len(s.rest) && (s.rest[i] >= '0' && s.rest[i] <= '9' || i == 0 && s.rest[i] == '-') {
		i++
	}
	word := s.rest[:i]
	s.rest = s.rest[i:]
	return word
}

// attributes consumes what stands between the session and the colon, each at most once, in any order. named says whether an
// id is among it.
func (s *scanner) attributes(rec *history.Record) (named bool, err error) {
	for seen := ""; err == nil && s.rest != "" && strings.IndexByte("T[$@{", s.rest[0]) >= 0; s.space() {
		c := s.rest[:1]
		if strings.Contains(seen, c) {
			return named, errors.Errorf("%s occurs twice before the colon, at %q", c, shown(s.rest))
		}
		seen += c
		s.rest = s.rest[1:]
		switch c {
		case "T":
			named = true
			rec.ID, err = s.number("transaction id")
		case "[":
			err = s.interval(rec)
		case "$":
			rec.DBTxn, err = s.number("transaction of the database")
		case "@":
			err = s.claim(&rec.Claim)
		case "{":
			rec.Claim.Visible, err = s.visible()
		}
	}
	return named, err
}

// interval consumes an interval after its bracket: 3,9].
func (s *scanner) interval(rec *history.Record) (err error) {
	if rec.Begin, err = s.time(); err != nil {
		return err
	}
	if !s.byte(',') {
		return errors.Errorf("expected a comma in the interval, at %q", shown(s.rest))
	}
	s.space()
	if rec.End, err = s.time(); err != nil {
		return err
	}
	if !s.byte(']') {
		return errors.Errorf("expected ] after the interval, at %q", shown(s.rest))
	}
	return nil
}

// claim consumes the place that the database claims for a transaction, after its @: 12, 12<10 or <10.
func (s *scanner) claim(c *history.Claim) (err error) {
	if c.Snapped = s.byte('<'); !c.Snapped {
		if c.Commit, err = s.number("commit position"); err != nil {
			return err
		}
		c.Snapped = s.byte('<')
	}
	if c.Snapped {
		c.Snapshot, err = s.number("snapshot")
	}
	return err
}

// visible consumes a snapshot as a set of transactions, after its brace: 812:820:815,817}.
func (s *scanner) visible() (*history.Visible, error) {
	text, rest, ok := strings.Cut(s.rest, "}")
	if !ok {
		return nil, errors.Errorf("expected } after the snapshot, at %q", shown(s.rest))
	}
	s.rest = rest
	return history.ParseVisible(text)
}

// version consumes the version that the latest operation read, if it is there: @12.
func (s *scanner) version(rec *history.Record) error {
	if !s.byte('@') {
		return nil
	}
	v, err := s.number("version")
	if err == nil && (v < 0 || rec.Ops[len(rec.Ops)-1].Kind != history.Read) {
		err = errors.New("only a read has a version, a position of at least 0")
	}
	if err == nil {
		rec.Tell(history.ParseVersion(v))
	}
	return err
}

func (s *scanner) time() (int64, error) {
	if s.byte('?') {
		return history.NoTime, nil
	}
	return s.number("time")
}
