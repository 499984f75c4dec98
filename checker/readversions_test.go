package checker_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/internal/randhist"
)

// untimed are the levels of which executions enumerates all executions. It knows no real time.
var untimed = []level.Level{level.SER, level.SERNoSO, level.SI, level.SINoSO, level.PC}

// TestReadVersions: with the versions of reads assumed, a history is satisfied exactly if some execution lets every read
// return the version that the database names. The proofs hold, a violation that is said not to rest on the assumption is
// one without it, and its counterexample violates the level, also when it is written and read again. As a hint, versions
// change no verdict. ISOHOUND_HISTORIES sets how many histories there are for each level.
func TestReadVersions(t *testing.T) {
	n := randhist.Count(t, 2_000)
	for _, lvl := range untimed {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			decides, resting, free, cut := 0, 0, 0, 0
			for range n {
				h := versioned(rng)
				r, err := checker.Check(t.Context(), h, lvl, checker.Options{Versions: checker.Assume, Certify: true})
				if err != nil {
					t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, dsl.Format(h))
				}
				want := judged(h, lvl, true, true)
				if r.Verdict != want {
					t.Fatalf("seed %d: %s is %s (%s, by %s), and the trial of all executions says %s\n%s", seed, lvl, r.Verdict, r.Reason, r.Engine, want, dsl.Format(h))
				}
				if count[want]++; judged(h, lvl, true, false) != want {
					decides++
				}
				hinted, err := checker.Check(t.Context(), h, lvl, checker.Options{Certify: true})
				if err != nil {
					t.Fatalf("seed %d, %s: as a hint: %v\n%s", seed, lvl, err, dsl.Format(h))
				}
				if ignored := judged(h, lvl, false, false); hinted.Verdict != ignored {
					t.Fatalf("seed %d: %s is %s with the claims as a hint, and %s without\n%s", seed, lvl, hinted.Verdict, ignored, dsl.Format(h))
				}
				if c := hinted.Claim; c != nil && c.Fits && want != verdict.Satisfied {
					t.Fatalf("seed %d: %s: the claims fit, and no execution keeps them\n%s", seed, lvl, dsl.Format(h))
				}
				ignored, err := checker.Check(t.Context(), h, lvl, checker.Options{Versions: checker.Ignore, Certify: true})
				if err != nil || ignored.Verdict != hinted.Verdict {
					t.Fatalf("seed %d: %s is %s with the claims as a hint; ignored: %+v, %v\n%s", seed, lvl, hinted.Verdict, ignored, err, dsl.Format(h))
				}
				if want == verdict.Satisfied || !h.HasClaims() {
					continue
				}
				if r.Assumes.Rests {
					resting++
				} else if free++; hinted.Verdict != verdict.Violated {
					t.Fatalf("seed %d: %s is satisfied without the assumption, on which the violation does not rest: %+v\n%s", seed, lvl, r.Anomalies[0], dsl.Format(h))
				}
				if n > 2_000 && rng.IntN(4) > 0 { // most of the time is for these
					continue
				}
				cut++
				assumed := h.AssumeOrder()
				c, err := counterexample.Of(t.Context(), assumed, lvl, &r.Anomalies[0], counterexample.Options{Timeout: time.Minute})
				if err != nil {
					t.Fatalf("seed %d, %s: no counterexample for %+v: %v\n%s", seed, lvl, r.Anomalies[0], err, dsl.Format(h))
				}
				again := dsl.MustParse(dsl.Format(c.History))
				for _, l := range []level.Level{lvl, c.Weakest} {
					if slices.Contains(untimed, l) && judged(again, l, true, true) != verdict.Violated {
						t.Fatalf("seed %d, %s: this is no counterexample:\n%sof\n%s", seed, l, dsl.Format(again), dsl.Format(h))
					}
				}
				if !keepsGivers(givers(again), givers(h)) {
					t.Fatalf("seed %d, %s: nobody wrote what was read in\n%sbut somebody did in\n%s", seed, lvl, dsl.Format(again), dsl.Format(h))
				}
				for _, h := range []*history.History{c.History, again.AssumeOrder()} {
					if allowed, decided := certify.Judge(h, lvl, 10_000_000); allowed || !decided {
						t.Fatalf("seed %d, %s: %v, %v: the certifier takes this for no counterexample:\n%s", seed, lvl, allowed, decided, dsl.Format(h))
					}
				}
			}
			t.Logf("seed %d: %v, versions decide %d, %d violations rest on claims, %d do not, %d counterexamples", seed, count, decides, resting, free, cut)
			if (count[verdict.Satisfied] < n/5 || count[verdict.Violated] < n/5 || decides < n/20 || resting < n/20 || free < n/20) && !randhist.Few(t) {
				t.Error("one-sided")
			}
		})
	}
}

// TestWriteReadVersions: a history keeps the versions of its reads in both formats of the project.
func TestWriteReadVersions(t *testing.T) {
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 9))
	for range randhist.Count(t, 500) {
		h := versioned(rng)
		again := dsl.MustParse(dsl.Format(h))
		keeps(t, again, h)
		keeps(t, dsl.MustParse(dsl.Format(h.AssumeOrder())), h)
		for _, from := range []*history.History{h, h.AssumeOrder()} {
			var out bytes.Buffer
			// An encoder takes longer to set up than all else.
			if err := native.WriteHistory(&out, rng.IntN(100) == 0, from, "complete"); err != nil {
				t.Fatal(err)
			}
			r, err := native.NewReader(bytes.NewReader(out.Bytes()), "h", int64(out.Len()))
			if err != nil {
				t.Fatal(err)
			}
			got, err := history.Load(t.Context(), r)
			r.Close()
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, dsl.Format(h))
			}
			keeps(t, got, h)
		}
	}
}

// keeps compares operations, their versions, and claims.
func keeps(t *testing.T, got, want *history.History) {
	t.Helper()
	if g, w := dsl.Format(got), dsl.Format(want); g != w {
		t.Fatalf("got\n%s\nwant\n%s", g, w)
	}
	for i := range want.Txns {
		if got.Claim(i) != want.Claim(i) {
			t.Fatalf("transaction %d: the claim is %+v, want %+v", i, got.Claim(i), want.Claim(i))
		}
		for n, op := range want.Ops(&want.Txns[i]) {
			found := got.Ops(&got.Txns[i])[n]
			if g, w := got.Version(&got.Txns[i], n), want.Version(&want.Txns[i], n); g != w {
				t.Fatalf("transaction %d, operation %d: the version is %d, want %d\n%s", i, n, g, w, dsl.Format(want))
			}
			if got.KeyName(found.Key) != want.KeyName(op.Key) || got.ValueText(found.Value) != want.ValueText(op.Value) || found.Kind != op.Kind {
				t.Fatalf("transaction %d, operation %d is %+v, want %+v", i, n, found, op)
			}
		}
	}
}

// versioned makes a small history in which many transactions write the same value, with the positions of commits and the
// versions of reads. They follow a hidden execution. Some are left out, and some are wrong.
func versioned(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	words := rng.IntN(4) == 0
	value := func() history.Value { return sym.Int(int64(1 + rng.IntN(2))) }
	if words {
		value = func() history.Value { return sym.String("v" + strconv.Itoa(rng.IntN(2))) }
	}
	if rng.IntN(4) == 0 {
		value = func() history.Value { return sym.Int(1) }
	}
	sym.DefaultInitial = []history.Value{history.Absent, sym.Int(0), value()}[rng.IntN(3)]
	keys, sessions := 1+rng.IntN(3), 1+rng.IntN(3)
	pick := func(percents ...int) int { return percents[rng.IntN(len(percents))] }
	told := pick(100, 100, 95, 60)  // percent of versions
	lies := pick(0, 0, 10, 30)      // percent of versions
	old := pick(0, 30, 60)          // percent of snapshots
	missing := pick(0, 0, 20, 50)   // percent of positions
	ended := pick(100, 100, 80, 60) // percent of transactions that committed
	denials := pick(0, 0, 0, 5)     // percent of reads
	chaos := pick(0, 0, 5, 20)      // percent of reads with another value
	deletes := pick(0, 0, 15)       // percent of writes
	swapped := pick(0, 0, 0, 30)    // percent of positions
	shared := pick(0, 0, 0, 0, 20)  // percent of positions that another transaction has, too
	long := rng.IntN(30) == 0       // transactions with many operations
	type cell struct {
		value  history.Value
		commit int64
	}
	initial := make([]cell, keys)
	for k := range initial {
		initial[k] = cell{sym.Initial(sym.Key("k" + strconv.Itoa(k))), history.Before}
	}
	states := [][]cell{initial}
	var recs []history.Record
	position := int64(0)
	for i := range 2 + rng.IntN(4) {
		rec := history.Record{ID: int64(i), Session: int64(rng.IntN(sessions)), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
		position += 1 + int64(rng.IntN(2))
		if rng.IntN(100) >= ended {
			rec.Status = []history.Status{history.Aborted, history.Unknown, history.Unknown}[rng.IntN(3)]
		}
		view := states[len(states)-1]
		if rng.IntN(100) < old {
			view = states[rng.IntN(len(states))]
		}
		own := map[int]history.Value{}
		if long {
			for range 70 {
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: sym.Key("own" + strconv.Itoa(i)), Value: sym.Int(1)})
			}
		}
		for range 1 + rng.IntN(4) {
			k := rng.IntN(keys)
			op := history.Op{Kind: history.Read, Key: sym.Key("k" + strconv.Itoa(k)), Value: view[k].value}
			version := view[k].commit
			if rng.IntN(2) == 0 {
				op.Kind, op.Value, version = history.Write, value(), 0
				if rng.IntN(100) < deletes {
					op.Value = history.Absent
				}
				own[k] = op.Value
				rec.Ops = append(rec.Ops, op)
				continue
			}
			if v, wrote := own[k]; wrote {
				op.Value, version = v, position*int64(rng.IntN(2))
			}
			if rng.IntN(100) < chaos {
				op.Value = value()
			}
			if rng.IntN(100) < denials {
				op.Kind, op.Value, version = history.ReadNot, value(), 0
			} else if rng.IntN(100) < lies {
				version = rng.Int64N(10) - 1
			}
			rec.Ops = append(rec.Ops, op)
			if rng.IntN(100) < told {
				rec.Tell(version)
			}
		}
		rec.Claim.Commit = position
		if rng.IntN(100) < shared {
			rec.Claim.Commit = 1 + rng.Int64N(position)
		}
		if rng.IntN(100) < missing || rec.Status != history.Committed && rng.IntN(2) == 0 || len(own) == 0 && rng.IntN(3) > 0 {
			rec.Claim.Commit = 0
		}
		if n := len(recs); n > 0 && rng.IntN(100) < swapped {
			rec.Claim, recs[n-1].Claim = recs[n-1].Claim, rec.Claim
		}
		recs = append(recs, rec)
		if rec.Status == history.Committed || rec.Status == history.Unknown && rng.IntN(2) == 0 {
			state := slices.Clone(states[len(states)-1])
			for k, v := range own {
				state[k] = cell{v, position}
			}
			states = append(states, state)
		}
	}
	if !slices.ContainsFunc(recs, func(rec history.Record) bool { return rec.Status == history.Committed }) {
		return versioned(rng) // there would be nothing to check
	}
	b := history.NewBuilder(history.Header{}, sym, len(recs))
	for i := range recs {
		if err := b.Add(&recs[i]); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// givers has, by each value that a transaction read, whether some transaction or the initial state gave it to its key.
func givers(h *history.History) map[string]bool {
	out, wrote := map[string]bool{}, map[history.Op]bool{}
	for _, op := range h.AllOps() {
		wrote[history.Op{Key: op.Key, Value: op.Value}] = wrote[history.Op{Key: op.Key, Value: op.Value}] || op.Kind == history.Write
	}
	for _, op := range h.AllOps() {
		if op.Kind == history.Read {
			out[dsl.Op(h, op)] = wrote[history.Op{Key: op.Key, Value: op.Value}] || h.Initial(op.Key) == op.Value
		}
	}
	return out
}

// keepsGivers reports whether the givers of a part of a history are those of the whole.
func keepsGivers(part, whole map[string]bool) bool {
	for read, given := range part {
		if given != whole[read] {
			return false
		}
	}
	return true
}

// judged judges a closed history by trying all executions. If ordered is set, they keep the claimed order of versions, and
// if told is set, too, reads return the versions that the database names.
func judged(h *history.History, lvl level.Level, ordered, told bool) verdict.Verdict {
	e := executions{lvl: lvl, ordered: ordered, state: map[history.Key]written{}}
	open := map[history.Op]bool{}
	for i := range h.Txns {
		if h.Txns[i].Status != history.Aborted {
			e.txns = append(e.txns, newTried(h, i))
		}
	}
	for i, t := range e.txns {
		for _, r := range t.reads {
			if r.denies || e.about(h, i, r).nothing {
				open[r.cell()] = true
			}
		}
		for _, op := range t.denied {
			open[op] = true
		}
	}
	for i, t := range e.txns {
		for n, r := range t.reads {
			a := e.about(h, i, r)
			if told && !r.denies && !a.nothing && (a.never || !open[r.cell()]) {
				e.txns[i].reads[n].about = a
			}
		}
	}
	for k := range history.Key(h.KeyCount()) {
		e.state[k] = written{h.Initial(k), -1}
	}
	if e.search() {
		return verdict.Satisfied
	}
	return verdict.Violated
}

// executions enumerates the executions of a history: all orders of starts and commits, in which some transactions of
// unknown outcome may be missing.
type executions struct {
	lvl     level.Level
	ordered bool
	txns    []tried
	state   map[history.Key]written
}

// written is a value of a key and its writer, as its number among txns, or -1 for the initial state.
type written struct {
	value  history.Value
	writer int
}

// tried is a transaction that did not abort.
type tried struct {
	status             history.Status
	session            int32
	commit             int64
	wrong              bool // it contradicts its own writes
	reads              []tracked
	denied             []history.Op // what it saw that keys are not, as reads
	wrote              []history.Op
	leaves             map[history.Key]history.Value
	started, committed bool
}

// tracked is a read from outside.
type tracked struct {
	key     history.Key
	value   history.Value
	denies  bool // ReadNot
	version int64
	about   about
}

func (r tracked) cell() history.Op { return history.Op{Key: r.key, Value: r.value} }

// about is what the version of a read says.
type about struct {
	nothing bool // nothing
	never   bool // the transactions with the position left no such value
	places  bool // the writer has position commit, which may be 0: it has none, or is the initial state
	commit  int64
}

func newTried(h *history.History, i int) tried {
	t := &h.Txns[i]
	out := tried{status: t.Status, session: t.Session, commit: h.Claim(i).Commit, leaves: map[history.Key]history.Value{}}
	for n, op := range h.Ops(t) {
		own, after := out.leaves[op.Key]
		switch {
		case op.Kind == history.Write:
			out.leaves[op.Key] = op.Value
			out.wrote = append(out.wrote, history.Op{Key: op.Key, Value: op.Value})
		case after && (own == op.Value) == (op.Kind == history.ReadNot):
			out.wrong = true
		}
		switch {
		case op.Kind == history.ReadNot:
			out.denied = append(out.denied, history.Op{Key: op.Key, Value: op.Value})
			fallthrough
		case op.Kind == history.Read:
			if !after {
				out.reads = append(out.reads, tracked{key: op.Key, value: op.Value, denies: op.Kind == history.ReadNot, version: h.Version(t, n)})
			}
		}
	}
	return out
}

// about says what follows from the version of a read of transaction i.
func (e *executions) about(h *history.History, i int, r tracked) about {
	if r.version == 0 || r.value == history.Absent {
		return about{nothing: true}
	}
	held, left, without := false, false, h.Initial(r.key) == r.value
	for j, t := range e.txns {
		if t.commit == r.version {
			held = true
			v, wrote := t.leaves[r.key]
			left = left || wrote && v == r.value
		}
		without = without || j != i && t.commit == 0 && slices.Contains(t.wrote, r.cell())
	}
	switch {
	case held:
		return about{never: !left, places: true, commit: r.version}
	case without:
		return about{places: true}
	}
	return about{nothing: true}
}

func (e *executions) search() bool {
	if !slices.ContainsFunc(e.txns, func(t tried) bool { return t.status == history.Committed && !t.committed }) {
		return true
	}
	for i := range e.txns {
		t := &e.txns[i]
		switch {
		case t.committed || t.wrong:
		case t.started:
			if e.commit(i) {
				return true
			}
		case e.mayStart(i):
			t.started = true
			if e.lvl.Snapshot() && e.search() || !e.lvl.Snapshot() && e.commit(i) {
				return true
			}
			t.started = false
		}
	}
	return false
}

func (e *executions) mayStart(i int) bool {
	t := &e.txns[i]
	for j := range e.txns {
		u := &e.txns[j]
		if e.lvl.SessionOrder() && j < i && u.session == t.session && u.status == history.Committed && !u.committed {
			return false
		}
		if e.lvl.FirstCommitterWins() && u.started && !u.committed && e.share(t, u) {
			return false
		}
	}
	for _, r := range t.reads {
		w := e.state[r.key]
		place := int64(0)
		if w.writer >= 0 {
			place = e.txns[w.writer].commit
		}
		if (w.value == r.value) == r.denies || r.about.never || r.about.places && place != r.about.commit {
			return false
		}
	}
	return true
}

// share reports whether two transactions wrote the same key.
func (e *executions) share(t, u *tried) bool {
	for k := range t.leaves {
		if _, both := u.leaves[k]; both {
			return true
		}
	}
	return false
}

func (e *executions) commit(i int) bool {
	t := &e.txns[i]
	for j := range e.txns {
		u := &e.txns[j]
		if e.ordered && u.committed && t.commit != 0 && t.commit < u.commit && e.share(t, u) {
			return false
		}
	}
	before := map[history.Key]written{}
	for k, v := range t.leaves {
		before[k] = e.state[k]
		e.state[k] = written{v, i}
	}
	t.committed = true
	found := e.search()
	t.committed = false
	for k, w := range before {
		e.state[k] = w
	}
	return found
}
