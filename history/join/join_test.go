package join_test

import (
	"io"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/join"
	"github.com/isohound/isohound/history/native"
)

// of makes a history whose transactions have the numbers 2^32+700, 2^32+701, ... of the database, but the last one.
func of(t *testing.T, text string) *history.History {
	t.Helper()
	h := dsl.MustParse(text)
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		if i+1 < len(h.Txns) {
			rec.DBTxn = 1<<32 + 700 + int64(i)
		}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	return b.Done(true, nil)
}

func TestJoin(t *testing.T) {
	h := of(t, `
		s0 T0: w(x,1)
		s1 T1: w(x,2) unknown
		s2 T2: w(x,3) abort
		s3 T3: w(x,4)
		s4 T4: r(x,1)
		s5 T5: w(x,5)`)
	const decoded = "0/16B3748|700|BEGIN 700\n0/16B37F0|700|COMMIT 700\n0/16B3900|701|COMMIT 701 (at 2026-11-24 12:00:00.5+00)\n\n1/A|702|COMMIT 702\n"
	const lines = `{"dbtxn":4294967996,"commit":23803888,"snapshot":7}` + "\n" + `{"dbtxn":4294967997,"commit":23804160}` + "\n" + `{"dbtxn":4294968000,"snapshot":9}` + "\n" + `{"dbtxn":4294967998,"commit":5}`
	for name, log := range map[string]string{"commit LSNs": decoded, "positions of a log": lines} {
		l, err := join.Read(strings.NewReader(log))
		if err != nil {
			t.Fatal(err)
		}
		j, err := join.New(history.NewReplay(h), l)
		if err != nil {
			t.Fatal(err)
		}
		if j.Header().Positions != name || h.Positions != "" {
			t.Errorf("the positions are %q, and %q before", j.Header().Positions, h.Positions)
		}
		var got []history.Claim
		var rec history.Record
		for {
			if err := j.Next(&rec); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, rec.Claim)
		}
		want := []history.Claim{{Commit: 0x16B37F0}, {Commit: 0x16B3900}, {}, {}, {}, {}}
		if name != "commit LSNs" {
			want[0].Snapshot, want[0].Snapped = 7, true
			want[4] = history.Claim{Snapshot: 9, Snapped: true}
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: T%d has %+v, want %+v", name, i, got[i], want[i])
			}
		}
		notes := strings.Join(j.Notes(), "; ")
		if want := "the positions of 1 of 3 committed transactions that wrote, and of 1 of unknown outcome; 1 transaction is a commit in the log although the client was told that it aborted, transaction 2 for one"; !strings.Contains(notes, want) {
			t.Errorf("the notes are %s", notes)
		}
	}
}

// TestJoinKeepsSnapshots: a snapshot that was recorded stays beside the position from the log.
func TestJoinKeepsSnapshots(t *testing.T) {
	h := dsl.MustParse("s0 T1 $700 {5:9:6}: w(x,1)")
	j, err := join.New(history.NewReplay(h), join.Of("commit LSNs", map[int64]int64{700: 12}, true))
	if err != nil {
		t.Fatal(err)
	}
	var rec history.Record
	if err := j.Next(&rec); err != nil || rec.Claim.Commit != 12 || rec.Claim.Visible == nil || rec.Claim.Visible.String() != "5:9:6" {
		t.Errorf("%+v, %v", rec.Claim, err)
	}
}

// TestJoinEnded: what is joined tells why the recording ended, when it has been read.
func TestJoinEnded(t *testing.T) {
	h := dsl.MustParse("s0 T1: w(x,1)\n")
	var b strings.Builder
	if err := native.WritePlain(&b, h, history.CutReason); err != nil {
		t.Fatal(err)
	}
	src, err := native.NewReader(strings.NewReader(b.String()), "h", int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	j, err := join.New(src, &join.Log{})
	if err != nil {
		t.Fatal(err)
	}
	if h, err = history.Load(t.Context(), j); err != nil || h.Ended != history.CutReason {
		t.Errorf("%v, %q", err, h.Ended)
	}
}

func TestJoinErrors(t *testing.T) {
	for log, want := range map[string]string{
		"":                                       "it has no commit",
		"0/1|5|BEGIN 5":                          "it has no commit",
		"0/1|5|table public.kv: INSERT: k[text]": "line 1: ",
		"0/1|5|COMMIT 6":                         "is no commit",
		"0/1|5|COMMIT 5\n0/2|5|COMMIT 5":         "line 2: transaction 5 is in the log twice",
		" lsn | xid":                             "psql -At",
		`{"dbtxn":5,"commit":0}`:                 "at least 1",
		`{"dbtxn":5}`:                            `"commit" or "snapshot"`,
		`{"dbtxn":5,"comit":7}`:                  "unknown field",
		`{"dbtxn":5,"commit":1.5}`:               `"commit" is a number 1.5; it must be an integer`,
		`{"dbtxn":"5","commit":7}`:               `"dbtxn" is a string; it must be an integer`,
		"0/1|5|COMMIT 5\n" + `{"dbtxn":6,"commit":2}`: "both forms",
	} {
		if _, err := join.Read(strings.NewReader(log)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", log, err, want)
		}
	}
	l, err := join.Read(strings.NewReader("0/5|700|COMMIT 700"))
	if err != nil {
		t.Fatal(err)
	}
	h := of(t, "s0 T0: w(x,1)\ns1 T1: w(x,2)")
	h.Positions = "revisions"
	if _, err := join.New(history.NewReplay(h), l); err == nil || !strings.Contains(err.Error(), "positions already (revisions)") {
		t.Error(err)
	}
}

// TestSameNumber: two transactions with one number in the log are an error.
func TestSameNumber(t *testing.T) {
	l, err := join.Read(strings.NewReader("0/5|700|COMMIT 700"))
	if err != nil {
		t.Fatal(err)
	}
	h := dsl.MustParse("s0 T0: w(x,1)\ns1 T1: w(x,2)")
	b := history.NewBuilder(h.Header, h.Symbols, 2)
	for i := range h.Txns {
		rec := h.Record(i)
		rec.DBTxn = 700 + int64(i)<<32
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	j, err := join.New(history.NewReplay(b.Done(true, nil)), l)
	if err != nil {
		t.Fatal(err)
	}
	var rec history.Record
	if err = j.Next(&rec); err == nil {
		err = j.Next(&rec)
	}
	if err == nil || !strings.Contains(err.Error(), "transactions 0 and 1 are both number 700") {
		t.Error(err)
	}
}
