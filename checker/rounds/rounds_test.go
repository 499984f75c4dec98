package rounds_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// run simulates a run on a database that is mostly right, and writes its history as a whole and in
// windows.
type run struct {
	rng      *rand.Rand
	sessions int
	keys     int
	dups     bool // writes draw from few values
	torn     bool // a transaction may see several states
	clock    int64
	next     int64 // value
	id       int64

	// number is the session of each worker, ended when it ended last, and broken are its earlier sessions
	// since the last cut. cutAt is when that was.
	number []int64
	ended  map[int64]int64
	broken [][]int64
	cutAt  int64

	state   map[string]int64
	older   []map[string]int64
	pending []map[string]int64 // what transactions of unknown outcome may still write
	fences  []int64

	whole   builder
	windows []*builder
}

// builder collects records with the texts of keys. Values are integers; 0 is absence, the initial value.
type builder struct {
	initial map[string]int64
	recs    []record
	number  int  // of the window; 0 if that is no matter
	cut     bool // another window follows
	fresh   bool // history.Header.Fresh
}

type record struct {
	id, session, begin, end int64
	status                  history.Status
	ops                     []operation
}

type operation struct {
	kind  history.OpKind
	key   string
	value int64
}

func (b *builder) history(t *testing.T) *history.History {
	sym := history.NewSymbols()
	sym.DefaultInitial = history.Absent
	value := func(v int64) history.Value {
		if v == 0 {
			return history.Absent
		}
		return sym.Int(v)
	}
	for k, v := range b.initial {
		sym.SetInitial(sym.Key(k), value(v))
	}
	header := history.Header{}
	if b.number > 1 {
		header.Window = &history.Window{Number: b.number}
	}
	if header.Fresh = b.fresh; b.cut {
		header.Ended = history.CutReason
	}
	out := history.NewBuilder(header, sym, len(b.recs))
	for _, r := range b.recs {
		rec := history.Record{ID: r.id, Session: r.session, Begin: r.begin, End: r.end, Due: history.NoTime, Status: r.status}
		for _, o := range r.ops {
			rec.Ops = append(rec.Ops, history.Op{Kind: o.kind, Key: sym.Key(o.key), Value: value(o.value)})
		}
		if err := out.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	return out.Done(true, nil)
}

func (r *run) add(session int64, status history.Status, ops ...operation) {
	r.id++
	// What a transaction reads and writes takes effect at its end. It may have begun before others ended.
	begin := r.clock + 1
	if earliest := max(r.cutAt, r.ended[session]) + 1; r.rng.IntN(2) == 0 && earliest < begin {
		begin = earliest + r.rng.Int64N(begin-earliest)
	}
	r.clock += 2
	r.ended[session] = r.clock
	rec := record{r.id, session, begin, r.clock, status, ops}
	r.whole.recs = append(r.whole.recs, rec)
	w := r.windows[len(r.windows)-1]
	w.recs = append(w.recs, rec)
}

func (r *run) key() string { return "k" + strconv.Itoa(r.rng.IntN(r.keys)) }

func (r *run) fresh() int64 {
	if r.dups {
		return int64(1 + r.rng.IntN(3))
	}
	r.next++
	return r.next
}

// seen is the state that a transaction sees: now and then an old one.
func (r *run) seen(stale int) map[string]int64 {
	if r.rng.IntN(100) < stale && len(r.older) > 0 {
		return r.older[len(r.older)-1-r.rng.IntN(min(3, len(r.older)))]
	}
	return r.state
}

func (r *run) apply(writes map[string]int64) {
	old := map[string]int64{}
	for k, v := range r.state {
		old[k] = v
	}
	r.older = append(r.older, old)
	for k, v := range writes {
		r.state[k] = v
	}
}

// late lets a pending transaction take effect.
func (r *run) late() {
	if len(r.pending) > 0 && r.rng.IntN(3) == 0 {
		n := r.rng.IntN(len(r.pending))
		if r.torn && r.rng.IntN(2) == 0 { // what others wrote meanwhile counts as later
			for k := range r.pending[n] {
				if r.rng.IntN(2) == 0 {
					delete(r.pending[n], k)
				}
			}
		}
		r.apply(r.pending[n])
		r.pending = append(r.pending[:n:n], r.pending[n+1:]...)
	}
}

// reconnect gives a worker a new session, which sees the last cut.
func (r *run) reconnect(w int) {
	r.broken[w] = append(r.broken[w], r.number[w])
	r.id++
	r.number[w] = 2000 + r.id
	r.catchUp(r.number[w])
}

// catchUp makes a session see the last cut.
func (r *run) catchUp(session int64) {
	if last := r.sessions - 1; len(r.windows) > 1 {
		r.add(session, history.Committed, operation{history.Read, fenceOf(last), r.fences[last]})
	}
}

func (r *run) txn(w int, stale int) {
	if r.rng.IntN(10) == 0 {
		r.reconnect(w)
	}
	session := r.number[w]
	r.late()
	see := r.seen(stale)
	own := map[string]int64{}
	var ops []operation
	for range 1 + r.rng.IntN(3) {
		k := r.key()
		if r.torn {
			see = r.seen(stale)
		}
		v, mine := own[k]
		if !mine {
			v = see[k]
			if r.torn && r.rng.IntN(25) == 0 { // of no transaction, or of a later one
				if v = r.next + 1 + r.rng.Int64N(6); r.dups {
					v = r.fresh()
				}
			}
		}
		if !mine && r.rng.IntN(4) > 0 || r.rng.IntN(2) == 0 {
			ops = append(ops, operation{history.Read, k, v})
		}
		if r.rng.IntN(2) == 0 {
			if own[k] = r.fresh(); r.rng.IntN(8) == 0 {
				own[k] = 0 // deleted
			}
			ops = append(ops, operation{history.Write, k, own[k]})
		}
	}
	switch r.rng.IntN(12) {
	case 0:
		r.add(session, history.Aborted, ops...)
	case 1, 2:
		// A session by itself, which has seen the last cut, as the runner records it.
		alone := 1000 + r.id
		r.catchUp(alone)
		r.add(alone, history.Unknown, ops...)
		if len(own) > 0 {
			switch r.rng.IntN(3) {
			case 0:
				r.apply(own)
			case 1:
				r.pending = append(r.pending, own)
			}
		}
	default:
		r.add(session, history.Committed, ops...)
		if r.rng.IntN(100) >= stale { // else it is lost
			r.apply(own)
		}
	}
}

func fenceOf(s int) string { return fmt.Sprintf("%s%d", history.Fence, s) }

// cut ends the window and begins another one.
func (r *run) cut(stale int) {
	for s := range r.sessions {
		for _, session := range append(r.broken[s], r.number[s]) {
			r.fence(s, session)
		}
		r.broken[s] = nil
	}
	reader := r.number[r.sessions-1]
	var see, state []operation
	for s := range r.sessions {
		see = append(see, operation{history.Read, fenceOf(s), r.fences[s]})
	}
	r.add(reader, history.Committed, see...)
	initial := map[string]int64{}
	var keys []string // those that transactions of unknown outcome wrote are read last, in one transaction
	unsure := map[string]bool{}
	for _, rec := range r.windows[len(r.windows)-1].recs {
		for _, o := range rec.ops {
			if rec.status == history.Unknown && o.kind == history.Write {
				unsure[o.key] = true
			}
		}
	}
	for _, last := range []bool{false, true} {
		for n := range r.keys {
			if k := "k" + strconv.Itoa(n); unsure[k] == last {
				keys = append(keys, k)
			}
		}
	}
	from := len(keys) - len(unsure)
	seen := r.state
	for n, k := range keys {
		if n <= from {
			r.late()
			seen = r.seen(stale)
		}
		initial[k] = seen[k]
		state = append(state, operation{history.Read, k, initial[k]})
		if n+1 == from || n < from && r.rng.IntN(2) == 0 {
			r.add(reader, history.Committed, state...)
			state = nil
		}
	}
	if len(state) > 0 {
		r.add(reader, history.Committed, state...)
	}
	r.fence(r.sessions-1, reader)
	r.cutAt = r.clock
	for s := range r.sessions {
		initial[fenceOf(s)] = r.fences[s]
	}
	w := &builder{initial: initial}
	for _, rec := range r.windows[len(r.windows)-1].recs { // they contain those of the windows before
		if rec.status == history.Unknown {
			w.recs = append(w.recs, rec)
		}
	}
	r.windows = append(r.windows, w)
	for s := range r.sessions - 1 {
		r.catchUp(r.number[s])
	}
}

func (r *run) fence(s int, session int64) {
	r.next++
	v := 1_000_000 + r.next
	r.add(session, history.Committed, operation{history.Read, fenceOf(s), r.fences[s]}, operation{history.Write, fenceOf(s), v})
	r.fences[s] = v
}

func simulate(rng *rand.Rand, torn bool) *run {
	r := &run{rng: rng, torn: torn, sessions: 1 + rng.IntN(3), keys: 1 + rng.IntN(2), dups: rng.IntN(3) == 0, state: map[string]int64{}, windows: []*builder{{}}}
	r.fences, r.number, r.broken, r.ended = make([]int64, r.sessions), make([]int64, r.sessions), make([][]int64, r.sessions), map[int64]int64{}
	for s := range r.number {
		r.number[s] = int64(s)
	}
	stale := []int{0, 0, 3, 10}[rng.IntN(4)]
	if torn {
		stale *= 4
	}
	for range 1 + rng.IntN(2) {
		for range 1 + rng.IntN(5) {
			r.txn(rng.IntN(r.sessions), stale)
		}
		r.cut(stale)
	}
	for range 1 + rng.IntN(5) {
		r.txn(rng.IntN(r.sessions), stale)
	}
	return r
}

func check(t *testing.T, h *history.History, lvl level.Level) verdict.Verdict {
	r, err := checker.Check(context.Background(), h, lvl, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Verdict
}

// judge judges the next window.
func judge(t *testing.T, state *rounds.Run, h *history.History, lvl level.Level) verdict.Verdict {
	state.Enter(h)
	v := check(t, h, lvl)
	if v != verdict.Violated {
		return v
	}
	why, err := state.Doubt(h, lvl, func(h *history.History) (verdict.Verdict, error) { return check(t, h, lvl), nil })
	if err != nil {
		t.Fatal(err)
	}
	if why != "" {
		return verdict.Unknown
	}
	return v
}

// judging judges the next window at a level.
type judging func(*testing.T, *rounds.Run, *history.History, level.Level) verdict.Verdict

// compare judges a run as a whole and in windows. The verdicts must agree unless that of the windows is unknown, and no
// window may be violated, judged alone, if the run is not.
func (r *run) compare(t *testing.T, seed uint64, lvl level.Level, judge judging) (whole, got verdict.Verdict) {
	whole, got = check(t, r.whole.history(t), lvl), verdict.Satisfied
	var state rounds.Run
	for _, w := range r.windows {
		if v := judge(t, &state, w.history(t), lvl); v != verdict.Satisfied && got != verdict.Violated {
			got = v
		}
		var alone rounds.Run
		alone.Skip()
		if whole == verdict.Satisfied && judge(t, &alone, w.history(t), lvl) == verdict.Violated {
			t.Fatalf("seed %d, %s: a window is violated if it is judged alone\n%s\nof\n%s", seed, lvl, dsl.Format(w.history(t)), dsl.Format(r.whole.history(t)))
		}
	}
	if got != whole && got != verdict.Unknown {
		text := ""
		for i, w := range r.windows {
			text += fmt.Sprintf("window %d:\n%s", i+1, dsl.Format(w.history(t)))
		}
		t.Fatalf("seed %d, %s: whole %s, in windows %s\n%s\n%s", seed, lvl, whole, got, dsl.Format(r.whole.history(t)), text)
	}
	return whole, got
}

// TestWindowsAgree: a run is violated exactly if one of its windows is, at each level, with stale
// reads, lost commits, repeated values, deletes, lost sessions, and unknown outcomes that take effect
// at any time. And no window is violated, judged alone, if the run is not.
func TestWindowsAgree(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 21))
	n := randhist.Count(t, 30_000) / 10
	count := map[string]int{}
	for range n {
		r := simulate(rng, false)
		for _, lvl := range []level.Level{level.SER, level.SI, level.SSER, level.StrongSI} {
			whole, got := r.compare(t, seed, lvl, judge)
			count[whole.String()]++
			if got == verdict.Unknown {
				count["undecided"]++
			}
		}
	}
	t.Logf("%v", count)
	if total := 4 * n; (count["violated"] < total/10 || count["satisfied"] < total/10 || count["undecided"] > total/10) && !randhist.Few(t) {
		t.Errorf("the verdicts are not well spread: %v of %d", count, total)
	}
}
