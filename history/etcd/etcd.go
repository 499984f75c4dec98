// Package etcd reads the reports of etcd's own robustness tests (tests/robustness in etcd's repository): a folder with
// client-1, client-2 and so on, of which each has operations.json, watch.json or both. A line of operations.json is a
// request with its answer, a line of watch.json a watch with all that it was told.
//
// What the reader makes of them:
//
//   - Each request that read or wrote is a transaction. Its session is the ClientId of its line, which etcd's tests change
//     after each request whose answer was lost.
//   - A condition that held is a read of the version that it names. A single one that did not hold is a read of some
//     other version. Of several conditions one did not hold; the file does not say which, and they say nothing.
//   - A range is a read of each key between its bounds that occurs anywhere in the report, found or not. Behind the last
//     row of a range that was cut off by its limit nothing is known.
//   - The revision of an answer is the claimed position of the commit, or of the snapshot if nothing was changed.
//   - A request whose answer was lost is of unknown outcome, unless watches tell at one revision all that it would have
//     written and no other request puts one of these values. Then it committed there.
//   - A revision that watches tell and that belongs to no request is a transaction of a session of its own, without times:
//     the end of a lease, or a request that was not recorded.
//   - A range at an older revision is a transaction of a session of its own, without times.
//
// If the revisions of some writes are in no request and in no watch, what they wrote is unknown, and the verdict with
// it (history.Header.LeftOut).
package etcd

import (
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/jsonlines"
)

// client is the folder of one client.
type client struct {
	name   string
	number int64
}

// clients returns the folders of a report, in the order of their numbers.
func clients(folder fs.FS) ([]client, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, err
	}
	var all []client
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "client-")
		if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && e.IsDir() {
			all = append(all, client{e.Name(), n})
		}
	}
	slices.SortFunc(all, func(a, b client) int { return int(min(max(a.number-b.number, -1), 1)) })
	return all, nil
}

// IsFolder reports whether a folder is a report.
func IsFolder(folder fs.FS) bool {
	all, err := clients(folder)
	return err == nil && len(all) > 0
}

// Reader reads a report. It implements history.Source. All of the report is read before the first transaction.
type Reader struct {
	path   string
	folder fs.FS
	hdr    history.Header
	sym    *history.Symbols
	all    *history.Replay // nil until everything was read
}

var _ history.Source = (*Reader)(nil)

// NewReader returns a reader of the report in folder; path is its name, for messages.
func NewReader(folder fs.FS, path string) *Reader {
	return &Reader{path: path, folder: folder, sym: history.NewSymbols(), hdr: history.Header{
		Source: path, Server: "etcd", Clock: "monotonic ns", Positions: "revisions",
	}}
}

func (r *Reader) Header() *history.Header   { return &r.hdr }
func (r *Reader) Symbols() *history.Symbols { return r.sym }
func (r *Reader) Closed() bool              { return true }

// SizeHint returns how many transactions there are, once that is known.
func (r *Reader) SizeHint() int {
	if r.all == nil {
		return 0
	}
	return r.all.SizeHint()
}

// Notes says what was assumed, and where etcd contradicts itself.
func (r *Reader) Notes() []string {
	if r.all == nil {
		return nil
	}
	return r.all.Notes()
}

// At returns err as a history.FormatError of the report.
func (r *Reader) At(err error) error { return &history.FormatError{Path: r.path, Byte: -1, Err: err} }

// Next yields the next transaction, in the order of their begins.
func (r *Reader) Next(rec *history.Record) error {
	if r.all == nil {
		if err := r.readAll(); err != nil {
			return err
		}
	}
	return r.all.Next(rec)
}

func (r *Reader) readAll() error {
	list, err := clients(r.folder)
	if err == nil && len(list) == 0 {
		err = errors.New("the folder is no report of etcd's robustness tests: it has no folder client-1")
	}
	if err != nil {
		return r.At(err)
	}
	m := newMaker(r.sym)
	for _, c := range list {
		for _, part := range []struct {
			name string
			read func(line []byte) error
		}{{"operations.json", m.operation}, {"watch.json", m.watch}} {
			if err := r.lines(c.name+"/"+part.name, part.read); err != nil {
				return err
			}
		}
	}
	if len(m.ops)+len(m.told) == 0 {
		return r.At(errors.New("the report has neither operations nor watched events"))
	}
	records, notes := m.records()
	r.hdr.LeftOut = m.leftOut()
	b := history.NewBuilder(r.hdr, r.sym, len(records))
	for i := range records {
		if err := b.Add(&records[i]); err != nil {
			return r.At(err)
		}
	}
	r.all = history.NewReplay(b.Done(true, notes))
	return nil
}

// lines reads the JSON values of a file, if it is there.
func (r *Reader) lines(name string, read func(line []byte) error) error {
	f, err := r.folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return r.At(err)
	}
	defer f.Close()
	lines := jsonlines.New(f)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = read(line)
		}
		if err != nil {
			return &history.FormatError{Path: strings.TrimSuffix(r.path, "/") + "/" + name, Line: lines.Line(), Byte: -1, Err: err}
		}
	}
}
