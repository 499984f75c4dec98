package dbcop_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dbcop"
	"github.com/isohound/isohound/history/dsl"
)

const jsonSample = `{"params":{"id":0,"n_node":2,"n_variable":3,"n_transaction":2,"n_event":2},
"info":"generated","start":"2025-01-01T00:00:00Z","end":"",
"data":[[{"events":[{"Read":{"variable":7,"version":null}},{"Write":{"version":5,"variable":7}}],"committed":true},
{"committed":false,"events":[["w",8,18446744073709551615],["r",7,0]]}],
[],[{"events":[],"committed":true}]],"more":[1,{"a":2}]}
`

func readJSON(text string) (*history.History, error) {
	r, err := dbcop.NewJSONReader(strings.NewReader(text), "f")
	if err != nil {
		return nil, err
	}
	return history.Load(context.Background(), r)
}

func TestReadJSON(t *testing.T) {
	h, err := readJSON(jsonSample)
	if err != nil {
		t.Fatal(err)
	}
	want := "initial 7=nil\ns1 T1: r(7,nil) w(7,5)\ns1 T2: w(8,18446744073709551615) r(7,nil) abort\ns3 T3:\n"
	if got := dsl.Format(h); got != want || h.Created != "2025-01-01T00:00:00Z" || h.Params["info"] != "generated" {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	h, err = readJSON(`[[{"events":[["r","x",1]],"committed":true}]]`)
	if err != nil || dsl.Format(h) != "s1 T1: r(x,1)\n" {
		t.Errorf("bare data: %v", err)
	}
}

// TestVersions: null is absence, and 0 is the initial value only if nobody writes it.
func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		`["r",1,null]`:                        "initial 1=nil\nr(1,nil)",
		`["r",1,0]`:                           "r(1,0)",
		`["r",1,0],["r",1,null]`:              "initial 1=nil\nr(1,nil) r(1,nil)",
		`["w",1,0],["r",1,0]`:                 "initial 1=nil\nw(1,0) r(1,0)",
		`["r",1,0],["w",1,5],["w",1,0]`:       "initial 1=nil\nr(1,0) w(1,5) w(1,0)",
		`["r",1,null],["w",1,0],["r",1,0]`:    "initial 1=nil\nr(1,nil) w(1,0) r(1,0)",
		`["r",1,null],["r",2,0],["w",3,0]`:    "initial 1=nil\ninitial 3=nil\nr(1,nil) r(2,0) w(3,0)",
		`["r",1,null],["w",1,7],["r",2,null]`: "initial 1=nil\ninitial 2=nil\nr(1,nil) w(1,7) r(2,nil)",
	} {
		h, err := readJSON(`[[{"events":[` + text + `],"committed":true}]]`)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(strings.Replace(dsl.Format(h), "s1 T1: ", "", 1)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", text, got, want)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`5`:                                   "f at byte 0: expected an object",
		`{"info":"x"}`:                        `f at byte 11: the object has no "data"`,
		`{"data":5}`:                          `f at byte 8: "data" is not`,
		`{"data":[],"data":[]}`:               `f at byte 18: there is a second "data"`,
		`[5]`:                                 "f at byte 1: expected a session",
		`[[5]]`:                               "f at byte 2: expected a transaction",
		`[[{}]]`:                              `f at byte 3: transaction 1 lacks`,
		`[[{"events":[]}]]`:                   `f at byte 14: transaction 1 lacks`,
		`[[{"events":[5],"committed":true}]]`: "f at byte 13: expected an event",
		`[[{"events":[{"Scan":{}}],"committed":true}]]`:                             "f at byte 21: unknown event",
		`[[{"events":[{"Read":{"variable":1}}],"committed":true}]]`:                 "f at byte 34: an event lacks",
		`[[{"events":[{"Read":{"variable":-1,"version":1}}],"committed":true}]]`:    "f at byte 33: a variable",
		`[[{"events":[{"Write":{"variable":1,"version":null}}],"committed":true}]]`: "f at byte 46: a version",
		`[[{"events":[["r",1,2,3]],"committed":true}]]`:                             "f at byte 22: there is more in an event",
		`[[{"events":[["x",1,2]],"committed":true}]]`:                               `f at byte 14: expected "r"`,
		`[[{"events":[],"committed":1}]]`:                                           `f at byte 27: "committed" of`,
		`[] 5`:                                                                      "f at byte 3: there is data after",
	} {
		if _, err := readJSON(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	whole := strings.TrimSpace(jsonSample)
	for n := range whole {
		if _, err := readJSON(whole[:n]); err == nil || !strings.HasPrefix(err.Error(), "f") {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// TestWrite: the binary format and JSON represent the same history.
func TestWrite(t *testing.T) {
	h, err := read(sample())
	if err != nil {
		t.Fatal(err)
	}
	var binary, text bytes.Buffer
	if err := dbcop.Write(&binary, h); err != nil {
		t.Fatal(err)
	}
	if err := dbcop.WriteJSON(&text, h); err != nil {
		t.Fatal(err)
	}
	b, err := read(binary.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	j, err := readJSON(text.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []*history.History{b, j} {
		if dsl.Format(got) != dsl.Format(h) || got.Created != h.Created || got.Params["info"] != "info" {
			t.Errorf("got\n%s\nwant\n%s", dsl.Format(got), dsl.Format(h))
		}
	}
	for _, bad := range []string{"s1: r(x,0)", "s1: w(1,nil)", "s1: n(1,1)", "s1: r(1,1) unknown", "s1 [1,2]: r(1,1)"} {
		if dbcop.Write(&binary, dsl.MustParse(bad)) == nil || dbcop.WriteJSON(&text, dsl.MustParse(bad)) == nil {
			t.Errorf("%s was written", bad)
		}
	}
}

// FuzzReadJSON: any input gives a history or an error, and takes memory in proportion to its
// size. What was read is the same after it was written and read again.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(jsonSample))
	f.Add([]byte(`[[{"events":[["r",1,0]],"committed":true}]]`))
	f.Add([]byte(`[[{"events":[["r",1,0],["r",1,null],["w",2,0]],"committed":true}]]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readJSON(string(data))
		if err != nil {
			return
		}
		if len(h.AllOps())*5 > len(data) {
			t.Errorf("%d operations from %d bytes", len(h.AllOps()), len(data))
		}
		var b bytes.Buffer
		if dbcop.WriteJSON(&b, h) != nil {
			return // keys that are texts
		}
		again, err := readJSON(b.String())
		if err != nil || len(again.Txns) != len(h.Txns) {
			t.Fatalf("%q was written as %q: %v", data, b.String(), err)
		}
	})
}
