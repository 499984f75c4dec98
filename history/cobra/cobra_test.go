package cobra_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/cobra"
	"github.com/isohound/isohound/history/dsl"
)

const (
	initial = 0xbebeebee
	null    = 0xdeadbeef
	deleted = 0xabcdefab
	missing = 0xadeafbee
	shared  = 0xabddefee
)

// rec is a record.
func rec(letter byte, numbers ...int64) []byte {
	b := []byte{letter}
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

func logOf(records ...[]byte) []byte { return bytes.Join(records, nil) }

func folder(logs map[string][]byte) fstest.MapFS {
	f := fstest.MapFS{"T1.debug": {Data: []byte("not read")}, "other.log": {Data: []byte("nor this")}}
	for name, data := range logs {
		f[name] = &fstest.MapFile{Data: data}
	}
	return f
}

func read(f fs.FS, id cobra.Identity) (*history.History, error) {
	r, err := cobra.NewReader(f, "f", id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return history.Load(context.Background(), r)
}

// byValue and byWrite are a folder of each kind.
func byValue() map[string][]byte {
	return map[string][]byte{
		"T3.log": logOf(
			rec('S', 7), rec('R', initial, initial, 1, 50), rec('W', shared, 1, 51), rec('C', 7),
			rec('S', 8), rec('R', shared, shared, 1, 50), rec('R', null, null, 2, 0), rec('W', null, 2, 0), rec('A', 8)),
		"T20.log": logOf(
			rec('S', 9), rec('R', shared, shared, 1, 51), rec('R', missing, missing, 1, 0), rec('R', deleted, deleted, 2, 0), rec('W', shared, -1, -2),
			rec('S', 10), rec('W', shared, 1, 50), rec('C', 10)),
	}
}

func byWrite() map[string][]byte {
	return map[string][]byte{
		"T0.log": logOf(rec('S', 1), rec('W', 100, 1, 5), rec('W', 101, 2, 5), rec('C', 1)),
		"T1.log": logOf(rec('S', 2), rec('R', initial, initial, 1, 0), rec('W', 102, 1, 5), rec('C', 2)),
		"T2.log": logOf(rec('S', 3), rec('R', 1, 100, 1, 5), rec('R', 2, 102, 1, 5), rec('R', 9, 103, 1, 5), rec('R', 2, 102, 1, 6), rec('C', 3)),
	}
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		id   cobra.Identity
		logs map[string][]byte
		want string
	}{
		// Only the first transaction read the initial value. The other read a write of the same
		// value.
		{cobra.ByValue, byValue(), `initial nil
initial 1=50
s3 T7: r(1,50) w(1,51)
s3 T8: r(1,50@write) r(2,nil) w(2,nil) abort
s20 T9: r(1,51) r(2,nil) w(18446744073709551615,-2) unknown
s20 T10: w(1,50@write)
`},
		{cobra.ByWrite, byWrite(), `initial nil
initial 1=0
s0 T1: w(1,5) w(2,5)
s1 T2: r(1,0) w(1,5@2.102)
s2 T3: r(1,5) r(1,5@2.102) r(1,5@9.103) r(1,6)
`},
	} {
		f := folder(tc.logs)
		h, err := read(f, tc.id)
		if err != nil {
			t.Fatal(err)
		}
		if got := dsl.Format(h); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.id, got, tc.want)
		}
		if id, err := cobra.Detect(f); err != nil || id != tc.id || !cobra.IsFolder(f) {
			t.Errorf("%s is taken for %s (%v)", tc.id, id, err)
		}
		// Read as the other format it would look violated.
		if _, err := read(f, 1-tc.id); err == nil || !strings.Contains(err.Error(), "so the format is "+tc.id.String()) {
			t.Errorf("%s read as the other: %v", tc.id, err)
		}
	}
	h, _ := read(folder(byWrite()), cobra.ByWrite)
	if notes := strings.Join(h.Notes, "\n"); !strings.Contains(notes, "1 transaction whose writes were read is missing from the logs") {
		t.Errorf("notes: %s", notes)
	}
	h, _ = read(folder(byValue()), cobra.ByValue)
	notes := strings.Join(h.Notes, "\n")
	if !strings.Contains(notes, "1 transaction has neither commit nor abort") || !strings.Contains(notes, "1 read was left out because the client did not find its writer") {
		t.Errorf("notes: %s", notes)
	}
}

// TestCut: a log that ends inside a transaction leaves it unknown and the history open. A log
// that ends between two transactions has no such effect.
func TestCut(t *testing.T) {
	data := byValue()["T3.log"]
	boundary := map[int]bool{0: true, len(data): true, bytes.Index(data, rec('S', 8)): true}
	for n := range len(data) + 1 {
		h, err := read(folder(map[string][]byte{"T3.log": data[:n]}), cobra.ByValue)
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if h.Closed != boundary[n] || !h.Closed && !strings.Contains(strings.Join(h.Notes, " "), "1 log ends inside a transaction (T3.log)") {
			t.Errorf("cut at %d: closed %v, %v", n, h.Closed, h.Notes)
		}
	}
}

func TestErrors(t *testing.T) {
	for want, data := range map[string][]byte{
		"f/T1.log at byte 0: a record begins with 'X'":           []byte("X"),
		"f/T1.log at byte 9: a record begins with":               append(rec('S', 1), 0),
		"f/T1.log at byte 0: an operation is outside":            rec('W', shared, 1, 1),
		"f/T1.log at byte 0: transaction 4 ends but is not open": rec('C', 4),
		"f/T1.log at byte 9: transaction 2 ends but is not open": append(rec('S', 1), rec('C', 2)...),
		"f/T1.log at byte 27: transaction id 1 occurs twice":     logOf(rec('S', 1), rec('C', 1), rec('S', 1), rec('C', 1)),
		"f/T1.log at byte 9: a write has a unique id":            append(rec('S', 1), rec('W', 5, 1, 1)...),
		"f/T1.log at byte 34: a write has a unique id":           logOf(rec('S', 1), rec('W', shared, 1, 1), rec('R', 3, shared, 1, 1)),
	} {
		if _, err := read(folder(map[string][]byte{"T1.log": data}), cobra.ByValue); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", data, err, want)
		}
	}
	if _, err := read(folder(nil), cobra.ByValue); err == nil || !strings.Contains(err.Error(), "no log of Cobra") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestNames: sessions have the numbers of their logs, or new numbers if a log has none.
func TestNames(t *testing.T) {
	one := func(id int64) []byte { return logOf(rec('S', id), rec('C', id)) }
	for _, tc := range []struct {
		logs map[string][]byte
		want string
	}{
		{map[string][]byte{"T10.log": one(1), "T9.log": one(2)}, "s9 T2:\ns10 T1:\n"},
		{map[string][]byte{"Tb.log": one(1), "T9.log": one(2)}, "s1 T2:\ns2 T1:\n"},
		{map[string][]byte{"T01.log": one(1), "T1.log": one(2)}, "s1 T1:\ns2 T2:\n"},
	} {
		h, err := read(folder(tc.logs), cobra.ByValue)
		if err != nil {
			t.Fatal(err)
		}
		if got := dsl.Format(h); got != "initial nil\n"+tc.want {
			t.Errorf("got\n%s\nwant\n%s", got, tc.want)
		}
	}
}

// TestCorpus reads the public histories next to the project, if they are there.
func TestCorpus(t *testing.T) {
	found := false
	for name, want := range map[string]struct {
		id     cobra.Identity
		txns   int
		nobody int // reads of values that nobody wrote
	}{
		"G-RUBiS-10k": {cobra.ByValue, 10289, 0}, "G-TPCC-10k": {cobra.ByValue, 10364, 0}, "G-Twitter-10k": {cobra.ByValue, 10444, 0},
		"cock-G2": {cobra.ByWrite, 446, 0}, "cock-blog": {cobra.ByWrite, 21, 8},
	} {
		path := filepath.Join("../../../shared/corpus", name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		found = true
		id, err := cobra.Detect(os.DirFS(path))
		if err != nil || id != want.id {
			t.Errorf("%s is taken for %s (%v)", name, id, err)
		}
		h, err := read(os.DirFS(path), id)
		if err != nil {
			t.Error(err)
			continue
		}
		if c := h.Count(); c.Txns != want.txns || c.Committed != c.Txns || !h.Closed {
			t.Errorf("%s: %+v", name, c)
		}
		if n := nobodys(h); n != want.nobody {
			t.Errorf("%s: %d reads find no writer, want %d", name, n, want.nobody)
		}
	}
	if !found {
		t.Skip("the corpus of public histories is not beside the project")
	}
}

// nobodys counts reads of values that nobody wrote.
func nobodys(h *history.History) int {
	type slot struct {
		k history.Key
		v history.Value
	}
	written := map[slot]bool{}
	for _, op := range h.AllOps() {
		if op.Kind == history.Write {
			written[slot{op.Key, op.Value}] = true
		}
	}
	n := 0
	for _, op := range h.AllOps() {
		if op.Kind == history.Read && op.Value != h.Initial(op.Key) && !written[slot{op.Key, op.Value}] {
			n++
		}
	}
	return n
}

// memory is a folder that is written to.
type memory fstest.MapFS

func (m memory) create(name string) (io.WriteCloser, error) {
	f := &fstest.MapFile{}
	m[name] = f
	return file{f}, nil
}

type file struct{ f *fstest.MapFile }

func (f file) Write(b []byte) (int, error) { f.f.Data = append(f.f.Data, b...); return len(b), nil }
func (f file) Close() error                { return nil }

// FuzzRead: any input gives a history or an error, and no more operations than the input has
// room for. A detected format is not refused as the other.
func FuzzRead(f *testing.F) {
	for _, logs := range []map[string][]byte{byValue(), byWrite()} {
		for _, data := range logs {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := folder(map[string][]byte{"T1.log": data})
		id, err := cobra.Detect(in)
		if err != nil {
			t.Fatal(err)
		}
		h, err := read(in, id)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f/T1.log at byte ") {
				t.Fatal(err)
			}
			return
		}
		if len(h.AllOps())*25 > len(data) {
			t.Errorf("%d operations from %d bytes", len(h.AllOps()), len(data))
		}
		out := memory{}
		if err := cobra.Write(out.create, h, id); err != nil {
			return // values with a text cannot be written again
		}
		if _, err := read(fstest.MapFS(out), id); err != nil && len(h.AllOps()) > 0 && id == cobra.ByValue {
			t.Fatal(err)
		}
	})
}
