package dbcop_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dbcop"
	"github.com/isohound/isohound/history/dsl"
)

// sample builds a file: two sessions, an event without success, an aborted
// transaction, a value beyond int64.
func sample() []byte {
	var b []byte
	u := func(n ...uint64) {
		for _, v := range n {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	text := func(s string) { u(uint64(len(s))); b = append(b, s...) }
	event := func(write byte, key, value uint64, ok byte) {
		b = append(b, write)
		u(key, value)
		b = append(b, ok)
	}
	u(1, 99, 99, 99, 99) // counts that are wrong
	text("info")
	text("2024-01-01")
	text("")
	u(2)
	u(2) // session 1: two transactions
	u(3)
	event(0, 7, 0, 1)
	event(1, 7, 5, 1)
	event(1, 7, 6, 0)
	b = append(b, 1)
	u(1)
	event(1, 8, 1<<63, 1)
	b = append(b, 0)
	u(1) // session 2
	u(0)
	b = append(b, 1)
	return b
}

func read(data []byte) (*history.History, error) {
	r, err := dbcop.NewReader(bytes.NewReader(data), "f", 0)
	if err != nil {
		return nil, err
	}
	return history.Load(context.Background(), r)
}

func TestRead(t *testing.T) {
	h, err := read(sample())
	if err != nil {
		t.Fatal(err)
	}
	want := "s1 T1: r(7,0) w(7,5)\ns1 T2: w(8,9223372036854775808) abort\ns2 T3:\n"
	if got := dsl.Format(h); got != want || h.Created != "2024-01-01" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !dbcop.Detect(sample(), int64(len(sample()))) {
		t.Error("not detected")
	}
}

// TestFirstZero: a key that the file first sets to 0 begins absent, others begin as 0.
func TestFirstZero(t *testing.T) {
	for text, opened := range map[string]string{
		"s1 T1: w(1,0) w(2,0)\ns2 T2: r(1,0) w(1,5)\ns2 T3: r(2,0)\n":         "initial 1=nil\ninitial 2=nil\n",
		"s1 T1: r(1,0) w(1,0)\ns2 T2: w(2,5)\ns2 T3: w(2,0)\ns2 T4: r(2,0)\n": "",
		"s1 T1: w(1,0) abort\ns2 T2: r(1,0)\ns2 T3: w(1,0)\n":                 "",
		"s1 T1: w(1,0) abort\ns2 T2: w(1,0)\ns2 T3: r(1,0)\n":                 "initial 1=nil\n",
	} {
		var b bytes.Buffer
		if err := dbcop.Write(&b, dsl.MustParse(text)); err != nil {
			t.Fatal(err)
		}
		h, err := read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if got := dsl.Format(h); got != opened+text || (len(h.Notes) > 0) != (opened != "") {
			t.Errorf("got\n%s%v\nwant\n%s", got, h.Notes, opened+text)
		}
	}
}

func TestCut(t *testing.T) {
	data := sample()
	for n := range data {
		if _, err := read(data[:n]); err == nil || !strings.HasPrefix(err.Error(), "f at byte ") {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	if _, err := read(append(data, 0)); err == nil || !strings.Contains(err.Error(), "data after the last transaction") {
		t.Errorf("one byte more: %v", err)
	}
}

// TestCorpus reads the public histories next to the project, if they are there.
func TestCorpus(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/corpus/*.bincode")
	if len(files) == 0 {
		t.Skip("the corpus of public histories is not beside the project")
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		h, err := read(data)
		if err != nil {
			t.Error(err)
			continue
		}
		if n := h.Count(); n.Txns == 0 || n.Ops == 0 {
			t.Errorf("%s: %+v", f, n)
		}
		if !dbcop.Detect(data[:64], int64(len(data))) {
			t.Errorf("%s is not detected", f)
		}
	}
}

// FuzzRead: any input gives a history or an error, and takes memory in proportion to its size.
func FuzzRead(f *testing.F) {
	f.Add(sample())
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := read(data)
		if err == nil && len(h.AllOps())*18 > len(data) {
			t.Errorf("%d operations from %d bytes", len(h.AllOps()), len(data))
		}
	})
}
