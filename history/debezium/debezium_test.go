package debezium

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

func load(text string) (*history.History, error) {
	return history.Load(context.Background(), NewReader(strings.NewReader(text), "events"))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lines returns the lines of a text for which keep is true.
func lines(text string, keep func(string) bool) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		if keep(l) {
			b.WriteString(l)
		}
	}
	return b.String()
}

func isMark(l string) bool { return strings.Contains(l, `"status":`) }

const (
	ofMariaDB = `initial nil
initial shop.account(1)=100
initial shop.account(2)=50
s1 T1 @1: r(shop.account(1),100) w(shop.account(1),90) r(shop.account(2),50) w(shop.account(2),60) r(shop.log(7),nil) w(shop.log(7),"{who:\"anna\",what:\"10 to 2\"}")
s2 T2 @2: r(shop.account(1),90) w(shop.account(1),nil)
s3 T3 @3: r(shop.log(7),"{who:\"anna\",what:\"10 to 2\"}") w(shop.log(7),"{who:\"anna\",what:null}")
`
	ofPostgres = `initial nil
s1 T1 @1: w("public.kv(\"x\")",1) w("public.kv(\"y\")",2)
s2 T2 @2: w("public.kv(\"x\")",3) w("public.kv(\"y\")",nil)
`
)

// TestEvents: transactions, what they wrote and overwrote, and the order of commits, with and without BEGIN and END, keys
// and schemas.
func TestEvents(t *testing.T) {
	maria, pg := read(t, "mariadb.jsonl"), read(t, "postgres.jsonl")
	keyless := lines(maria, func(l string) bool { return !strings.Contains(l, `"r"`) && !strings.HasSuffix(l, "null\n") })
	for l := range strings.Lines(keyless) {
		if at := strings.Index(l, "\t"); at > 0 {
			keyless = strings.Replace(keyless, l, l[at+1:], 1)
		}
	}
	shuffled := strings.SplitAfter(lines(pg, func(l string) bool { return !isMark(l) }), "\n")
	for name, tc := range map[string]struct{ text, want, note string }{
		"MariaDB":                      {maria, ofMariaDB, "nothing"},
		"MariaDB without marks":        {lines(maria, func(l string) bool { return !isMark(l) }), ofMariaDB, "nothing"},
		"MariaDB without keys":         {keyless, ofMariaDB, "the column id is taken for the primary key of shop.account"},
		"MariaDB twice":                {maria + maria, ofMariaDB, "5 events are there twice"},
		"MariaDB, metadata off":        {strings.ReplaceAll(lines(maria, func(l string) bool { return !isMark(l) }), `"transaction":{`, `"other":{`), ofMariaDB, "nothing"},
		"PostgreSQL":                   {pg, ofPostgres, "the column k is taken for the primary key of public.kv"},
		"PostgreSQL, in another order": {shuffled[2] + shuffled[3] + shuffled[0] + shuffled[1], ofPostgres, "so nothing is read"},
		"PostgreSQL, no sequence":      {strings.ReplaceAll(lines(pg, func(l string) bool { return !isMark(l) }), `"sequence"`, `"other"`), ofPostgres, "that of their lines is taken"},
	} {
		h, err := load(tc.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		notes := strings.Join(h.Notes, "; ")
		if got := dsl.Format(h); got != tc.want || tc.note != "nothing" && !strings.Contains(notes, tc.note) || tc.note == "nothing" && len(h.Notes) != 1 || !h.Closed || h.LeftOut != "" {
			t.Errorf("%s: got\n%s\nwant\n%s\nnotes %s", name, got, tc.want, notes)
		}
	}
	for text, numbers := range map[string][2]int64{maria: {41, 42}, pg: {812, 811}} {
		if h, err := load(text); err != nil || h.DBTxn(0) != numbers[0] || h.DBTxn(1) != numbers[1] {
			t.Errorf("%d and %d: %v", h.DBTxn(0), h.DBTxn(1), err)
		}
	}
}

// TestPartly: what is missing or not understood is said.
func TestPartly(t *testing.T) {
	maria := read(t, "mariadb.jsonl")
	without := func(part string) string {
		return lines(maria, func(l string) bool { return !strings.Contains(l, part) })
	}
	for _, tc := range []struct {
		text, note, leftOut string
		closed              bool
	}{
		{without(`"pos":600`), "1 transaction lacks events", "", false},
		{without(`"id":"0-1-43","event_count"`), "1 transaction has neither BEGIN nor END", "", true},
		{maria + strings.Replace(strings.Split(maria, "\n")[3], `"op":"u"`, `"op":"t"`, 1) + "\n", "", "1 truncations", true},
		{maria + `{"source":{"connector":"mariadb"},"databaseName":"shop","ddl":"ALTER TABLE account ADD x int"}` + "\n", "1 event is a change of a table", "", true},
		{maria + strings.Split(maria, "\n")[0] + "\n", "1 event of a snapshot is about a row", "", true},
	} {
		h, err := load(tc.text)
		if err != nil {
			t.Errorf("%s%s: %v", tc.note, tc.leftOut, err)
			continue
		}
		if notes := strings.Join(h.Notes, "; "); !strings.Contains(notes, tc.note) || !strings.Contains(h.LeftOut, tc.leftOut) || h.Closed != tc.closed {
			t.Errorf("%s%s: notes %s, left out %q, closed %t", tc.note, tc.leftOut, notes, h.LeftOut, h.Closed)
		}
	}
	// A row with other columns than before is not compared with what it was.
	h, err := load(strings.NewReplacer(`"before":{"id":1,"balance":90}`, `"before":{"id":1,"balance":90,"x":null}`).Replace(maria))
	if err != nil || !strings.Contains(dsl.Format(h), `T2 @2: w(shop.account(1),nil)`) {
		t.Errorf("%v\n%s", err, dsl.Format(h))
	}
}

// TestDamage: what is no change event is an error with its line.
func TestDamage(t *testing.T) {
	maria := read(t, "mariadb.jsonl")
	event := strings.Split(maria, "\n")[3] + "\n"
	for want, text := range map[string]string{
		"events:2: unexpected e":                       event + event[:len(event)-20],
		"events:4: this is no change event":            event + "\n\n{\"id\":1,\"balance\":5}\n",
		"the op is \"x\"":                              strings.Replace(event, `"op":"u"`, `"op":"x"`, 1),
		"connector \"oracle\"; those that are read":    strings.Replace(event, `"connector":"mariadb"`, `"connector":"oracle"`, 1),
		"those before are of mariadb":                  event + strings.Replace(event, `"connector":"mariadb"`, `"connector":"mysql"`, 1),
		"does not say of which transaction it is; set": strings.NewReplacer(`"0-1-41"`, `null`, `"id":null`, `"id":""`).Replace(event),
		"has no row in after":                          strings.Replace(event, `"after":{`, `"other":{`, 1),
		"neither a key nor a row":                      `{"before":null,"source":{"connector":"mysql"},"op":"d"}`,
		`before: "7" is no row`:                        `{"before":7,"source":{"connector":"mysql"},"op":"d"}` + "\n",
		"op c has no row in after":                     `{"after":{},"source":{"connector":"mysql"},"op":"c"}`,
		"has no column id":                             `{"after":{"id":1},"source":{"connector":"mysql","gtid":"a:1"},"op":"c"}` + "\n" + `{"after":{"x":1},"source":{"connector":"mysql","gtid":"a:1"},"op":"c"}`,
		"neither BEGIN nor END":                        `{"status":"OPEN","id":"5"}`,
	} {
		_, err := load(text)
		var fe *history.FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestDetect: the first bytes tell.
func TestDetect(t *testing.T) {
	for text, want := range map[string]bool{
		read(t, "mariadb.jsonl"): true, read(t, "postgres.jsonl"): true, `{"status":"END","id":"5"}`: true,
		`{"isohound":2}`: false, `{"dbtxn":1,"commit":2}`: false, "0/1|5|COMMIT 5": false, "": false,
	} {
		if got := Detect([]byte(text)); got != want {
			t.Errorf("%.40q: %t", text, got)
		}
	}
}

// FuzzRead feeds the reader anything: it must return a history or an error.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"mariadb.jsonl", "postgres.jsonl"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("{\"k\":null}\t{\"op\":\"d\",\"source\":{\"connector\":\"postgresql\",\"txId\":-1,\"sequence\":\"[null,null]\"}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		Detect([]byte(text))
		_, _ = load(text)
	})
}
