// Package cobra reads and writes Cobra's logs: a folder with one file T<n>.log
// for each session n. Other files in it, .debug and .error, are not read.
//
// A log is a sequence of records, each a letter and big-endian 64-bit numbers:
//
//	S txn                       a transaction starts
//	R writer wid key value      it read what the transaction writer wrote
//	W wid key value             it wrote
//	C txn                       it committed
//	A txn                       it aborted
//
// Keys and values are hashes. wid is the id of a write. There are no times.
//
// What a read returned is known by who wrote it, and there are two ways of
// that. In the format cobra, wid and writer are 0xabddefee throughout: a write
// is known by its value, and values may repeat. In cobra-uv each write has an
// id of its own, and is known by wid, transaction and value together. Read as
// the other, a correct history looks violated, so that a log that is not of
// its kind is refused. Detect tells them apart by the first write, or the first
// read of one: cobra if its wid is 0xabddefee.
//
// Four numbers in place of writer and wid mean more: 0xbebeebee is a value from
// before the first transaction; 0xdeadbeef (null) and 0xabcdefab (deleted) are
// absence, read or written; 0xadeafbee (missing) says that the writer is not
// known, and such a read is left out. The first value of a key is that of its
// first read of 0xbebeebee, and absence if there is none.
//
// A transaction without C or A is of unknown outcome. Where a log ends inside
// one, whole or torn, its client died and may have done more than is on file,
// so that the history does not count as closed.
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

// Identity is how writes are told apart.
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

// The numbers that mean more in place of writer and wid.
const (
	idInit     = 0xbebeebee
	idNull     = 0xdeadbeef
	idDeleted  = 0xabcdefab
	idMissing  = 0xadeafbee
	idAnything = 0xabddefee // every writer and every write of the format cobra
)

// logFile is one log and the session that it belongs to.
type logFile struct {
	name    string
	session int64
}

// logs returns the logs in a folder by their numbers; where a name has none,
// all sessions are numbered from 1 in the order of names.
func logs(folder fs.FS) ([]logFile, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, err
	}
	var all []logFile
	numbered := true
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		if !ok || !strings.HasPrefix(name, "T") || !e.Type().IsRegular() {
			continue
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
	return all, nil
}

// IsFolder reports whether a folder holds Cobra's logs.
func IsFolder(folder fs.FS) bool {
	all, err := logs(folder)
	return err == nil && len(all) > 0
}

// Detect tells how the writes in a folder are told apart. Where it has none and
// no read of one, both readings are the same.
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

// detect looks for a write of its own kind. What is wrong with the log is for
// the reader to say.
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

	logs   []logFile // from the one in progress on
	log    *log      // in progress, or nil
	buffer *bufio.Reader
	latest *log // the last that was read from
	file   io.Closer
	begun  bool // a transaction has started
	rec    history.Record
	closed bool
	// size is that of all logs, read that of those behind, in bytes; txns are those
	// that have started.
	size, read int64
	txns       int

	noOutcome, missing int
	cut                []string
	writers            writers
}

var _ history.Source = (*Reader)(nil)

// perKey is about how many bytes of logs there are for each key, where keys are
// many.
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

// Close releases the log that is open.
func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}
