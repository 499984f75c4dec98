package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// large is the size of a file that other goroutines decompress and split into lines.
const large = 1 << 20

// load reads a file as if it had a size.
func load(data []byte, size int64) (text string, notes []string, fault string) {
	r, err := native.NewReader(bytes.NewReader(data), "h", size)
	if err != nil {
		return "", nil, err.Error()
	}
	defer r.Close()
	h, err := history.Load(context.Background(), r)
	if err != nil {
		return "", nil, err.Error()
	}
	return dsl.Format(h), h.Notes, ""
}

func sameAhead(t *testing.T, data []byte) {
	t.Helper()
	text, notes, fault := load(data, 0)
	text2, notes2, fault2 := load(data, large)
	if text != text2 || fault != fault2 || !reflect.DeepEqual(notes, notes2) {
		t.Fatalf("of %d bytes: %d and %d bytes, notes %q and %q, errors %q and %q", len(data), len(text), len(text2), notes, notes2, fault, fault2)
	}
}

// TestAhead: a large file gives the same as a small one, wherever it is cut.
func TestAhead(t *testing.T) {
	for _, data := range [][]byte{
		withIntents(t, synth.Mini(synth.MiniConfig{Sessions: 3, Txns: 40, Keys: 5, Seed: 1}), true),
		withIntents(t, synth.Pred(2, 4, 8, 2, 4, 1), false),
	} {
		for cut := range len(data) + 1 {
			sameAhead(t, data[:cut])
		}
	}
}

// TestAheadOfPredicates: predicates that are read before the operations are those of their lines, also of lines that
// were written by others.
func TestAheadOfPredicates(t *testing.T) {
	h := synth.Pred(10, 1000, 1000, 8, 4, 1) // several batches
	whole := string(write(t, h, false))
	sameAhead(t, []byte(whole))
	lines := strings.SplitAfter(whole, "\n")
	for i := range lines {
		switch i % 5 {
		case 0:
			lines[i] = strings.Replace(lines[i], `"where":`, `"where" :`, 1)
		case 1:
			lines[i] = strings.Replace(lines[i], `"ops":`, `"other":[{}],"ops":`, 1)
		case 2:
			lines[i] = strings.Replace(lines[i], `"ops":`, `"other":{"a":1,"preds":[{"kind":"read"}]},"ops":`, 1)
		}
	}
	text, _, fault := load([]byte(strings.Join(lines, "")), large)
	if want := dsl.Format(h); text != want || fault != "" {
		t.Errorf("%d bytes, want %d; %s", len(text), len(want), fault)
	}
	for _, c := range []struct{ old, wrong string }{
		{`"table":"ranges"`, `"table":"other"`}, {`"v1",">="`, `"v9",">="`}, {`"ops":[1`, `"ops":[100000`}, {`"preds":[{`, `"preds":[}`},
	} {
		at := strings.LastIndex(whole, c.old)
		wrong := []byte(whole[:at] + c.wrong + whole[at+len(c.old):])
		if _, _, fault := load(wrong, large); fault == "" {
			t.Errorf("%s for %s is no error", c.wrong, c.old)
		}
		sameAhead(t, wrong)
	}
}

// TestAheadCloses: a file that is not read to its end, or fails, leaves no goroutine behind.
func TestAheadCloses(t *testing.T) {
	t.Run("compressed", func(t *testing.T) {
		closes(t, synth.Mini(synth.MiniConfig{Sessions: 5, Txns: 60_000, Keys: 1000, Seed: 3}), true)
	})
	t.Run("predicates", func(t *testing.T) { closes(t, synth.Pred(5, 4000, 1000, 8, 4, 1), false) })
	t.Run("compressed predicates", func(t *testing.T) { closes(t, synth.Pred(5, 10_000, 1000, 8, 4, 1), true) })
}

func closes(t *testing.T, h *history.History, compressed bool) {
	data := write(t, h, compressed)
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

// TestOtherOrder: the fields of a predicate come in another order than the writer's, in several lines.
func TestOtherOrder(t *testing.T) {
	text := `{"isohound":2,"schema":[{"name":"t","key":[{"name":"k","type":"int"}],"groups":[{"name":"g","columns":[{"name":"g","type":"int"}]}]}]}` + "\n"
	for i := range 3 {
		text += fmt.Sprintf(`{"txn":%d,"session":1,"status":"committed","ops":[],"preds":[{"kind":"read","table":"t","groups":["g"],"where":[["g","=",1]],"ops":[0,0]}]}`+"\n", i+1)
	}
	for _, size := range []int64{0, large} {
		r, err := native.NewReader(strings.NewReader(text), "h", size)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		h, err := history.Load(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Txns {
			if p := &h.Predicates(i)[0]; len(p.Where) != 1 {
				t.Errorf("size %d, transaction %d: %+v", size, i, p.Statement)
			}
		}
	}
}
