package file_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/native"
)

const text = "s1 T1: r(x,0) w(x,1)\ns2 T2: r(x,1)\n"

func TestDetect(t *testing.T) {
	h := dsl.MustParse(text)
	encode := func(compressed bool) []byte {
		var b bytes.Buffer
		w, err := native.NewWriter(&b, compressed, &h.Header, h.Symbols)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Txns {
			rec := h.Record(i)
			if err := w.Write(&rec); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(true, "complete"); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, tc := range []struct {
		format file.Format
		data   []byte
	}{
		{file.Native, encode(false)}, {file.Native, encode(true)}, {file.DSL, []byte(text)},
	} {
		path := filepath.Join(t.TempDir(), "h")
		if err := os.WriteFile(path, tc.data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, "-"} {
			f, err := file.Open(from, file.Auto, slow{bytes.NewReader(tc.data)})
			if err != nil {
				t.Fatal(err)
			}
			if f.Format != tc.format {
				t.Errorf("detected as %s, want %s", f.Format, tc.format)
			}
			f.Close()
			got, err := file.Load(context.Background(), from, file.Auto, slow{bytes.NewReader(tc.data)})
			if err != nil {
				t.Fatal(err)
			}
			if dsl.Format(got) != text {
				t.Errorf("%s: got\n%s", tc.format, dsl.Format(got))
			}
		}
	}
}

// slow gives one byte at a time, as a pipe may.
type slow struct{ r io.Reader }

func (s slow) Read(b []byte) (int, error) { return s.r.Read(b[:min(1, len(b))]) }

func TestUnknown(t *testing.T) {
	for name, data := range map[string]string{
		"empty": "", "binary": "\x00\x01\x02\xff\xfe" + strings.Repeat("\xee", 100), "JSON of another kind": `{"a":1}`,
	} {
		if _, err := file.Load(context.Background(), "-", file.Auto, strings.NewReader(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := file.ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "native") {
		t.Errorf("%v", err)
	}
}

// TestLongWithoutTransactions: reading a file of zstd that is long without compression, and has no transactions, ends with the
// context.
func TestLongWithoutTransactions(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, `{"isohound":2}`)
	const blank = 1 << 30
	lines := bytes.Repeat([]byte("\n"), 1<<20)
	for range blank / len(lines) {
		w.Write(lines)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "h.jsonl.zst")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	f, err := file.OpenContext(ctx, path, file.Auto, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cause := errors.New("a signal")
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	begun := time.Now()
	_, err = history.Load(ctx, f)
	if took := time.Since(begun); !errors.Is(err, cause) || took > 3*time.Second { // it takes 9 s to read
		t.Errorf("it ended after %v with %v", took, err)
	}
}
