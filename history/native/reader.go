package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Reader reads a native history. It implements history.Source. It yields records before the file
// is complete, so that a pipe works.
type Reader struct {
	path   string
	lines  interface{ next(*textLine) error }
	latest textLine
	zr     *zstd.Decoder
	plain  *counter // what zr has yielded
	ahead  *ahead   // decompresses while lines are read, or nil
	split  *batches // splits lines, and reads predicates, while records are read, or nil
	hdr    history.Header
	sym    *history.Symbols
	input  *counter
	size   int64
	txns   int64 // read so far
	start  int64 // where the line of the first transaction ends, without compression
	closed bool
	notes  []string
	parse  recordParser

	// pending holds the intents whose outcome has not been read, by transaction id. Each session
	// has at most one, so it stays small. spare keeps the memory of the others for reuse.
	pending map[int64]*intent
	spare   []*intent
	// left are the transactions of pending, in the order of their lines, once the file has been
	// read.
	left []history.Record
	eof  bool
}

var _ history.Source = (*Reader)(nil)

// intent is an intent line. In files of version 1 it is only parsed if there is no outcome, from
// its text: the line of the outcome says everything again.
type intent struct {
	rec  history.Record
	text []byte
	line int
}

// zstdMagic begins every zstd frame (RFC 8878, section 3.1.1).
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Detect reports whether the first bytes of a file look like this format, and
// whether they are compressed.
func Detect(head []byte) (native, compressed bool) {
	if bytes.HasPrefix(head, zstdMagic) {
		return true, true
	}
	return bytes.HasPrefix(head, []byte(`{"isohound":`)), false
}

// NewReader reads the header of a history from r. path is for messages; size
// is the length of the input in bytes, 0 if it is not known.
func NewReader(r io.Reader, path string, size int64) (*Reader, error) {
	rd := &Reader{path: path, size: size, sym: history.NewSymbols(), pending: map[int64]*intent{}}
	rd.parse.sym, rd.parse.ahead = rd.sym, &rd.latest.ahead
	rd.input = &counter{r: r}
	br := &prefixReader{r: rd.input}
	magic, err := br.peek(len(zstdMagic))
	if err != nil {
		return nil, rd.At(err)
	}
	var src io.Reader = br
	if bytes.Equal(magic, zstdMagic) {
		// A single decoder keeps memory small.
		rd.zr, err = zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxLine), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, rd.At(err)
		}
		rd.plain = &counter{r: rd.zr}
		src = rd.plain
		if size >= aheadFrom {
			rd.ahead = newAhead(src)
			src = rd.ahead
		}
	}
	lines := newLineReader(src)
	rd.lines = lines
	if err := rd.readHeader(); err != nil {
		rd.Close()
		return nil, err
	}
	if size >= aheadFrom && len(rd.hdr.Schema) > 0 { // without tables there are no predicates
		rd.split = newBatches(lines)
		rd.lines = rd.split
	}
	return rd, nil
}

func (r *Reader) readHeader() error {
	err := r.lines.next(&r.latest)
	if err == io.EOF {
		return r.At(errors.New("the file is empty"))
	}
	if err != nil {
		return r.At(err)
	}
	var h headerLine
	if err := json.Unmarshal(r.latest.text, &h); err != nil {
		if known, _ := Detect(r.latest.text); known {
			return r.At(errors.Wrap(err, "header"))
		}
		return r.At(errors.Wrap(err, "the first line is not an isohound header"))
	}
	if err := once(r.latest.text); err != nil {
		return r.At(errors.Wrap(err, "header"))
	}
	switch {
	case h.Isohound == 0:
		return r.At(errors.New(`the first line is not an isohound header: it has no field "isohound"`))
	case h.Isohound < 0:
		return r.At(errors.Errorf("the history has format version %d, which there is not", h.Isohound))
	case h.Isohound > Version:
		return r.At(errors.Errorf("the history has format version %d; this isohound reads up to %d, use a newer one", h.Isohound, Version))
	}
	if err := h.Schema.Check(); err != nil {
		return r.At(errors.Wrap(err, "schema"))
	}
	r.hdr = h.Header
	r.parse.version = h.Isohound
	if len(h.Initial) > 0 {
		v, err := parseValue(h.Initial, r.sym)
		if err != nil {
			return r.At(errors.Wrap(err, "initial value"))
		}
		r.sym.DefaultInitial = v
	}
	return nil
}

// Header returns the file's header.
func (r *Reader) Header() *history.Header { return &r.hdr }

// Symbols returns the names behind the numbers of the records.
func (r *Reader) Symbols() *history.Symbols { return r.sym }

// Ending returns, after io.EOF, the content of the closing line.
func (r *Reader) Ending() Ending { return r.parse.ending }

// Closed reports, after io.EOF, whether the file has all transactions: it had its closing line, and its header does not say that some
// may be missing.
func (r *Reader) Closed() bool { return r.closed && !r.hdr.Incomplete }

// Notes reports, after io.EOF, what was wrong with the end of the file.
func (r *Reader) Notes() []string { return r.notes }

// At returns err as a history.FormatError at the latest line.
func (r *Reader) At(err error) error {
	return &history.FormatError{Path: r.path, Line: r.latest.number, Byte: -1, Err: err}
}

// Close ends goroutines, and releases the decompressor. It does not close the input.
func (r *Reader) Close() {
	if r.split != nil {
		r.split.close()
		r.split = nil
	}
	if r.ahead != nil {
		r.ahead.close()
		r.ahead = nil
	}
	if r.zr != nil {
		r.zr.Close()
	}
}

// SizeHint extrapolates from what was read so far. It returns 0 if the length of the input is
// not known.
func (r *Reader) SizeHint() int {
	taken := r.input.n.Load()
	if r.size == 0 || taken == 0 || r.latest.end == 0 {
		return 0
	}
	size := float64(r.size)
	if r.zr != nil {
		// The decompressor has taken more than it has yielded, so this is a little low.
		size *= float64(r.plain.n.Load()) / float64(taken)
	}
	hint := float64(r.txns) * size / float64(r.latest.end)
	if r.txns > 1 { // what precedes the first transaction says nothing
		hint = 1 + float64(r.txns-1)*(size-float64(r.start))/float64(r.latest.end-r.start)
	}
	// A real file needs at least a few bytes per transaction.
	return int(max(0, min(hint, size/8)))
}

// Next reads the next transaction. After the last line it returns, with outcome unknown, every
// transaction that has an intent line and no outcome.
func (r *Reader) Next(rec *history.Record) error {
	for !r.eof {
		err := r.lines.next(&r.latest)
		if err != nil {
			if err := r.atEnd(err); err != nil {
				return err
			}
			break
		}
		done := false
		line, torn := r.latest.text, r.latest.torn
		r.parse.number = r.latest.number
		if torn && r.parse.version < 2 { // an intent is not parsed before it is needed
			_, err = r.parse.line(line, rec)
		}
		if err == nil {
			done, err = r.readLine(line, rec)
		}
		if err != nil && torn {
			r.notes = append(r.notes, fmt.Sprintf("line %d is incomplete (%d bytes without a line end) and was left out", r.latest.number, len(line)))
			continue
		}
		if err != nil {
			return r.At(err)
		}
		if done {
			return nil
		}
	}
	if len(r.left) == 0 {
		return io.EOF
	}
	*rec, r.left = r.left[0], r.left[1:]
	return nil
}

// readLine interprets one line and reports whether rec now holds a
// transaction.
func (r *Reader) readLine(line []byte, rec *history.Record) (bool, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return false, nil
	}
	if r.closed {
		return false, errors.New("there is data after the closing line; a file can have only one history")
	}
	if r.parse.version < 2 {
		if id, ok := intentID(line); ok {
			return false, r.intent(id, line, nil)
		}
	}
	kind := r.parse.fast(line, rec)
	if kind == lineNone {
		var err error
		if kind, err = r.parse.line(line, rec); err != nil {
			return false, err
		}
	}
	switch kind {
	case lineTxn:
		r.outcome(rec)
		if r.parse.given&fieldSession == 0 {
			return false, errors.Errorf(`transaction %d has no "session", and no intent before it`, rec.ID)
		}
		if r.txns++; r.txns == 1 {
			r.start = r.latest.end
		}
		return true, nil
	case lineIntent:
		if r.parse.given&fieldSession == 0 {
			return false, noSession(rec.ID)
		}
		return false, r.intent(rec.ID, line, rec)
	case lineInitial:
		if r.txns > 0 {
			return false, errors.New("initial values must come before the first transaction")
		}
	case lineClosed:
		if n := r.parse.ending.Txns; n >= 0 && n != r.txns {
			return false, errors.Errorf("the closing line counts %d transactions and the file has %d; some lines are lost", n, r.txns)
		}
		r.closed, r.hdr.Ended, r.hdr.Fresh = true, r.parse.ending.Reason, r.parse.ending.Fresh
	}
	return false, nil
}

func noSession(id int64) error {
	return errors.Errorf(`the intent of transaction %d has no "session"`, id)
}

// intentID returns the transaction of an intent line written by this package.
func intentID(line []byte) (int64, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"intent":`))
	if !ok {
		return 0, false
	}
	end := bytes.IndexByte(rest, ',')
	if end < 0 {
		return 0, false
	}
	return parseInt(rest[:end])
}

// intent keeps an intent until its outcome is read: its text in a file of version 1, otherwise
// rec, which takes over memory in exchange.
func (r *Reader) intent(id int64, line []byte, rec *history.Record) error {
	if old, dup := r.pending[id]; dup {
		return errors.Errorf("transaction id %d has two intents, the first on line %d", id, old.line)
	}
	var in *intent
	if n := len(r.spare); n > 0 {
		in, r.spare = r.spare[n-1], r.spare[:n-1]
	} else {
		in = &intent{}
	}
	in.line = r.latest.number
	if r.parse.version < 2 {
		in.text = append(in.text[:0], line...)
	} else {
		in.rec, rec.Ops, rec.Versions, rec.Predicates = *rec, in.rec.Ops, in.rec.Versions, in.rec.Predicates
	}
	r.pending[id] = in
	return nil
}

// outcome drops the intent of a transaction that is complete. What the line of the outcome left
// out, it takes from the intent.
func (r *Reader) outcome(rec *history.Record) {
	in, ok := r.pending[rec.ID]
	if !ok {
		return
	}
	delete(r.pending, rec.ID)
	r.spare = append(r.spare, in)
	if r.parse.version < 2 {
		return
	}
	given := r.parse.given
	r.parse.given |= fieldSession // an intent has one
	if given&fieldSession == 0 {
		rec.Session = in.rec.Session
	}
	if given&fieldNode == 0 {
		rec.Node = in.rec.Node
	}
	if given&fieldDBTxn == 0 {
		rec.DBTxn = in.rec.DBTxn
	}
	if given&fieldDue == 0 {
		rec.Due = in.rec.Due
	}
	if given&fieldBegin == 0 {
		rec.Begin = in.rec.Begin
	}
	if given&fieldOps == 0 {
		rec.Ops, in.rec.Ops = in.rec.Ops, rec.Ops
		rec.Versions, in.rec.Versions = in.rec.Versions, rec.Versions
	}
	if given&fieldPredicates == 0 {
		rec.Predicates, in.rec.Predicates = in.rec.Predicates, rec.Predicates
	}
}

// interpret turns the remaining intents into transactions of unknown outcome.
func (r *Reader) interpret() error {
	intents := slices.SortedFunc(maps.Values(r.pending), func(a, b *intent) int { return a.line - b.line })
	for _, in := range intents {
		if r.parse.version < 2 {
			_, err := r.parse.line(in.text, &in.rec)
			if err == nil && r.parse.given&fieldSession == 0 {
				err = noSession(in.rec.ID)
			}
			if err != nil {
				return &history.FormatError{Path: r.path, Line: in.line, Byte: -1, Err: err}
			}
		}
		in.rec.Status, in.rec.End, in.rec.Cause = history.Unknown, history.NoTime, "no outcome was recorded"
		r.left = append(r.left, in.rec)
	}
	if n := len(r.left); n > 0 {
		r.notes = append(r.notes, history.Many(n, "transaction has an intent and no outcome; it counts as unknown", "transactions have an intent and no outcome; they count as unknown"))
	}
	return nil
}

// atEnd handles the end of the stream, and distinguishes a cut from corruption.
func (r *Reader) atEnd(err error) error {
	switch {
	case err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF) && r.zr != nil:
		r.notes = append(r.notes, "the compressed stream is cut; what came before the cut was used")
	default:
		return r.At(err)
	}
	r.eof = true
	if !r.closed {
		r.notes = append(r.notes, "the history has no closing line: its recording was cut off")
	}
	if r.hdr.Incomplete {
		r.notes = append(r.notes, history.IncompleteNote)
	}
	return r.interpret()
}

// prefixReader first returns bytes that were already read.
type prefixReader struct {
	r    io.Reader
	head []byte
}

func (p *prefixReader) peek(n int) ([]byte, error) {
	buf := make([]byte, n)
	got, err := io.ReadFull(p.r, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	p.head = buf[:got]
	return p.head, err
}

func (p *prefixReader) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.r.Read(b)
}

// Interrupt makes reads of a compressed file fail with cause. It is needed because what is read of the input, a few bytes, may be
// very long without compression, and without transactions. It may be called while the file is read.
func (r *Reader) Interrupt(cause error) {
	if r.plain != nil {
		r.plain.stopped.Store(&cause)
	}
}

// counter counts what is read. Another goroutine may read.
type counter struct {
	r       io.Reader
	n       atomic.Int64
	stopped atomic.Pointer[error] // why reads fail, or nil
}

func (c *counter) Read(b []byte) (int, error) {
	if cause := c.stopped.Load(); cause != nil {
		return 0, *cause
	}
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
