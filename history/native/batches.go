package native

import (
	"bytes"
	"io"

	"github.com/isohound/isohound/history"
)

// batches splits a stream into lines, and reads their predicates, in a goroutine. The Reader meanwhile reads the
// operations of the lines before, which must be done in their order. A batch is not passed on before it is full, so it
// is not for pipes.
type batches struct {
	full  chan *batch
	free  chan *batch
	stop  chan struct{}
	ended chan struct{}
	now   *batch
	at    int // the next line of now
}

// batch is a part of a stream.
type batch struct {
	text       []byte
	lines      []batchLine
	predicates []history.Predicate
	last       int   // the number of the line with err
	err        error // after the lines
}

// batchLine is a line whose text and predicates are those of its batch between these places.
type batchLine struct {
	textLine
	from, to           int
	firstAsk, afterAsk int
}

// predicatesAhead are predicates that were read before the line in which they are.
type predicatesAhead struct {
	from, to int // their place in the line; from is 0 if they were not read
	list     []history.Predicate
}

// batchSize is the least size of a full batch, in bytes.
const batchSize = 128 << 10

func newBatches(lines *lineReader) *batches {
	b := &batches{make(chan *batch, aheadBuffers), make(chan *batch, aheadBuffers), make(chan struct{}), make(chan struct{}), nil, 0}
	for range aheadBuffers {
		b.free <- &batch{}
	}
	go b.run(lines)
	return b
}

func (b *batches) run(lines *lineReader) {
	defer close(b.ended)
	var parser predicateParser
	for {
		var x *batch
		select {
		case x = <-b.free:
		case <-b.stop:
			return
		}
		x.read(lines, &parser)
		b.full <- x // there is room for all
		if x.err != nil {
			return
		}
	}
}

func (x *batch) read(lines *lineReader, parser *predicateParser) {
	if cap(x.text) > 4*batchSize { // for a long line
		x.text = nil
	}
	x.text, x.lines, x.predicates = x.text[:0], x.lines[:0], x.predicates[:0]
	for len(x.text) < batchSize {
		var line textLine
		if x.err = lines.next(&line); x.err != nil {
			x.last = line.number
			return
		}
		from, first := len(x.text), len(x.predicates)
		x.predicates = line.readPredicates(parser, x.predicates)
		x.text = append(x.text, line.text...)
		x.lines = append(x.lines, batchLine{line, from, len(x.text), first, len(x.predicates)})
	}
}

// readPredicates appends the predicates of a line, and notes where they are. It leaves them to the Reader if the line has
// another brace before them, or if they are not spelled as appendPredicates does.
func (l *textLine) readPredicates(parser *predicateParser, out []history.Predicate) []history.Predicate {
	from := 1 + bytes.IndexByte(l.text[min(1, len(l.text)):], '{')
	if !bytes.HasSuffix(l.text[:from], []byte(`,"preds":[`)) {
		return out
	}
	s := cursor{l.text[from:], true}
	more := parser.predicates(&s, out)
	if !s.ok {
		return out
	}
	l.ahead.from, l.ahead.to = from, len(l.text)-len(s.rest)
	return more
}

// next reads the next line; see lineReader.
func (b *batches) next(l *textLine) error {
	for b.now == nil || b.at == len(b.now.lines) {
		if b.now != nil {
			if b.now.err != nil {
				l.number = b.now.last
				return b.now.err
			}
			b.free <- b.now
		}
		select {
		case b.now = <-b.full:
		case <-b.ended: // with an error, or by close
			select {
			case b.now = <-b.full:
			default:
				b.now = &batch{err: io.ErrClosedPipe}
			}
		}
		b.at = 0
	}
	x := &b.now.lines[b.at]
	b.at++
	*l = x.textLine
	l.text, l.ahead.list = b.now.text[x.from:x.to], b.now.predicates[x.firstAsk:x.afterAsk]
	return nil
}

// close ends the goroutine, and waits until it reads no more.
func (b *batches) close() {
	close(b.stop)
	<-b.ended
}
