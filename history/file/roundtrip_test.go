package file_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/schema"
)

// random makes a history with every feature that a history can have, or, if plain, only with
// features that every format can carry.
func random(rng *rand.Rand, plain bool) *history.History {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	names := []string{"1", "2", "40"}
	if !plain {
		names = [][]string{{"1", "2", "40"}, {"k1", "k2"}, {"a", "b 1", "c\"d,\u00e9"}, {"\xff", "\xfe", "\uffffff"}}[rng.IntN(4)]
		sym.DefaultInitial = []history.Value{history.Absent, sym.Int(0), sym.Int(-5)}[rng.IntN(3)]
	}
	var keys []history.Key
	for _, n := range names {
		keys = append(keys, sym.Key(n))
		if !plain && rng.IntN(3) == 0 {
			sym.SetInitial(keys[len(keys)-1], sym.Int(rng.Int64N(4)))
		}
	}
	fresh := int64(0)
	var written []history.Value
	value := func() history.Value {
		fresh++
		if plain {
			return sym.Int(fresh)
		}
		switch rng.IntN(12) {
		case 0:
			return history.Absent
		case 1:
			return sym.String([]string{"", "text \"1\"", "nil", "7", ":k", "é\n", "\x80", "é\x81", "\uffff80"}[rng.IntN(9)])
		case 2:
			return sym.Raw([]string{"1.5", "true", "18446744073709551615", "-0", "1e3"}[rng.IntN(5)])
		case 3:
			return sym.Int(-fresh)
		case 4:
			return sym.Int(rng.Int64N(4)) // may repeat
		}
		return sym.Int(fresh)
	}
	b := history.NewBuilder(history.Header{Source: "random", Seed: 3, NoCommonClock: !plain && rng.IntN(4) == 0}, sym, 0)
	now := int64(100)
	add := func(rec history.Record) {
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	first := history.Record{ID: 1000, Session: 1, Status: history.Committed, Begin: history.NoTime, End: history.NoTime}
	held := map[history.Key][]history.Value{}
	write := func(k history.Key) history.Op {
		v := value()
		held[k] = append(held[k], v)
		written = append(written, v)
		return history.Op{Kind: history.Write, Key: k, Value: v}
	}
	for _, k := range keys {
		first.Ops = append(first.Ops, write(k))
	}
	add(first)
	timed := !plain && rng.IntN(2) == 0
	for id := int64(2); id < 15; id++ {
		rec := history.Record{ID: id, Session: 1 + (id-1)%3, Status: history.Committed, Begin: history.NoTime, End: history.NoTime}
		if !plain {
			rec.ID = id*7 - 20
			rec.Session -= 2
			rec.Status = history.Status(rng.IntN(3))
			rec.DBTxn = id
		}
		if timed {
			rec.Begin = now
			now += rng.Int64N(50)
			rec.End = now
			now += rng.Int64N(3)
			if rng.IntN(8) == 0 {
				rec.Begin = history.NoTime
			}
		}
		for n := rng.IntN(4); n >= 0; n-- {
			k := keys[rng.IntN(len(keys))]
			switch rng.IntN(3) {
			case 0:
				rec.Ops = append(rec.Ops, write(k))
			case 1:
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: held[k][rng.IntN(len(held[k]))]})
			default:
				if !plain {
					kind := history.Read
					if rng.IntN(3) == 0 {
						kind = history.ReadNot
					}
					rec.Ops = append(rec.Ops, history.Op{Kind: kind, Key: k, Value: []history.Value{sym.Initial(k), value(), written[rng.IntN(len(written))]}[rng.IntN(3)]})
				}
			}
		}
		if from := rng.IntN(len(rec.Ops) + 1); !plain && rng.IntN(4) == 0 {
			for n, op := range rec.Ops {
				if op.Kind == history.Write { // which a read has not
					from = max(from, n+1)
				}
			}
			rec.Predicates = []history.Predicate{{Statement: &history.Statement{Kind: "update", Table: "t", Groups: []string{"g"}}, Ops: [2]int{0, from}},
				{Statement: &history.Statement{Kind: "read", Table: "t", Predicate: schema.Where(schema.Below("a", int64(-1<<60)), schema.Is("b", "é\"<")).By("-a").First(3)}, Ops: [2]int{from, len(rec.Ops)}}}
		}
		if len(rec.Ops) > 0 || !plain {
			add(rec)
		}
	}
	return b.Done(plain || rng.IntN(3) > 0, nil)
}

// spell formats a history session by session, with the initial value of each key that it uses.
// numbered says whether transactions and sessions keep their numbers.
func spell(h *history.History, numbered bool) string {
	var sessions []string
	used := map[history.Key]bool{}
	for s, txns := range h.BySession() {
		var b strings.Builder
		if numbered {
			fmt.Fprintf(&b, "session %d\n", h.SessionName(int32(s)))
		}
		for _, i := range txns {
			t := h.Txns[i]
			if t.Status == history.Unknown {
				t.End = history.NoTime // it would mean nothing
			}
			if numbered {
				fmt.Fprintf(&b, "T%d ", t.ID)
			}
			fmt.Fprintf(&b, "[%d,%d] %s", t.Begin, t.End, t.Status)
			for _, op := range h.Ops(&t) {
				b.WriteString(" " + dsl.Op(h, op))
			}
			for _, p := range h.Predicates(int(i)) {
				asked := *p.Statement
				p.Statement = nil
				fmt.Fprintf(&b, " %+v %+v", asked, p)
			}
			b.WriteString("\n")
			for _, op := range h.Ops(&h.Txns[i]) {
				used[op.Key] = used[op.Key] || op.Value == h.Initial(op.Key)
			}
		}
		if len(txns) > 0 {
			sessions = append(sessions, b.String())
		}
	}
	slices.Sort(sessions)
	var initial []string
	for k := range history.Key(h.KeyCount()) {
		if used[k] {
			initial = append(initial, "initial "+dsl.Op(h, history.Op{Kind: history.Read, Key: k, Value: h.Initial(k)})+"\n")
		}
	}
	slices.Sort(initial)
	return strings.Join(append(initial, sessions...), "--\n")
}

// write writes h in a format and returns where.
func write(t *testing.T, h *history.History, f file.Format) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h")
	if file.Folder(f) {
		if err := file.WriteFolder(path, h, f); err != nil {
			t.Fatal(err)
		}
		return path
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if f == file.Native {
		w, err := native.NewWriter(out, false, &h.Header, h.Symbols)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Txns {
			rec := h.Record(i)
			if err := w.Write(&rec); err != nil {
				t.Fatal(err)
			}
		}
		err = w.Close(h.Closed, "complete")
		if err != nil {
			t.Fatal(err)
		}
	} else if err := file.Write(out, h, f); err != nil {
		t.Fatalf("%s: %v\n%s", f, err, dsl.Format(h))
	}
	return path
}

// read reads what write wrote, which must be detected.
func read(t *testing.T, path string, f file.Format) *history.History {
	t.Helper()
	got, err := file.Open(path, file.Auto, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if got.Format != f {
		t.Fatalf("%s is taken for %s", f, got.Format)
	}
	h, err := history.Load(context.Background(), got)
	if err != nil {
		content, _ := os.ReadFile(path)
		t.Fatalf("%s: %v\n%s", f, err, content)
	}
	return h
}

// fitted makes h fit a format.
func fitted(t *testing.T, h *history.History, f file.Format) (*history.History, []fit.Loss) {
	t.Helper()
	if f == file.Native {
		return h, nil
	}
	out, losses, _, err := fit.To(h, file.Carries(f))
	if err != nil {
		t.Fatal(err)
	}
	return out, losses
}

// keepsNumbers reports whether a format has numbers of transactions and sessions.
func keepsNumbers(f file.Format) bool {
	return f == file.Native || f == file.DSL || f == file.Cobra || f == file.CobraUV
}

// TestRoundTrip: a history that was fitted to a format is the same after it was written and
// read, and then needs no fitting.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 150 {
		h := random(rng, n%3 == 0)
		for _, f := range file.Formats {
			fits, _ := fitted(t, h, f)
			got := read(t, write(t, fits, f), f)
			want := spell(fits, keepsNumbers(f))
			if f == file.Text { // all aborted transactions of a session become one
				want = spell(merged(fits), false)
			}
			// Cobra distinguishes writes of the same value.
			if s := origins.ReplaceAllString(spell(got, keepsNumbers(f)), ""); s != want {
				t.Fatalf("%s: got\n%s\nwant\n%s\nof\n%s", f, s, want, dsl.Format(h))
			}
			if _, losses := fitted(t, got, f); len(losses) > 0 && f != file.Cobra && f != file.CobraUV {
				t.Fatalf("%s: read back, it would lose: %v\n%s", f, losses, dsl.Format(got))
			}
		}
	}
}

var origins = regexp.MustCompile(`@(init|write|-?\d+\.\d+)`)

// merged is h with all aborted operations of a session as one transaction at its end.
func merged(h *history.History) *history.History {
	sym := h.Symbols.Clone(h.KeyName)
	sym.DefaultInitial = h.DefaultInitial
	_ = h.OwnInitials(func(k history.Key, v history.Value) error {
		sym.SetInitial(k, v)
		return nil
	})
	b := history.NewBuilder(h.Header, sym, 0)
	aborted := map[int64]*history.Record{}
	for i := range h.Txns {
		rec := h.Record(i)
		if rec.Status != history.Aborted {
			_ = b.Add(&rec)
			continue
		}
		if aborted[rec.Session] == nil {
			aborted[rec.Session] = &history.Record{ID: rec.ID, Session: rec.Session, Status: history.Aborted, Begin: history.NoTime, End: history.NoTime}
		}
		aborted[rec.Session].Ops = append(aborted[rec.Session].Ops, rec.Ops...)
	}
	for _, rec := range aborted {
		_ = b.Add(rec)
	}
	return b.Done(true, nil)
}

// TestPairs: a history that every format can carry stays the same in every conversion from one
// format to another.
func TestPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		h := random(rng, true)
		want := spell(h, false)
		for _, from := range file.Formats {
			a, losses := fitted(t, h, from)
			if len(losses) > 0 {
				t.Fatalf("%s would lose %v\n%s", from, losses, dsl.Format(h))
			}
			mid := read(t, write(t, a, from), from)
			for _, to := range file.Formats {
				b, losses := fitted(t, mid, to)
				if len(losses) > 0 {
					t.Fatalf("%s to %s would lose %v\n%s", from, to, losses, dsl.Format(mid))
				}
				if got := spell(read(t, write(t, b, to), to), false); got != want {
					t.Fatalf("%s to %s: got\n%s\nwant\n%s", from, to, got, want)
				}
			}
		}
	}
}
