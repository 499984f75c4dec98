package text_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/text"
)

func plume(r io.Reader) history.Source { return text.NewReader(r, "f") }
func awdit(r io.Reader) history.Source { return text.NewAwdit(r, "f") }

func read(open func(io.Reader) history.Source, s string) (*history.History, error) {
	return history.Load(context.Background(), open(strings.NewReader(s)))
}

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name string
		open func(io.Reader) history.Source
		text string
		want string
	}{
		{"operations that are not together", plume, "w(1,5,0,7)\nw(9,18446744073709551615,1,8)\n\n r( 1 ,5, 1 ,8) \nr(1,0,0,7)\r\n",
			"s0 T7: w(1,5) r(1,0)\ns1 T8: w(9,18446744073709551615) r(1,5)\n"},
		{"what aborted", plume, "w(1,5,0,-1)\nw(1,6,0,3)\nw(1,7,0,-1)\nr(1,6,1,-1)", "s0 T4: w(1,5) w(1,7) abort\ns0 T3: w(1,6)\ns1 T5: abort\n"},
		{"the same numbers", plume, "w(1,5,0,1)\nw(1,6,1,1)\nw(1,7,0,2)", "s0 T1: w(1,5)\ns1 T2: w(1,6)\ns0 T3: w(1,7)\n"},
		{"the last number there is", plume, "w(1,5,0,9223372036854775807)\nw(1,6,1,-1)", "s0 T1: w(1,5)\ns1 T2: w(1,6) abort\n"},
		{"the file writes the first 0", plume, "w(1,0,0,0)\nw(2,0,0,0)\nr(2,0,0,0)\nr(1,0,1,1)", "initial 1=nil\ninitial 2=nil\ns0 T0: w(1,0) w(2,0) r(2,0)\ns1 T1: r(1,0)\n"},
		{"it writes a later one", plume, "w(1,5,0,0)\nw(1,0,0,1)\nr(2,0,1,2)\nw(2,0,1,2)\nw(3,0,1,2)\nw(3,1,1,2)", "s0 T0: w(1,5)\ns0 T1: w(1,0)\ns1 T2: r(2,0) w(2,0) w(3,0) w(3,1)\n"},
		{"what aborted opens nothing", plume, "w(1,0,0,-1)\nr(1,0,1,1)\nw(2,0,1,1)", "initial 2=nil\ns0 T2: w(1,0) abort\ns1 T1: r(1,0) w(2,0)\n"},
		{"sessions and transactions", awdit, "r 1 0\nw 1 5\n-\n\nr 1 5\n=\n w 2 7 \n---\n-\n==\n=\nr 2 7", "initial nil\ns1 T1: r(1,0) w(1,5)\ns1 T2: r(1,5)\ns2 T3: w(2,7)\ns3 T4: r(2,7)\n"},
		{"a separator at the end", awdit, "=\nr 1 0\n=\n", "initial nil\ns1 T1: r(1,0)\n"},
		{"nothing", awdit, "-\n", "initial nil\n"},
	} {
		h, err := read(tc.open, tc.text)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := dsl.Format(h); got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// TestNotes: assumptions about 0 are reported if they matter.
func TestNotes(t *testing.T) {
	for _, tc := range []struct {
		open func(io.Reader) history.Source
		text string
		want string
	}{
		{plume, "w(1,0,0,0)\nr(1,0,1,1)", "1 key begins absent, not as 0: the first transaction of the file that touches it sets it to 0"},
		{plume, "w(1,0,0,0)\nw(2,0,0,0)", "2 keys begin absent, not as 0: the first transaction of the file that touches such a key sets it to 0"},
		{plume, "r(1,0,0,0)\nw(1,0,1,1)", ""},
		{awdit, "w 1 0\n=\nr 1 0", ""},
		{awdit, "r 1 0\n=\nr 2 0\n=\nw 1 0", "keys have no initial value in this format, and 0 was read from 1 to which nobody wrote it"},
	} {
		h, err := read(tc.open, tc.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(h.Notes, "; "); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		open       func(io.Reader) history.Source
		text, want string
	}{
		{plume, "w(1,5,0,7)\nx(1,5,0,7)", "f:2: expected r(key"},
		{plume, "w(1,5,0)", "f:1: expected four numbers"},
		{plume, "w(1,5,0,1,2)", "f:1: expected four numbers"},
		{plume, "w(1,5,0,1", "f:1: expected four numbers"},
		{plume, "w(-1,5,0,1)", "f:1: key \"-1\" is not"},
		{plume, "w(01,5,0,1)", "f:1: key \"01\" is not"},
		{plume, "w(1,x,0,1)", "f:1: value \"x\" is not"},
		{plume, "w(1,18446744073709551616,0,1)", "f:1: value"},
		{plume, "w(1,5,-2,1)", "f:1: session"},
		{plume, "w(1,5,0,-2)", "f:1: transaction"},
		{plume, "\n" + strings.Repeat("w", 1<<17), "f:2: line is longer than 64 KiB"},
		{awdit, "r 1 0\nr 1", "f:2: expected an operation"},
		{awdit, "r 1 0 0", "f:1: expected an operation"},
		{awdit, "x 1 0", "f:1: expected an operation"},
		{awdit, "-=", "f:1: expected an operation"},
		{awdit, "r a 0", "f:1: key"},
		{awdit, "r 1 1.5", "f:1: value"},
	} {
		if _, err := read(tc.open, tc.text); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%.40q: %v, want %q", tc.text, err, tc.want)
		}
	}
}

// TestCut: a cut inside a line is an error, except inside its last number, which cannot be
// detected.
func TestCut(t *testing.T) {
	const whole = "w(1,51,0,71)\nr(1,51,1,72)\n"
	for n := range whole {
		_, err := read(plume, whole[:n])
		if last := strings.TrimSpace(whole[:n]); (err == nil) != (last == "" || strings.HasSuffix(last, ")")) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// fuzz: any input gives a history or an error, and takes memory in proportion to its size. What
// was read is the same after it was written and read again.
func fuzz(t *testing.T, data []byte, open func(io.Reader) history.Source, write func(io.Writer, *history.History) error) {
	h, err := read(open, string(data))
	if err != nil {
		return
	}
	if 5*len(h.AllOps()) > len(data)+1 {
		t.Errorf("%d operations from %d bytes", len(h.AllOps()), len(data))
	}
	var b, again bytes.Buffer
	if write(&b, h) != nil {
		return // numbers beyond int64
	}
	back, err := read(open, b.String())
	if err != nil {
		t.Fatalf("%q was written as %q: %v", data, b.String(), err)
	}
	if err := write(&again, back); err != nil || b.String() != again.String() {
		t.Fatalf("%q, then %q (%v)", b.String(), again.String(), err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("w(1,5,0,7)\nr(1,5,1,8)\nw(2,6,1,-1)\n"))
	f.Add([]byte("w(0,0,0,0)\nr(0,0,1,1)\nw(0,1,1,1)\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, data, plume, text.Write) })
}

func FuzzAwdit(f *testing.F) {
	f.Add([]byte("r 1 0\nw 1 5\n-\nr 1 5\n=\nw 2 7\n"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, data, awdit, text.WriteAwdit) })
}
