package native

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"
)

// Log appends lines from many goroutines to one stream, in groups. A goroutine that finds no
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

// Append adds complete lines and returns the ticket for Wait. It copies them.
func (l *Log) Append(lines []byte) (ticket int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.group = append(l.group, lines...)
	return l.next
}

// Wait returns once the lines of the ticket have reached the kernel. It writes them itself if no
// other goroutine does.
func (l *Log) Wait(ticket int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.done <= ticket && l.err == nil {
		if l.writing {
			l.written.Wait()
			continue
		}
		l.flushLocked()
	}
	return l.err
}

// Write appends lines and waits for them.
func (l *Log) Write(lines []byte) (int, error) {
	if err := l.Wait(l.Append(lines)); err != nil {
		return 0, err
	}
	return len(lines), nil
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
