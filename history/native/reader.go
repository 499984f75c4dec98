package native

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Reader reads a native history. It implements history.Source. It yields records before the file
// is complete, so that a pipe works.
type Reader struct {
	path   string
	lines  *lineReader
	zr     *zstd.Decoder
	hdr    history.Header
	sym    *history.Symbols
	input  *prefixReader
	size   int64
	txns   int64 // read so far
	closed bool
	notes  []string
	parse  recordParser

	// pending holds the lines of intents whose outcome has not been read, by transaction id.
	// Each session has at most one, so it stays small. Only intents that never get an outcome
	// are parsed; spare keeps the memory of the others for reuse.
	pending map[int64]intentLine
	spare   [][]byte
	// left are the transactions of pending, in the order of their lines, once the file has been
	// read.
	left []history.Record
	eof  bool
}

var _ history.Source = (*Reader)(nil)

type intentLine struct {
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
	rd := &Reader{path: path, size: size, sym: history.NewSymbols(), pending: map[int64]intentLine{}}
	rd.parse.sym = rd.sym
	br := &prefixReader{r: r}
	rd.input = br
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
		src = rd.zr
	}
	rd.lines = newLineReader(src)
	if err := rd.readHeader(); err != nil {
		rd.Close()
		return nil, err
	}
	return rd, nil
}

func (r *Reader) readHeader() error {
	line, _, err := r.lines.next()
	if err == io.EOF {
		return r.At(errors.New("the file is empty"))
	}
	if err != nil {
		return r.At(err)
	}
	var h headerLine
	if err := json.Unmarshal(line, &h); err != nil {
		if known, _ := Detect(line); known {
			return r.At(errors.Wrap(err, "header"))
		}
		return r.At(errors.Wrap(err, "the first line is not an isohound header"))
	}
	switch {
	case h.Isohound == 0:
		return r.At(errors.New(`the first line is not an isohound header: it has no field "isohound"`))
	case h.Isohound > Version:
		return r.At(errors.Errorf("the history has format version %d; this isohound reads up to %d, use a newer one", h.Isohound, Version))
	}
	if err := h.Schema.Check(); err != nil {
		return r.At(errors.Wrap(err, "schema"))
	}
	r.hdr = h.Header
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

// Closed reports, after io.EOF, whether the file had its closing line.
func (r *Reader) Closed() bool { return r.closed }

// Notes reports, after io.EOF, what was wrong with the end of the file.
func (r *Reader) Notes() []string { return r.notes }

// At returns err as a history.FormatError at the latest line.
func (r *Reader) At(err error) error {
	fe := &history.FormatError{Path: r.path, Byte: -1, Err: err}
	if r.lines != nil {
		fe.Line = r.lines.line
	}
	return fe
}

// Close releases the decompressor. It does not close the input.
func (r *Reader) Close() {
	if r.zr != nil {
		r.zr.Close()
	}
}

// SizeHint extrapolates from what was read so far. It returns 0 if the length of the input is
// not known.
func (r *Reader) SizeHint() int {
	if r.size == 0 || r.input.taken == 0 {
		return 0
	}
	// The decompressor and the line buffer read ahead, so the hint is a little low. A real file
	// needs at least a few bytes per transaction.
	hint := float64(r.txns) * float64(r.size) / float64(r.input.taken)
	return int(min(hint, float64(r.size)/8))
}

// Next reads the next transaction. After the last line it returns, with outcome unknown, every
// transaction that has an intent line and no outcome.
func (r *Reader) Next(rec *history.Record) error {
	for !r.eof {
		line, torn, err := r.lines.next()
		if err != nil {
			if err := r.atEnd(err); err != nil {
				return err
			}
			break
		}
		done := false
		if torn { // an intent is not parsed before it is needed
			_, err = r.parse.line(line, rec)
		}
		if err == nil {
			done, err = r.readLine(line, rec)
		}
		if err != nil && torn {
			r.notes = append(r.notes, fmt.Sprintf("line %d is incomplete (%d bytes without a line end) and was left out", r.lines.line, len(line)))
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
	if id, ok := intentID(line); ok {
		return false, r.intent(id, line)
	}
	kind := lineTxn
	if !r.parse.fast(line, rec) {
		var err error
		if kind, err = r.parse.line(line, rec); err != nil {
			return false, err
		}
	}
	switch kind {
	case lineTxn:
		r.outcome(rec.ID)
		r.txns++
		return true, nil
	case lineIntent:
		return false, r.intent(rec.ID, line)
	case lineInitial:
		if r.txns > 0 {
			return false, errors.New("initial values must come before the first transaction")
		}
	case lineClosed:
		if n := r.parse.ending.Txns; n >= 0 && n != r.txns {
			return false, errors.Errorf("the closing line counts %d transactions and the file has %d; some lines are lost", n, r.txns)
		}
		r.closed = true
	}
	return false, nil
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

// intent keeps an intent until its outcome is read.
func (r *Reader) intent(id int64, line []byte) error {
	if old, dup := r.pending[id]; dup {
		return errors.Errorf("transaction id %d has two intents, the first on line %d", id, old.line)
	}
	var text []byte
	if n := len(r.spare); n > 0 {
		text, r.spare = r.spare[n-1][:0], r.spare[:n-1]
	}
	r.pending[id] = intentLine{text: append(text, line...), line: r.lines.line}
	return nil
}

// outcome drops the intent of a transaction that is complete.
func (r *Reader) outcome(id int64) {
	if in, ok := r.pending[id]; ok {
		delete(r.pending, id)
		r.spare = append(r.spare, in.text)
	}
}

// interpret turns the remaining intents into transactions of unknown outcome.
func (r *Reader) interpret() error {
	lines := slices.SortedFunc(maps.Values(r.pending), func(a, b intentLine) int { return a.line - b.line })
	for _, in := range lines {
		var rec history.Record
		if _, err := r.parse.line(in.text, &rec); err != nil {
			return &history.FormatError{Path: r.path, Line: in.line, Byte: -1, Err: err}
		}
		rec.Status, rec.End, rec.Cause = history.Unknown, history.NoTime, "no outcome was recorded"
		r.left = append(r.left, rec)
	}
	if n := len(r.left); n > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d transactions have an intent and no outcome; they count as unknown", n))
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
	return r.interpret()
}

// prefixReader first returns bytes that were already read, and counts what is read.
type prefixReader struct {
	r     io.Reader
	head  []byte
	taken int64
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
	n, err := p.r.Read(b)
	p.taken += int64(n)
	return n, err
}
