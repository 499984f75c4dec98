package native

import (
	"bytes"

	"github.com/isohound/isohound/history"
)

// fast reads a transaction line in the exact spelling of BeginTxn, AppendOp and EndLine. Nearly
// every line has this spelling, and fast is several times faster than a general JSON parser. For
// any other spelling it reports false: rec is then undefined, and the line may still be valid.
func (p *recordParser) fast(line []byte, rec *history.Record) bool {
	s := cursor{line, true}
	*rec = history.Record{Due: history.NoTime, Begin: history.NoTime, End: history.NoTime, Ops: rec.Ops[:0]}
	s.literal(`{"txn":`)
	rec.ID = s.int()
	s.literal(`,"session":`)
	rec.Session = s.int()
	if s.optional(`,"node":`) {
		n := s.int()
		rec.Node = int16(n)
		s.ok = s.ok && int64(rec.Node) == n
	}
	if s.optional(`,"dbtxn":`) {
		rec.DBTxn = s.int()
	}
	if s.optional(`,"due":`) {
		rec.Due = s.int()
	}
	if s.optional(`,"begin":`) {
		rec.Begin = s.int()
	}
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
	s.literal(`,"ops":[`)
	for s.ok && !s.optional(`]}`) {
		if s.optional(`],"preds":[`) {
			rec.Predicates = p.predicates(&s)
			break
		}
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
			return false
		}
		key := s.text()
		s.literal(`,`)
		switch {
		case s.optional(`null]`):
			op.Value = history.Absent
		case len(s.rest) > 0 && s.rest[0] == '"':
			if text := s.plain(); s.ok {
				op.Value = p.sym.RawBytes(text)
			}
			s.literal(`]`)
		default:
			op.Value = p.sym.Int(s.int())
			s.literal(`]`)
		}
		if !s.ok {
			return false
		}
		op.Key = p.sym.KeyBytes(key)
		rec.Ops = append(rec.Ops, op)
	}
	return s.ok && len(s.rest) == 0
}

// cursor moves over a line. After the first mismatch, ok stays false and the cursor no longer
// moves.
type cursor struct {
	rest []byte
	ok   bool
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
		s.ok = false
		s.rest = nil
	}
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
		s.ok, s.rest = false, nil
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
					s.ok, s.rest = false, nil
					return nil
				}
			}
			s.rest = s.rest[end+2:]
			return text
		}
	}
	s.ok, s.rest = false, nil
	return nil
}
