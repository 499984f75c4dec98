// Package cobra reads and writes Cobra's logs: a folder with one file T<n>.log for each session
// n. Other files in the folder (.debug and .error) are not read.
//
// A log is a sequence of records. Each record is a letter and big-endian 64-bit numbers:
//
//	S txn                       a transaction starts
//	R writer wid key value      it read what the transaction writer wrote
//	W wid key value             it wrote
//	C txn                       it committed
//	A txn                       it aborted
//
// Keys and values are hashes. wid is the id of a write. There are no times.
//
// A read names the write whose value it returned. There are two ways to name a write. In the
// format cobra, wid and writer are always 0xabddefee: a write is identified by its value, and
// values may repeat. In cobra-uv each write has its own id and is identified by wid, transaction
// and value together. If a log is read as the other format, a correct history looks violated.
// Therefore the reader refuses a log of the other format. Detect looks at the first write, or
// the first read of a write: the format is cobra if its wid is 0xabddefee.
//
// Four numbers have a special meaning in place of writer and wid: 0xbebeebee is the value from
// before the first transaction; 0xdeadbeef (null) and 0xabcdefab (deleted) are absence, read or
// written; 0xadeafbee (missing) means that the writer is not known, and such a read is left out.
// The initial value of a key is the value of its first read of 0xbebeebee, or absence if there
// is no such read.
//
// A transaction without C or A has an unknown outcome. If a log ends inside a transaction, at a
// record boundary or within a record, its client died and may have done more than the log holds.
// Then the history does not count as closed.
package cobra

import (
	"bufio"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// Identity is how writes are identified.
type Identity int

const (
	ByValue Identity = iota // cobra
	ByWrite                 // cobra-uv
)

// String returns the name of the format.
func (id Identity) String() string {
	if id == ByWrite {
		return "cobra-uv"
	}
	return "cobra"
}

// The numbers with a special meaning in place of writer and wid.
const (
	idInit     = 0xbebeebee
	idNull     = 0xdeadbeef
	idDeleted  = 0xabcdefab
	idMissing  = 0xadeafbee
	idAnything = 0xabddefee // every writer and every wid of the format cobra
)

// logFile is one log and the session that it belongs to.
type logFile struct {
	name    string
	session int64
}

// logs returns the logs in a folder in the order of their numbers. If a file name has no number,
// all sessions are numbered from 1 in the order of names. A log that is left out would be a session that did nothing, so one that
// is not a file is an error; it is among the logs then, too.
func logs(folder fs.FS) ([]logFile, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, err
	}
	var all []logFile
	var wrong error
	numbered := true
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		if !ok || !strings.HasPrefix(name, "T") {
			continue
		}
		kind := e.Type()
		st, err := fs.Stat(folder, e.Name()) // what a link leads to
		switch {
		case err == nil:
			kind = st.Mode().Type()
		case kind&fs.ModeSymlink != 0 && wrong == nil:
			wrong = errors.Errorf("%s is a link that cannot be followed (%v); put the log in its place, or remove it if it is no log", e.Name(), err)
		}
		if !kind.IsRegular() && wrong == nil {
			wrong = errors.Errorf("%s is not a regular file; write what it holds to a file of that name, or remove it if it is no log", e.Name())
		}
		n, err := strconv.ParseInt(name[1:], 10, 64)
		if err != nil || name[1:] != strconv.FormatInt(n, 10) {
			numbered = false
		}
		all = append(all, logFile{e.Name(), n})
	}
	if !numbered {
		for i := range all {
			all[i].session = int64(i + 1)
		}
	}
	slices.SortFunc(all, func(a, b logFile) int { return int(min(max(a.session-b.session, -1), 1)) })
	return all, wrong
}

// IsFolder reports whether a folder holds Cobra's logs.
func IsFolder(folder fs.FS) bool {
	all, _ := logs(folder)
	return len(all) > 0
}

// Detect finds out how the writes in a folder are identified. If there is no write and no read of
// one, both formats mean the same.
func Detect(folder fs.FS) (Identity, error) {
	all, err := logs(folder)
	if err != nil {
		return 0, err
	}
	for _, l := range all {
		f, err := folder.Open(l.name)
		if err != nil {
			return 0, err
		}
		id, found := detect(newLog(newBuffer(f), l.name))
		f.Close()
		if found {
			return id, nil
		}
	}
	return ByValue, nil
}

// detect looks for a write of its own kind. It does not report errors in the log: the reader
// does.
func detect(l *log) (id Identity, found bool) {
	for {
		r, err := l.next()
		if err != nil || l.torn {
			return 0, false
		}
		if r.letter != 'W' && r.letter != 'R' || special(r.wid) || r.letter == 'R' && special(r.writer) {
			continue
		}
		if r.wid == idAnything {
			return ByValue, true
		}
		return ByWrite, true
	}
}

// special reports whether a number in place of writer or wid means no write.
func special(n int64) bool {
	return n == idInit || n == idNull || n == idDeleted || n == idMissing
}

// Reader reads a folder of logs, one after the other. It implements
// history.Source.
type Reader struct {
	path   string
	folder fs.FS
	id     Identity
	hdr    history.Header
	sym    *history.Symbols
	values values

	logs   []logFile // the log in progress and those after it
	log    *log      // in progress, or nil
	buffer *bufio.Reader
	latest *log // the last that was read from
	file   io.Closer
	begun  bool // a transaction has started
	rec    history.Record
	closed bool
	// size is the size of all logs in bytes, read that of the finished ones. txns counts the
	// transactions that have started.
	size, read int64
	txns       int

	// turns are the logs that are read in turn; nil if they are read one after the other.
	turns []*turn

	noOutcome, missing int
	cut                []string
	writers            writers
}

var _ history.Source = (*Reader)(nil)

// perKey estimates the bytes of logs per key in a history with many keys.
const perKey = 50

// NewReader returns a reader of the logs in folder; path is its name, for
// messages.
func NewReader(folder fs.FS, path string, id Identity) (*Reader, error) {
	r := &Reader{path: path, folder: folder, id: id, sym: history.NewSymbols(), closed: true, hdr: history.Header{Source: path}}
	var err error
	if r.logs, err = logs(folder); err != nil {
		return nil, &history.FormatError{Path: path, Byte: -1, Err: err}
	}
	if len(r.logs) == 0 {
		return nil, &history.FormatError{Path: path, Byte: -1, Err: errors.New("the folder holds no log of Cobra, T0.log say")}
	}
	for _, l := range r.logs {
		if st, err := fs.Stat(folder, l.name); err == nil {
			r.size += st.Size()
		}
	}
	keys := int(min(r.size/perKey, 1<<16))
	r.sym.ExpectHashes(keys)
	r.values = newValues(r.sym, keys)
	return r, nil
}

func (r *Reader) Header() *history.Header   { return &r.hdr }
func (r *Reader) Symbols() *history.Symbols { return r.sym }

// SizeHint extrapolates from what was read so far.
func (r *Reader) SizeHint() int {
	read := r.read
	if r.log != nil {
		read += r.log.after
	}
	if read == 0 {
		return 0
	}
	return int(float64(r.txns) * float64(r.size) / float64(read))
}

// Closed is false where a log ends inside a transaction.
func (r *Reader) Closed() bool { return r.closed }

// At returns err as a history.FormatError at the latest record of its log.
func (r *Reader) At(err error) error {
	fe := &history.FormatError{Path: r.path, Byte: -1, Err: err}
	if l := r.latest; l != nil {
		fe.Path, fe.Byte = strings.TrimSuffix(r.path, "/")+"/"+l.name, l.start
	}
	return fe
}

// Close releases the logs that are open.
func (r *Reader) Close() {
	for _, t := range r.turns {
		if t.file != nil {
			t.file.Close()
		}
	}
	r.turns = nil
	r.closeLog()
}

func (r *Reader) closeLog() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}
