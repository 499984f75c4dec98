package isotest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/history/quote"
	"github.com/isohound/isohound/internal/randhist"
)

// lost is two transactions that both read x and both overwrite it.
func lost(r *Recorder, times func(int64)) {
	r.Initial("x", 0)
	a, b := r.Session(), r.Session()
	times(1)
	t1, t2 := a.Begin(), b.Begin()
	t1.Read("x", 0)
	t2.Read("x", 0)
	t1.Write("x", 1)
	t2.Write("x", 2)
	times(2)
	t1.Commit()
	t2.Commit()
}

func check(t *testing.T, r *Recorder, lvl level.Level, want verdict.Verdict) *Result {
	t.Helper()
	v, err := r.Check(t.Context(), lvl)
	if err != nil || v.Verdict != want {
		t.Fatalf("%s: %v %v", lvl, v, err)
	}
	return v
}

// TestVerdicts: verdicts, texts and files; the same calls give the same text, which is that of the guide.
func TestVerdicts(t *testing.T) {
	var texts []string
	for range 2 {
		now := int64(0)
		r := Simulated(func() int64 { return now })
		lost(r, func(at int64) { now = at })
		v := check(t, r, level.SI, verdict.Violated)
		if len(v.Anomalies) != 1 || v.Anomalies[0].Name != "LostUpdate" || !strings.Contains(v.Anomalies[0].History, "r(x,0) w(x,1)") {
			t.Errorf("%+v", v)
		}
		texts = append(texts, v.String())
		check(t, r, level.PC, verdict.Satisfied)
		path := filepath.Join(t.TempDir(), "history.jsonl")
		if err := r.Save(path); err != nil {
			t.Fatal(err)
		}
		h, err := file.Load(t.Context(), path, file.Auto, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Check(t.Context(), h, level.SI); err != nil || again.String() != v.String() {
			t.Errorf("from the file: %v %v", again, err)
		}
	}
	if texts[0] != texts[1] {
		t.Errorf("%s\n%s", texts[0], texts[1])
	}
	guide, err := os.ReadFile("../docs/go-api.md")
	_, sample, _ := strings.Cut(string(guide), "smallest\npart of the history that shows it:\n\n```\n")
	if sample, _, _ = strings.Cut(sample, "  …\n"); err != nil || sample == "" || !strings.HasPrefix(texts[0], sample) {
		t.Errorf("%v: the guide shows\n%s\nwhich is\n%s", err, sample, texts[0])
	}
}

// TestTimes: only recorded times make a stale read a violation of strict serializability.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		times bool
		want  verdict.Verdict
	}{{true, verdict.Violated}, {false, verdict.Satisfied}} {
		now := int64(0)
		r := Simulated(nil)
		if c.times {
			r = Simulated(func() int64 { now++; return now })
		}
		w, s := r.Session().Begin(), r.Session()
		w.Write("x", "new")
		w.Commit()
		read := s.Begin()
		read.Read("x", nil)
		read.Commit()
		check(t, r, level.SER, verdict.Satisfied)
		v, err := r.Check(t.Context(), level.SSER)
		if c.times && (err != nil || v.Verdict != c.want) {
			t.Errorf("%v %v", v, err)
		}
		if !c.times && err == nil && v.Verdict == verdict.Violated {
			t.Errorf("without times: %v", v)
		}
	}
}

// TestUnknown: a transaction of unknown outcome may or may not have happened, also one that has not ended; an aborted
// one has not.
func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		end  func(*Txn)
		want verdict.Verdict
	}{{(*Txn).Unknown, verdict.Satisfied}, {func(*Txn) {}, verdict.Satisfied}, {(*Txn).Commit, verdict.Satisfied}, {(*Txn).Abort, verdict.Violated}} {
		r := New()
		s := r.Session()
		w := s.Begin()
		w.Write("x", 1)
		c.end(w)
		read := r.Session().Begin()
		read.Read("x", 1)
		read.Commit()
		check(t, r, level.RC, c.want)
	}
	r := New()
	s := r.Session()
	for range 3 {
		s.Begin().Unknown() // and the session goes on
	}
	if h, err := r.History(); err != nil || h.SessionCount() != 3 {
		t.Errorf("%v", err)
	}
}

// TestMisuse: wrong use is an error of every check.
func TestMisuse(t *testing.T) {
	for says, use := range map[string]func(r *Recorder){
		"before its last one has ended": func(r *Recorder) { s := r.Session(); s.Begin(); s.Begin() },
		"ends twice":                    func(r *Recorder) { x := r.Session().Begin(); x.Commit(); x.Commit() },
		"another operation on \"k\"":    func(r *Recorder) { x := r.Session().Begin(); x.Commit(); x.Read("k", 1) },
		"a value of type float64":       func(r *Recorder) { r.Session().Begin().Write("k", 1.5) },
	} {
		r := New()
		use(r)
		if _, err := r.Check(t.Context(), level.SER); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

type failure struct{ text string }

func (*failure) Helper()                          {}
func (f *failure) Fatalf(format string, a ...any) { f.text = fmt.Sprintf(format, a...) }

// TestHolds: a violation fails a test with its anomaly, a satisfied level does not.
func TestHolds(t *testing.T) {
	r := New()
	lost(r, func(int64) {})
	f := &failure{}
	Holds(f, r, level.SER)
	if !strings.Contains(f.text, "LostUpdate") {
		t.Errorf("%s", f.text)
	}
	f = &failure{}
	Holds(f, r, level.RC)
	if f.text != "" {
		t.Errorf("%s", f.text)
	}
}

// TestEnded: the end of the context makes a verdict unknown.
func TestEnded(t *testing.T) {
	r := New()
	lost(r, func(int64) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := r.Check(ctx, level.SER); err != nil || v.Verdict != verdict.Unknown || v.Reason == "" {
		t.Errorf("%v %v", v, err)
	}
}

// TestGoroutines: sessions of several goroutines, with a store behind a lock.
func TestGoroutines(t *testing.T) {
	r := New()
	r.Initial("n", 0)
	var store sync.Mutex
	n := 0
	var wg sync.WaitGroup
	for range 8 {
		s := r.Session()
		wg.Go(func() {
			for range 50 {
				x := s.Begin()
				store.Lock()
				x.Read("n", n)
				n++
				x.Write("n", n)
				store.Unlock()
				x.Commit()
			}
		})
	}
	wg.Wait()
	Holds(t, r, level.SSER)
}

// TestSameAsFiles: random histories get the verdict that they have without the recorder.
func TestSameAsFiles(t *testing.T) {
	seed := randhist.Seed(t, 1)
	rng := rand.New(rand.NewPCG(seed, 5))
	seen := map[verdict.Verdict]int{}
	for n := range randhist.Count(t, 400) {
		h := randhist.Of(rng, 3, 5, 4)
		if !h.Closed || goesOn(h) {
			continue
		}
		r := replayed(h)
		for _, lvl := range []level.Level{level.SER, level.SI, level.CC} {
			want, err := checker.Check(t.Context(), h, lvl, checker.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Check(t.Context(), lvl)
			if err != nil || got.Verdict != want.Verdict {
				t.Fatalf("seed %d, history %d at %s: %v %v, not %v", seed, n, lvl, got, err, want.Verdict)
			}
			seen[got.Verdict]++
		}
	}
	if seen[verdict.Violated] < 50 || seen[verdict.Satisfied] < 50 {
		t.Errorf("%v", seen)
	}
}

// goesOn reports whether a session goes on after a transaction of unknown outcome. In a recorder another one does. (What
// a recorder holds is complete, too, so histories that are cut off are left out.)
func goesOn(h *history.History) bool {
	unknown := map[int32]bool{}
	for i := range h.Txns {
		if unknown[h.Txns[i].Session] {
			return true
		}
		unknown[h.Txns[i].Session] = h.Txns[i].Status == history.Unknown
	}
	return false
}

// replayed records the transactions of a history whose values are integers.
func replayed(h *history.History) *Recorder {
	r := Simulated(nil)
	for k := range h.KeyCount() {
		if v := h.Initial(history.Key(k)); v != history.Absent {
			r.Initial(h.KeyName(history.Key(k)), int64(v))
		}
	}
	sessions := map[int32]*Session{}
	for i := range h.Txns {
		x := &h.Txns[i]
		if sessions[x.Session] == nil {
			sessions[x.Session] = r.Session()
		}
		t := sessions[x.Session].Begin()
		for _, op := range h.Ops(x) {
			var v any
			if op.Value != history.Absent {
				v = int64(op.Value)
			}
			t.op(op.Kind, h.KeyName(op.Key), v)
		}
		t.end(x.Status)
	}
	return r
}

// TestBytes: strings of any bytes are values and keys, and different ones stay different, in memory and in a file.
func TestBytes(t *testing.T) {
	for _, s := range [][2]string{{"\x80", "\x81"}, {"\x80", "\ufffd"}, {"\x80", "\uffff80"}, {"\xed\xa0\x80", "\ufffd"}, {"\x00", ""}, {"é", "e\u0301"}, {"1", "1\x00"}} {
		r := Simulated(nil)
		r.Initial("x", s[0])
		w := r.Session().Begin()
		w.Write("x", s[1])
		w.Abort()
		read := r.Session().Begin()
		read.Read("x", s[1])
		read.Commit()
		check(t, r, level.SER, verdict.Violated)
		if v, err := Check(t.Context(), saved(t, r), level.SER); err != nil || v.Verdict != verdict.Violated {
			t.Errorf("%q: %v, %v", s, v, err)
		}
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	parts := []string{"\x80", "\xff", "\xc3", "\xa9", "\xed\xa0\x80", "\ufffd", "\uffff", "80", "f", "é", "\x00", "\\u0080"}
	all := map[string]bool{}
	for len(all) < 2000 {
		var s string
		for n := rnd.IntN(6); n >= 0; n-- {
			s += parts[rnd.IntN(len(parts))]
		}
		all[s] = true
	}
	r := Simulated(nil)
	for s := range all {
		w := r.Session().Begin()
		w.Write("k"+s, s) // a name of digits only may be a number
		w.Commit()
	}
	recorded, err := r.History()
	if err != nil {
		t.Fatal(err)
	}
	for what, h := range map[string]*history.History{"in memory": recorded, "in the file": saved(t, r)} {
		values := map[history.Value]bool{}
		for _, op := range h.AllOps() {
			values[op.Value] = true
			if text, err := quote.Unquote([]byte(h.ValueText(op.Value))); err != nil || "k"+text != h.KeyName(op.Key) || !all[text] {
				t.Fatalf("%s: key %q, value %q, %v", what, h.KeyName(op.Key), text, err)
			}
		}
		if len(values) != len(all) || h.KeyCount() != len(all) {
			t.Errorf("%s: %d values and %d keys of %d", what, len(values), h.KeyCount(), len(all))
		}
	}
}

// saved is what a reader of a saved file sees.
func saved(t *testing.T, r *Recorder) *history.History {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	h, err := file.Load(t.Context(), path, file.Auto, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestClock: a clock below zero, and one that goes back, are errors.
func TestClock(t *testing.T) {
	for _, times := range [][]int64{{-3, 5}, {5, 4}} {
		n := -1
		r := Simulated(func() int64 { n++; return times[n] })
		r.Session().Begin().Commit()
		if _, err := r.Check(t.Context(), level.SER); err == nil || !strings.Contains(err.Error(), "must not be negative and must not go back") {
			t.Errorf("%v: %v", times, err)
		}
	}
}

// TestUntimedRealTime: without times a violation at a level without real time decides, and nothing else does.
func TestUntimedRealTime(t *testing.T) {
	for lvl, from := range map[level.Level]string{level.SSER: "ser", level.StrongSI: "si"} {
		for _, lost := range []bool{false, true} {
			r := Simulated(nil)
			r.Initial("x", 0)
			for n := range 2 {
				tx := r.Session().Begin()
				read := n
				if lost {
					read = 0
				}
				tx.Read("x", read)
				tx.Write("x", n+1)
				tx.Commit()
			}
			got, err := r.Check(t.Context(), lvl)
			want := verdict.Unknown
			if lost {
				want = verdict.Violated
			}
			if err != nil || got.Level != lvl || got.Verdict != want || lost && (got.Reason != "follows from "+from || len(got.Anomalies) == 0) {
				t.Errorf("%s, lost %v: %+v, %v", lvl, lost, got, err)
			}
		}
	}
}
