package weak_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/checker/weak"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAgainstOracle compares the engine with the trial of all commit orders, on random histories, and
// replays witnesses and anomalies by the definitions. ISOHOUND_HISTORIES sets how many per level.
func TestAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 12_000)
	for _, lvl := range (weak.Engine{}).Levels() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[string]int{}
			for range n {
				h := small(rng)
				v, cyclic := compare(t, h, lvl, seed)
				count[v]++
				if cyclic {
					count["cycle"]++
				} else if v == "contradiction" {
					count["violated"]++
				}
			}
			t.Logf("seed %d: %v", seed, count)
			least := map[string]int{"satisfied": n / 10, "violated": n / 10, "cycle": n / 50, "contradiction": n / 1000}
			if lvl == level.RU { // few histories have several versions that are read and overwritten
				least = map[string]int{"satisfied": n / 10, "violated": n / 20, "cycle": n / 500}
			}
			for v, want := range least {
				if count[v] < want && n >= 1000 {
					t.Errorf("only %d of %d histories have %s; the generator tests one side only", count[v], n, v)
				}
			}
			if count["refused"]+count["large"] > n/20+10 {
				t.Errorf("too many of %d histories are not compared", n)
			}
		})
	}
}

// small makes a history of up to six transactions. Most have unique values; some repeat values and delete.
func small(rng *rand.Rand) *history.History {
	switch rng.IntN(12) {
	case 8, 9:
		return repeated(rng, unique(rng, 3, 5))
	case 10:
		return repeated(rng, crossed(rng, unique(rng, 3, 5)))
	case 11:
		return repeated(rng, randhist.WithoutValues(rng, unique(rng, 3, 5)))
	case 0:
		return randhist.New(rng)
	case 1:
		return randhist.Mini(rng)
	case 2:
		return randhist.WithoutValues(rng, unique(rng, 3, 5))
	case 3:
		return unique(rng, 14, 40) // for what the engine does differently if a transaction is large
	case 4, 5:
		return crossed(rng, unique(rng, 3, 5))
	}
	return unique(rng, 3, 5)
}

// crossed returns h with some first reads changed to return any value of their key, also later ones.
func crossed(rng *rand.Rand, h *history.History) *history.History {
	written := map[history.Key][]history.Value{}
	for _, op := range h.AllOps() {
		if op.Kind == history.Write {
			written[op.Key] = append(written[op.Key], op.Value)
		}
	}
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Ops = slices.Clone(rec.Ops)
		for j := range rec.Ops {
			op := &rec.Ops[j]
			list := written[op.Key]
			if op.Kind == history.Read && len(list) > 0 && rng.IntN(3) == 0 &&
				!slices.ContainsFunc(rec.Ops[:j], func(o history.Op) bool { return o.Key == op.Key }) {
				old := op.Value
				op.Value = list[rng.IntN(len(list))]
				for n := j + 1; n < len(rec.Ops) && (rec.Ops[n].Key != op.Key || rec.Ops[n].Kind == history.Read); n++ {
					if rec.Ops[n].Key == op.Key && rec.Ops[n].Value == old {
						rec.Ops[n].Value = op.Value
					}
				}
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(h.Closed, nil)
}

// repeated returns h with few values. Some become absence.
func repeated(rng *rand.Rand, h *history.History) *history.History {
	few, absent := 1+rng.Int64N(3), rng.Int64N(3)
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Ops = slices.Clone(rec.Ops)
		for j := range rec.Ops {
			v := &rec.Ops[j].Value
			if *v == history.Absent || *v == 0 {
				continue
			}
			if n := int64(*v) % (few + 1); n == absent {
				*v = history.Absent
			} else {
				*v = h.Symbols.Int(n)
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(h.Closed, nil)
}

// unique makes a history with unique values, of at most so many keys, and operations per transaction. Reads
// return recent versions, mostly.
func unique(rng *rand.Rand, maxKeys, maxOps int) *history.History {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	keys, txns, sessions := 1+rng.IntN(maxKeys), 2+rng.IntN(5), 1+rng.IntN(4)
	stale := 1 + rng.IntN(4)
	deletes, outcomes, wild := rng.IntN(4) == 0, rng.IntN(2) == 0, []int{0, 5, 20}[rng.IntN(3)]
	written := make([][]history.Value, keys)
	b := history.NewBuilder(history.Header{}, sym, txns)
	next := int64(0)
	for i := range txns {
		rec := history.Record{ID: int64(i), Session: int64(rng.IntN(sessions)), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed}
		if outcomes {
			switch rng.IntN(8) {
			case 0:
				rec.Status = history.Aborted
			case 1, 2:
				rec.Status = history.Unknown
			}
		}
		writes := map[int]history.Value{}
		read := map[int]history.Value{}
		writer := rng.IntN(maxOps) > 5 // it mostly writes
		for range 1 + rng.IntN(maxOps) {
			k := rng.IntN(keys)
			key := sym.Key("k" + strconv.Itoa(k))
			if rng.IntN(5) < 2 || writer && rng.IntN(3) > 0 {
				next++
				v := sym.Int(next)
				if deletes && rng.IntN(6) == 0 {
					v = history.Absent
				}
				writes[k] = v
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: key, Value: v})
				continue
			}
			v, own := writes[k]
			if !own {
				if v, own = read[k]; own && rng.IntN(3) == 0 {
					own = false
				}
			}
			if list := written[k]; !own {
				v = sym.Initial(key)
				if n := len(list); n > 0 && rng.IntN(maxOps) > 0 {
					v = list[max(n-1-rng.IntN(stale), 0)]
				}
			}
			if rng.IntN(100*maxOps) < wild {
				v = sym.Int(rng.Int64N(next + 3))
			}
			read[k] = v
			update := rng.IntN(6) == 0
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: key, Value: v})
			if update {
				next++
				writes[k] = sym.Int(next)
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: key, Value: writes[k]})
			}
		}
		if rec.Status != history.Aborted || rng.IntN(8) == 0 {
			for k, v := range writes {
				written[k] = append(written[k], v)
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(rng.IntN(20) > 0, nil)
}

// compare returns the verdict, or why there is none, and whether a cycle was found.
func compare(t *testing.T, h *history.History, lvl level.Level, seed uint64) (string, bool) {
	t.Helper()
	text := func() string { return dsl.Format(h) }
	judge := func(opt engine.Options) (*verdict.Result, bool) {
		r, err := weak.Engine{}.Judge(context.Background(), h, lvl, opt)
		if _, refused := err.(*engine.Refusal); refused {
			return nil, false
		}
		if err != nil {
			t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, text())
		}
		return r, true
	}
	r, ok := judge(engine.Options{Proof: true})
	bare, also := judge(engine.Options{VerdictOnly: true})
	if ok != also || ok && (bare.Verdict != r.Verdict || bare.Anomalies != nil || bare.Witness != nil) {
		t.Fatalf("seed %d, %s: %+v, but the verdict only: %+v\n%s", seed, lvl, r, bare, text())
	}
	if !ok {
		if h.Closed && lvl != level.RU {
			t.Fatalf("seed %d, %s: refused\n%s", seed, lvl, text())
		}
		return "refused", false
	}
	if r.Verdict == verdict.Unknown {
		if h.Closed {
			t.Fatalf("seed %d, %s: unknown on a closed history: %s\n%s", seed, lvl, r.Reason, text())
		}
		return "unknown", false
	}
	if err := certify.Result(t.Context(), h, r); err != nil && !errors.Is(err, certify.ErrTooLarge) {
		t.Fatalf("seed %d, %s: proof of %s: %v\n%s%+v", seed, lvl, r.Verdict, err, text(), r.Anomalies)
	}
	if !h.Closed {
		h = randhist.Completed(h)
		if len(h.Txns) > 8 {
			return "large", false
		}
	}
	d := define(h, lvl)
	allowed := d.allowed()
	if d.left <= 0 {
		return "large", false
	}
	if allowed != (r.Verdict == verdict.Satisfied) {
		t.Fatalf("seed %d, %s: the engine says %s, the oracle says allowed=%v\n%s%+v", seed, lvl, r.Verdict, allowed, text(), r.Anomalies)
	}
	d.left = 20_000
	if r.Verdict == verdict.Satisfied && h.Closed && !d.fits(r.Witness.Order) && d.left > 0 {
		t.Fatalf("seed %d, %s: %v is no commit order\n%s", seed, lvl, r.Witness.Order, text())
	}
	if r.Verdict == verdict.Violated {
		if len(r.Anomalies) == 0 {
			t.Fatalf("seed %d, %s: no anomaly\n%s", seed, lvl, text())
		}
		for n := range r.Anomalies {
			if a := &r.Anomalies[n]; len(a.Cycle) > 0 {
				if why := d.replay(a); why != "" {
					t.Fatalf("seed %d, %s: %s\n%s%+v", seed, lvl, why, text(), *a)
				}
			}
		}
	}
	if len(r.Anomalies) > 0 && r.Anomalies[0].Kind == verdict.Contradiction && len(r.Anomalies[0].Txns) > 1 {
		return "contradiction", false
	}
	return r.Verdict.String(), slices.ContainsFunc(r.Anomalies, func(a verdict.Anomaly) bool { return len(a.Cycle) > 0 })
}

// definition has a history and a level, for the trial of all commit orders. A set of transactions is a bit
// mask. Transactions are those of the history.
type definition struct {
	h      *history.History
	lvl    level.Level
	strict bool // a transaction reads one version of a key
	in     []bool
	reads  []reading
	left   int // how many sources of reads are tried at most
}

// reading is a read from outside. Its source is a transaction, initial or dirty.
type reading struct {
	txn, op int
	key     history.Key
	sources []int
	source  int
}

const (
	initial = -1
	dirty   = -2 // at RU: a write that is no version
)

func define(h *history.History, lvl level.Level) *definition {
	return &definition{h: h, lvl: lvl, strict: lvl == level.CC || lvl == level.RA, in: make([]bool, len(h.Txns)), left: 20_000}
}

func (d *definition) ops(t int) []history.Op { return d.h.Ops(&d.h.Txns[t]) }

// allowed tries all inclusions, sources and commit orders.
func (d *definition) allowed() bool {
	return d.include(0, func() bool { return d.extend(0, d.must()) })
}

// fits reports whether a commit order, with some sources, is allowed.
func (d *definition) fits(order []int32) bool {
	place := map[int]int{}
	for n, t := range order {
		if _, twice := place[int(t)]; twice {
			return false
		}
		place[int(t)] = n
	}
	return d.include(0, func() bool {
		count := 0
		for t, in := range d.in {
			if _, ok := place[t]; in != ok {
				return false
			}
			if in {
				count++
			}
		}
		for t, before := range d.must() {
			for p := range d.in {
				if before>>p&1 == 1 && (!d.in[t] || !d.in[p] || place[p] >= place[t]) {
					return false
				}
			}
		}
		return count == len(order)
	})
}

// include calls try for every inclusion of transactions of unknown outcome from t on, and all sources.
func (d *definition) include(t int, try func() bool) bool {
	if t == len(d.in) {
		return d.collect() && d.choose(0, try)
	}
	status := d.h.Txns[t].Status
	d.in[t] = status == history.Committed
	if d.include(t+1, try) {
		return true
	}
	if status != history.Unknown || d.lvl == level.RU {
		return false
	}
	d.in[t] = true
	return d.include(t+1, try)
}

// collect finds the reads from outside and their possible sources. It reports whether the own writes of
// the transactions are seen, and every read has a source.
func (d *definition) collect() bool {
	d.reads = d.reads[:0]
	for t, in := range d.in {
		if !in {
			continue
		}
		for j, op := range d.ops(t) {
			if op.Kind == history.Write {
				continue
			}
			own := -1
			for n, other := range d.ops(t)[:j] {
				if other.Key == op.Key && other.Kind == history.Write {
					own = n
				}
			}
			fits := func(v history.Value) bool { return (v == op.Value) == (op.Kind == history.Read) }
			if own >= 0 {
				if !fits(d.ops(t)[own].Value) {
					return false
				}
				continue
			}
			r := reading{txn: t, op: j, key: op.Key}
			if fits(d.h.Initial(op.Key)) {
				r.sources = append(r.sources, initial)
			}
			for w := range d.in {
				for n, other := range d.ops(w) {
					if other.Kind != history.Write || other.Key != op.Key || !fits(other.Value) {
						continue
					}
					final := !slices.ContainsFunc(d.ops(w)[n+1:], func(o history.Op) bool { return o.Kind == history.Write && o.Key == op.Key })
					switch {
					case final && d.in[w] && w != t:
						r.sources = append(r.sources, w)
					case d.lvl == level.RU:
						r.sources = append(r.sources, dirty)
					}
				}
			}
			if d.lvl == level.RU && op.Kind == history.ReadNot {
				r.sources = append(r.sources, dirty)
			}
			if len(r.sources) == 0 {
				return false
			}
			d.reads = append(d.reads, r)
		}
	}
	return true
}

func (d *definition) choose(n int, try func() bool) bool {
	if n == len(d.reads) {
		return try()
	}
	r := &d.reads[n]
	for _, s := range r.sources {
		if d.left--; d.left <= 0 {
			return false
		}
		r.source = s
		if d.strict && slices.ContainsFunc(d.reads[:n], func(o reading) bool { return o.txn == r.txn && o.key == r.key && o.source != s }) {
			continue
		}
		if d.choose(n+1, try) {
			return true
		}
	}
	return false
}

func (d *definition) writes(t int, k history.Key) bool {
	return slices.ContainsFunc(d.ops(t), func(o history.Op) bool { return o.Kind == history.Write && o.Key == k })
}

// so reports whether a comes before b in session order. None leaves a transaction of unknown outcome.
func (d *definition) so(a, b int) bool {
	return a < b && d.in[a] && d.in[b] && d.h.Txns[a].Session == d.h.Txns[b].Session && d.h.Txns[a].Status == history.Committed
}

func (d *definition) wr(a, b int) bool {
	return slices.ContainsFunc(d.reads, func(r reading) bool { return r.txn == b && r.source == a })
}

// some reports whether f holds for a transaction that counts.
func (d *definition) some(f func(t int) bool) bool {
	for t, in := range d.in {
		if in && f(t) {
			return true
		}
	}
	return false
}

// sees reports whether the transaction of a read must see t2.
func (d *definition) sees(t2 int, r reading) bool {
	t3 := r.txn
	switch d.lvl {
	case level.RC:
		return slices.ContainsFunc(d.reads, func(o reading) bool { return o.txn == t3 && o.source == t2 && o.op < r.op })
	case level.RA:
		return d.so(t2, t3) || d.wr(t2, t3)
	case level.CC:
		return d.before(t2, t3)
	case level.RYW:
		return d.so(t2, t3)
	case level.MR:
		return d.some(func(s int) bool { return d.wr(t2, s) && d.so(s, t3) })
	case level.MW:
		return d.some(func(s int) bool { return d.so(t2, s) && d.wr(s, t3) })
	case level.WFR:
		return d.some(func(s int) bool {
			return d.wr(t2, s) && (d.wr(s, t3) || d.some(func(u int) bool { return d.so(s, u) && d.wr(u, t3) }))
		})
	case level.Session:
		for _, l := range []level.Level{level.RYW, level.MR, level.MW, level.WFR} {
			one := *d
			one.lvl = l
			if one.sees(t2, r) {
				return true
			}
		}
	}
	return false
}

// before reports whether a path of session order and reads leads from a to b.
func (d *definition) before(a, b int) bool {
	reached := make([]bool, len(d.in))
	var visit func(t int) bool
	visit = func(t int) bool {
		return d.some(func(s int) bool {
			if reached[s] || !d.so(t, s) && !d.wr(t, s) {
				return false
			}
			reached[s] = true
			return s == b || visit(s)
		})
	}
	return visit(a)
}

// must returns, for each transaction, the set of those that commit before it. If a transaction must commit
// before the initial state, the set of another has itself.
func (d *definition) must() []uint64 {
	must := make([]uint64, len(d.in))
	for b := range d.in {
		for a := range d.in {
			if d.lvl != level.RU && (d.so(a, b) || d.wr(a, b)) {
				must[b] |= 1 << a
			}
		}
	}
	for _, r := range d.reads {
		if d.lvl == level.RU {
			if r.source >= 0 && d.writes(r.txn, r.key) {
				must[r.txn] |= 1 << r.source
			}
			continue
		}
		for t2, in := range d.in {
			if !in || t2 == r.source || !d.writes(t2, r.key) || !d.sees(t2, r) {
				continue
			}
			if r.source == initial {
				must[t2] |= 1 << t2
			} else {
				must[r.source] |= 1 << t2
			}
		}
	}
	return must
}

// extend tries all ways to continue a commit order that has the transactions in done.
func (d *definition) extend(done uint64, must []uint64) bool {
	complete := true
	for t, in := range d.in {
		if !in || done>>t&1 == 1 {
			continue
		}
		complete = false
		if must[t]&^done == 0 && d.extend(done|1<<t, must) {
			return true
		}
	}
	return complete
}
