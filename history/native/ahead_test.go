package native_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
)

// large is the size of a file that is decompressed by another goroutine.
const large = 1 << 20

// TestAhead: a large file gives the same as a small one, wherever it is cut.
func TestAhead(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 3, Txns: 40, Keys: 5, Seed: 1})
	data := withIntents(t, h, true)
	for cut := range len(data) + 1 {
		load := func(size int64) (string, []string, string) {
			r, err := native.NewReader(bytes.NewReader(data[:cut]), "h", size)
			if err != nil {
				return "", nil, err.Error()
			}
			defer r.Close()
			got, err := history.Load(context.Background(), r)
			if err != nil {
				return "", nil, err.Error()
			}
			return dsl.Format(got), got.Notes, ""
		}
		text, notes, fault := load(int64(cut))
		text2, notes2, fault2 := load(large)
		if text != text2 || fault != fault2 || !reflect.DeepEqual(notes, notes2) {
			t.Fatalf("cut at %d of %d: %d and %d bytes, notes %q and %q, errors %q and %q", cut, len(data), len(text), len(text2), notes, notes2, fault, fault2)
		}
	}
}

// TestAheadCloses: a file that is not read to its end, or fails, leaves no goroutine behind.
func TestAheadCloses(t *testing.T) {
	h := synth.Mini(synth.MiniConfig{Sessions: 5, Txns: 60_000, Keys: 1000, Seed: 3})
	data := write(t, h, true)
	before := runtime.NumGoroutine()
	var rec history.Record
	for range 20 {
		r, err := native.NewReader(bytes.NewReader(data), "h", large)
		if err == nil {
			err = r.Next(&rec)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		r.Close()
		for err == nil { // what was read ahead may still come
			err = r.Next(&rec)
		}
	}
	lost := errors.New("the disk is away")
	r, err := native.NewReader(io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(lost)), "h", large)
	n := 0
	for ; err == nil; n++ {
		err = r.Next(&rec)
	}
	if !errors.Is(err, lost) || !strings.HasPrefix(err.Error(), "h:") || n < 1000 {
		t.Errorf("%d transactions, %v", n, err)
	}
	r.Close()
	got, err := read(data)
	if err != nil || len(got.Txns) != len(h.Txns) || !got.Closed {
		t.Errorf("%v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}
