package native

import (
	"bytes"
	"io"
	"iter"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Log is the only writer of this format: a header, then transactions and their intents, then an
// end. It appends lines from many goroutines to one stream, in groups. A goroutine that finds no
// write in progress writes everything appended so far. So a slow disk makes groups larger
// instead of sessions slower. Each group is one write call. When compressed, each group ends a
// zstd block, so a reader can use every group that reached the kernel. Every frameSize bytes end
// a frame. Blocks of one frame share their history, which makes small groups half as large as
// one frame per group would.
//
// After an error nothing more is written. The stream then ends with a group that may be torn, as
// after a crash.
type Log struct {
	w   io.Writer
	enc *zstd.Encoder

	mu      sync.Mutex
	written sync.Cond
	group   []byte       // appended, not yet written
	spare   []byte       // the writer's former buffer
	frame   bytes.Buffer // compression output, used by the one writer
	inFrame int          // bytes that went into the frame so far
	next    int64        // number of the group being filled
	done    int64        // groups below this number have reached the kernel
	writing bool
	err     error
	bytes   int64

	lines int // appended so far
	refs  references
}

// NewLog returns a log on w, compressed if asked for.
func NewLog(w io.Writer, compressed bool) (*Log, error) {
	l := &Log{w: w}
	l.written.L = &l.mu
	if compressed {
		enc, err := zstd.NewWriter(&l.frame, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(frameSize))
		if err != nil {
			return nil, errors.Wrap(err, "zstd")
		}
		l.enc = enc
	}
	return l, nil
}

// Header writes the header line, and lines with the initial values that keys have of their own:
// names and JSON scalars. initial is the value of all other keys. The header comes first.
func (l *Log) Header(h *history.Header, initial string, own iter.Seq2[string, string]) error {
	version := plainVersion
	if l.refs.none {
		version = 1
		l.refs.numbered = needsVersion(h) > version
	}
	b, err := appendHeader(nil, version, h, initial)
	if err != nil {
		return err
	}
	var in initials
	for k, v := range own {
		b = in.append(b, k, v)
		if len(b) >= flushAt {
			if _, err := l.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err = l.Write(in.end(b))
	return err
}

// Intent writes what a transaction has done by the time its commit is sent. It uses all of rec
// except rec.Ops, the outcome and the end.
func (l *Log) Intent(rec *history.Record, ops []Op) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appendIntent(rec, ops)
	return l.wait(l.next)
}

func (l *Log) appendIntent(rec *history.Record, ops []Op) {
	b := append(l.group, `{"intent":`...)
	b = strconv.AppendInt(b, rec.ID, 10)
	b = appendFields(b, rec, nil)
	l.group = l.endLine(l.appendOps(b, ops, rec.Predicates))
}

// Txn writes a finished transaction: all of rec except rec.Ops. intent is what was given to Intent
// before, or nil; the line then leaves out what the two have in common. same says that the
// operations and predicates are those of the intent, and ops is not used.
func (l *Log) Txn(rec *history.Record, ops []Op, intent *history.Record, same bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appendTxn(rec, ops, intent, same)
	return l.wait(l.next)
}

// Group appends what add appends, at once, and returns when all of it has reached the kernel.
func (l *Log) Group(add func(g *Group)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	add(&Group{l})
	return l.wait(l.next)
}

// Group takes lines that reach the kernel together.
type Group struct{ l *Log }

// Intent is Log.Intent, without the wait.
func (g *Group) Intent(rec *history.Record, ops []Op) { g.l.appendIntent(rec, ops) }

// Txn is Log.Txn, without the wait.
func (g *Group) Txn(rec *history.Record, ops []Op, intent *history.Record, same bool) {
	g.l.appendTxn(rec, ops, intent, same)
}

// add is Txn without an intent, for callers that need not know when the line has reached the
// kernel.
func (l *Log) add(rec *history.Record, ops []Op) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appendTxn(rec, ops, nil, false)
	if len(l.group) < flushAt {
		return l.err
	}
	return l.wait(l.next)
}

// flushAt is how many bytes are collected where nobody waits for a line.
const flushAt = 1 << 20

func (l *Log) appendTxn(rec *history.Record, ops []Op, intent *history.Record, same bool) {
	b := append(l.group, `{"txn":`...)
	b = strconv.AppendInt(b, rec.ID, 10)
	b = appendFields(b, rec, intent)
	b = appendOutcome(b, rec)
	if !same {
		b = l.appendOps(b, ops, rec.Predicates)
		if intent != nil && len(intent.Predicates) > 0 && len(rec.Predicates) == 0 {
			b = append(b, `,"preds":null`...)
		}
	}
	l.group = l.endLine(b)
}

// appendOps appends operations and predicates, and the number of the line if it has texts.
func (l *Log) appendOps(b []byte, ops []Op, predicates []history.Predicate) []byte {
	l.refs.texts = false
	b = l.refs.appendOps(b, ops)
	if l.refs.texts {
		b = append(b, `,"line":`...)
		b = strconv.AppendInt(b, int64(l.lines+1), 10)
	}
	if len(predicates) > 0 {
		b = appendPredicates(b, predicates)
	}
	return b
}

func (l *Log) endLine(b []byte) []byte {
	l.lines++
	return append(b, '}', '\n')
}

// Write appends complete lines and returns once they have reached the kernel. It copies them.
func (l *Log) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group = append(l.group, lines...)
	l.lines += bytes.Count(lines, []byte("\n"))
	if err := l.wait(l.next); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// End writes the closing line and closes the log.
func (l *Log) End(e Ending) error {
	b, err := appendEnding(nil, e)
	if err != nil {
		return err
	}
	if _, err := l.Write(b); err != nil {
		return err
	}
	return l.Close()
}

// wait returns once a group has reached the kernel. It writes the group itself if no other
// goroutine does. It is called with mu held and releases it while it waits.
func (l *Log) wait(group int64) error {
	for l.done <= group && l.err == nil {
		if l.writing {
			l.written.Wait()
			continue
		}
		l.flushLocked()
	}
	return l.err
}

// flushLocked writes the group being filled. It is called with mu held and releases it during
// the write.
func (l *Log) flushLocked() {
	group := l.group
	l.group, l.spare = l.spare[:0], nil
	l.next++
	upTo := l.next
	l.writing = true
	l.mu.Unlock()

	n, err := l.write(group)

	l.mu.Lock()
	l.writing = false
	l.spare = group[:0]
	l.bytes += int64(n)
	if err != nil {
		l.err = err
	} else {
		l.done = upTo
	}
	l.written.Broadcast()
}

// frameSize is how much goes into one zstd frame, in bytes before compression.
const frameSize = 1 << 20

// write writes a group, compressed if asked for. Only one call runs at a time.
func (l *Log) write(group []byte) (int, error) {
	out := group
	if l.enc != nil {
		l.frame.Reset()
		if _, err := l.enc.Write(group); err != nil {
			return 0, err
		}
		end := l.enc.Flush
		if l.inFrame += len(group); l.inFrame >= frameSize {
			end = l.enc.Close
		}
		if err := end(); err != nil {
			return 0, err
		}
		if l.inFrame >= frameSize {
			l.enc.Reset(&l.frame)
			l.inFrame = 0
		}
		out = l.frame.Bytes()
	}
	n, err := l.w.Write(out)
	if err == nil && n < len(out) {
		err = io.ErrShortWrite
	}
	return n, err
}

// Err returns the error that ended the log, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Bytes returns the number of bytes written so far.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// Close writes what is left and ends the frame. It does not close the stream.
// Nothing may be appended afterwards.
func (l *Log) Close() error {
	l.mu.Lock()
	for l.writing {
		l.written.Wait()
	}
	defer l.mu.Unlock()
	for len(l.group) > 0 && l.err == nil {
		l.flushLocked()
	}
	if l.err != nil || l.enc == nil || l.inFrame == 0 {
		return l.err
	}
	l.frame.Reset()
	if l.err = l.enc.Close(); l.err == nil {
		_, l.err = l.w.Write(l.frame.Bytes())
	}
	return l.err
}
