package native

import (
	"bytes"

	"github.com/isohound/isohound/history"
)

// fast reads a transaction or intent line in the exact spelling of Log. Nearly every line has this
// spelling, and fast is several times faster than a general JSON parser. For any other spelling it
// returns lineNone: rec is then undefined, and the line may still be valid.
func (p *recordParser) fast(line []byte, rec *history.Record) lineKind {
	s := cursor{line, true}
	*rec = history.Record{Due: history.NoTime, Begin: history.NoTime, End: history.NoTime, Ops: rec.Ops[:0], Versions: rec.Versions[:0], Predicates: rec.Predicates[:0]}
	p.mark()
	p.given = 0
	kind := lineTxn
	if s.optional(`{"intent":`) {
		kind = lineIntent
	} else {
		s.literal(`{"txn":`)
	}
	rec.ID = s.int()
	p.fastFields(&s, rec)
	if kind == lineTxn && !fastOutcome(&s, rec) {
		return lineNone
	}
	number := int64(0)
	if s.optional(`,"ops":[`) {
		p.given |= fieldOps
		p.fastOps(&s, rec)
		if p.version >= 2 && s.optional(`,"line":`) {
			number = s.int()
		}
	}
	if s.optional(`,"preds":[`) {
		p.given |= fieldPredicates
		if at := len(line) - len(s.rest); p.ahead != nil && at == p.ahead.from {
			rec.Predicates = append(rec.Predicates, p.ahead.list...)
			s.rest = line[p.ahead.to:]
		} else {
			rec.Predicates = p.predicates(&s, rec.Predicates)
		}
	}
	s.literal(`}`)
	if !s.ok || len(s.rest) > 0 || (p.used || number != 0) && number != int64(p.number) {
		p.undo()
		return lineNone
	}
	return kind
}

// fastFields reads what appendFields wrote.
func (p *recordParser) fastFields(s *cursor, rec *history.Record) {
	if s.optional(`,"session":`) {
		rec.Session = s.int()
		p.given |= fieldSession
	}
	if s.optional(`,"node":`) {
		n := s.int()
		rec.Node = int16(n)
		s.ok = s.ok && int64(rec.Node) == n
		p.given |= fieldNode
	}
	if s.optional(`,"dbtxn":`) {
		rec.DBTxn = s.int()
		p.given |= fieldDBTxn
	}
	if s.optional(`,"due":`) {
		rec.Due = s.int()
		p.given |= fieldDue
	}
	if s.optional(`,"begin":`) {
		rec.Begin = s.int()
		p.given |= fieldBegin
	}
}

// fastOutcome reads what appendOutcome wrote, and reports whether there is a status.
func fastOutcome(s *cursor, rec *history.Record) bool {
	if s.optional(`,"end":`) {
		rec.End = s.int()
	}
	s.literal(`,"status":`)
	switch {
	case s.optional(`"committed"`):
		rec.Status = history.Committed
	case s.optional(`"aborted"`):
		rec.Status = history.Aborted
	case s.optional(`"unknown"`):
		rec.Status = history.Unknown
	default:
		return false
	}
	if s.optional(`,"cause":`) {
		rec.Cause = string(s.text())
	}
	if s.optional(`,"commit":`) {
		rec.Claim.Commit = s.int()
	}
	if s.optional(`,"snapshot":`) {
		rec.Claim.Snapshot, rec.Claim.Snapped = s.int(), true
	}
	if s.optional(`,"visible":[`) {
		rec.Claim.Visible = fastVisible(s)
	}
	return true
}

// fastVisible reads a snapshot after the opening bracket.
func fastVisible(s *cursor) *history.Visible {
	seen := &history.Visible{Min: s.int()}
	s.literal(`,`)
	seen.Max = s.int()
	for s.ok && !s.optional(`]`) {
		s.literal(`,`)
		seen.Open = append(seen.Open, s.int())
	}
	return seen
}

// fastOps reads what appendOps of references wrote, after the opening bracket.
func (p *recordParser) fastOps(s *cursor, rec *history.Record) {
	for s.ok && !s.optional(`]`) {
		if len(rec.Ops) > 0 {
			s.literal(`,`)
		}
		op := history.Op{}
		switch {
		case s.optional(`["r",`):
			op.Kind = history.Read
		case s.optional(`["w",`):
			op.Kind = history.Write
		case s.optional(`["n",`):
			op.Kind = history.ReadNot
		default:
			s.fail()
			return
		}
		op.Key = p.fastKey(s)
		if !s.ok {
			return
		}
		op.Value = p.fastValue(s, op.Key)
		rec.Ops = append(rec.Ops, op)
		if s.optional(`]`) {
			continue
		}
		s.literal(`,`)
		version := s.int()
		if s.literal(`]`); s.ok {
			rec.Tell(history.ParseVersion(version))
		}
	}
}

func (p *recordParser) fastKey(s *cursor) history.Key {
	switch {
	case s.at('"'):
		if name := s.text(); s.ok {
			return p.sym.KeyBytes(name)
		}
	case p.version < 2:
		s.fail()
	case s.optional(`[`):
		name := s.text()
		s.literal(`,`)
		number := s.int()
		s.literal(`]`)
		if s.ok && number == int64(len(p.keys)) {
			key := p.sym.KeyBytes(name)
			p.keys = append(p.keys, key)
			return key
		}
		s.fail()
	default:
		if number := uint64(s.int()); number < uint64(len(p.keys)) {
			return p.keys[number]
		}
		s.fail()
	}
	return 0
}

// fastValue reads a value with its comma, up to the end of the operation.
func (p *recordParser) fastValue(s *cursor, k history.Key) history.Value {
	if p.version >= 2 && s.at(']') {
		return s.valid(p.text(k))
	}
	s.literal(`,`)
	switch {
	case s.at('"'):
		if text := s.plain(); s.ok {
			v := p.sym.RawBytes(text)
			if p.version >= 2 {
				p.setText(k, v)
			}
			return v
		}
		return 0
	case s.optional(`null`):
		return history.Absent
	case p.version >= 2 && s.optional(`[`):
		kept, tail := s.built()
		if !s.ok {
			return 0
		}
		return s.valid(p.build(k, kept, tail))
	}
	n := s.int()
	if !s.ok {
		return 0
	}
	return p.sym.Int(n)
}

// cursor moves over a line. After the first mismatch, ok stays false and the cursor no longer
// moves.
type cursor struct {
	rest []byte
	ok   bool
}

func (s *cursor) fail() { s.ok, s.rest = false, nil }

// at reports whether the next byte is c.
func (s *cursor) at(c byte) bool { return len(s.rest) > 0 && s.rest[0] == c }

// valid returns v, or fails.
func (s *cursor) valid(v history.Value, ok bool) history.Value {
	if !ok {
		s.fail()
	}
	return v
}

func (s *cursor) optional(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

func (s *cursor) literal(text string) {
	if !s.optional(text) {
		s.fail()
	}
}

// built is parseBuilt after the opening bracket.
func (s *cursor) built() (kept int64, tail []byte) {
	kept = -1
	if !s.at('"') {
		kept = s.int()
		s.ok = s.ok && kept >= 0
		if s.optional(`]`) {
			return kept, nil
		}
		s.literal(`,`)
	}
	tail = s.text()
	s.literal(`]`)
	return kept, tail
}

// int reads an integer of up to 18 digits in its canonical spelling.
func (s *cursor) int() int64 {
	b := s.rest
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	n, i := int64(0), 0
	for i < len(b) && b[i]-'0' <= 9 {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	if i == 0 || i > 18 || b[0] == '0' && (i > 1 || neg) {
		s.fail()
		return 0
	}
	s.rest = b[i:]
	if neg {
		return -n
	}
	return n
}

// plain reads a string, with its quotes, in the spelling of quote.Append.
func (s *cursor) plain() []byte {
	whole := s.rest
	text := s.text()
	if !s.ok {
		return nil
	}
	return whole[:len(text)+2]
}

// text reads an ASCII string without escapes.
func (s *cursor) text() []byte {
	if len(s.rest) > 1 && s.rest[0] == '"' {
		if end := bytes.IndexByte(s.rest[1:], '"'); end >= 0 {
			text := s.rest[1 : 1+end]
			for _, c := range text {
				if c < 0x20 || c >= 0x7f || c == '\\' {
					s.fail()
					return nil
				}
			}
			s.rest = s.rest[end+2:]
			return text
		}
	}
	s.fail()
	return nil
}
