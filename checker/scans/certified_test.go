package scans_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/randhist"
)

// bare returns h with all scans counted as judged, without any operation that says what they did not
// find. So only the evaluation of the scans can refuse a witness.
func bare(h *history.History) *history.History {
	s := &history.Scans{}
	for i := range h.Txns {
		if h.Txns[i].Status != history.Aborted {
			s.Scans += len(h.Predicates(i))
		}
	}
	s.Judged = s.Scans
	return h.Extend(nil, s)
}

// TestWitnessesAgainstOracle compares the certifier with the oracle on random executions of random
// histories. It also lets the checker find an execution without any operation for scans: the certifier
// must refuse it if the history is not allowed.
func TestWitnessesAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 5_000)
	seed := randhist.Seed(t, rand.Uint64())
	for _, lvl := range []level.Level{level.SERNoSO, level.SINoSO} {
		rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
		accepted, refused, byScans, wrong := 0, 0, 0, 0
		for range n {
			r := newRun(rng, lvl)
			h := bare(r.history(t))
			w, in := randomWitness(rng, r, lvl)
			err := certify.Witness(t.Context(), h, lvl, w)
			if got, want := err == nil, r.executes(lvl, w, in); got != want {
				t.Fatalf("seed %d, %s: the certifier says %v, the oracle %v of %v\n%s", seed, lvl, err, want, w, r.text(t))
			}
			switch {
			case err == nil && h.Scans.Scans > 0:
				accepted++
			case err != nil && strings.Contains(err.Error(), " of rows of "):
				byScans++
			case err != nil:
				refused++
			}
			got, err := checker.Check(t.Context(), h, lvl, checker.Options{Witness: true})
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict == verdict.Satisfied && !r.allowed(lvl) {
				wrong++
				if certify.Result(t.Context(), h, got) == nil {
					t.Fatalf("seed %d, %s: without operations for scans it is satisfied, and certified\n%s", seed, lvl, r.text(t))
				}
			}
		}
		t.Logf("seed %d, %s: %d accepted, %d refused by scans, %d otherwise; %d satisfied without operations for scans", seed, lvl, accepted, byScans, refused, wrong)
		if (accepted < n/20 || byScans < n/20 || wrong < n/50) && !randhist.Few(t) {
			t.Errorf("%s: %d of %d accepted, %d refused by scans, %d wrong verdicts; the test is about one side only", lvl, accepted, n, byScans, wrong)
		}
	}
}

// randomWitness returns a random order of the committed transactions and some of unknown outcome, not
// far from the order in which they ran. in is the set of these transactions.
func randomWitness(rng *rand.Rand, r *run, lvl level.Level) (w *verdict.Witness, in int) {
	w = &verdict.Witness{}
	var order []int32
	for i := range r.txns {
		if s := r.txns[i].status; s == history.Committed || s == history.Unknown && rng.IntN(2) == 0 {
			order = append(order, int32(i))
			in |= 1 << i
		}
	}
	for range rng.IntN(3) {
		if n := len(order); n > 1 {
			i := rng.IntN(n - 1)
			order[i], order[i+1] = order[i+1], order[i]
		}
	}
	if !lvl.Snapshot() {
		w.Order = order
		return w, in
	}
	w.Points = (&verdict.Witness{Order: order}).At(lvl).Points
	for range rng.IntN(4) { // a start before an earlier commit
		if n := len(w.Points); n > 2 {
			if i := rng.IntN(n - 1); w.Points[i]>>1 != w.Points[i+1]>>1 {
				w.Points[i], w.Points[i+1] = w.Points[i+1], w.Points[i]
			}
		}
	}
	return w, in
}

// executes reports whether the oracle's transactions may have seen what they returned in an execution.
func (r *run) executes(lvl level.Level, w *verdict.Witness, in int) bool {
	x := trial{run: r, lvl: lvl, in: in}
	s, running := r.initial.clone(), 0
	points := w.Points
	if points == nil {
		for _, i := range w.Order {
			points = append(points, i<<1, i<<1|1)
		}
	}
	for _, p := range points {
		i := int(p >> 1)
		switch {
		case p&1 == 0 && !x.runs(i, s):
			return false
		case p&1 == 0:
			running |= 1 << i
			continue
		}
		if running &^= 1 << i; x.conflicts(i, running) {
			return false
		}
		for n := range r.txns[i].statements {
			s.apply(&r.txns[i].statements[n])
		}
	}
	return true
}

// TestImpliedAgainstOracle adds a random operation to the operations of a scan and compares the
// certifier's answer with a search for a version that explains the result and denies the operation.
func TestImpliedAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 10_000)
	seed := randhist.Seed(t, rand.Uint64())
	rng := rand.New(rand.NewPCG(seed, 3))
	accepted, refused := 0, 0
	for accepted+refused < n {
		r := newRun(rng, level.SER)
		h, proof := violatedAnyway(t, r)
		h, rest, err := scans.Expand(t.Context(), h, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		if rest != nil {
			rest.Done() // what the other scans imply is added below
		}
		if err := certify.Result(t.Context(), h, proof); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, r.text(t))
		}
		i, number, s := r.randomScan(rng)
		if s == nil || r.txns[i].status == history.Aborted {
			continue
		}
		g := rng.IntN(len(tables[s.table].Groups))
		key := keyOf(s.table, rng.IntN(3))
		v := version{rng.IntN(4) > 0, content(rng, s.table, g)}
		if versions := r.versions(s.table, key, g); rng.IntN(4) > 0 && len(versions) > 0 {
			v = versions[rng.IntN(len(versions))]
		}
		op := history.Op{Kind: history.ReadNot, Key: h.Key(tables[s.table].Item([]any{key}, g)), Value: valueOf(h.Symbols, v)}
		if rng.IntN(2) == 0 {
			op.Kind = history.Read
		}
		more := make([][]history.Op, len(h.Predicates(i)))
		more[number] = []history.Op{op}
		err = certify.Result(t.Context(), h.Extend(map[int][][]history.Op{i: more}, h.Scans), proof)
		want := r.follows(i, s, key, g, v, op.Kind)
		if want != (err == nil) {
			t.Fatalf("seed %d: the certifier says %v of %s(%s)=%s of T%d, scan %d; the oracle %v\n%s",
				seed, err, op.Kind, h.KeyName(op.Key), h.ValueText(op.Value), i+1, number, want, r.text(t))
		}
		if err == nil {
			accepted++
		} else {
			refused++
		}
	}
	t.Logf("seed %d: %d accepted, %d refused", seed, accepted, refused)
	if accepted < n/20 && !randhist.Few(t) {
		t.Errorf("%d of %d operations accepted", accepted, n)
	}
}

// violatedAnyway returns the history with a read of a value that nobody wrote, and the proof that it
// is violated. So the proof holds if and only if the operations added for scans follow from them.
func violatedAnyway(t *testing.T, r *run) (*history.History, *verdict.Result) {
	from := r.history(t)
	b := history.NewBuilder(from.Header, from.Symbols, 0)
	for i := range from.Txns {
		rec := from.Record(i)
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	thin := history.Op{Kind: history.Read, Key: from.Key("x"), Value: from.Int(1)}
	rec := history.Record{ID: 1000, Session: 1000, Status: history.Committed, Begin: history.NoTime, End: history.NoTime, Ops: []history.Op{thin}}
	if err := b.Add(&rec); err != nil {
		t.Fatal(err)
	}
	last := int32(len(from.Txns))
	return b.Done(true, nil), &verdict.Result{Level: level.SER, Verdict: verdict.Violated,
		Anomalies: []verdict.Anomaly{{Kind: verdict.ThinAirRead, Txns: []int32{last}, Ops: []verdict.OpRef{{Txn: last}}}}}
}

// randomScan returns a scan, with the index of its transaction and its number there.
func (r *run) randomScan(rng *rand.Rand) (txn, number int, s *statement) {
	seen := 0
	for i := range r.txns {
		at := 0
		for n := range r.txns[i].statements {
			x := &r.txns[i].statements[n]
			if x.kind == "scan" || x.kind == "count" {
				if seen++; rng.IntN(seen) == 0 {
					txn, number, s = i, at, x
				}
			}
			if slices.Contains([]string{"scan", "count", "update", "remove"}, x.kind) {
				at++
			}
		}
	}
	return txn, number, s
}

// version is a version of a group of a row.
type version struct {
	exists  bool
	content []any
}

func valueOf(sym *history.Symbols, v version) history.Value {
	if !v.exists {
		return history.Absent
	}
	text, n, isNumber := schema.Content(v.content)
	if isNumber {
		return sym.Int(n)
	}
	return sym.String(text)
}

// versions lists the versions of a group of a row that another transaction may see.
func (r *run) versions(table int, key any, g int) (out []version) {
	if row, ok := r.initial[table][key]; ok {
		out = append(out, version{true, row.Groups[g]})
	} else {
		out = append(out, version{})
	}
	for i := range r.txns {
		if r.txns[i].status == history.Aborted {
			continue
		}
		for n := range r.txns[i].statements {
			s := &r.txns[i].statements[n]
			changed := slices.ContainsFunc(s.rows, func(row schema.Row) bool { return row.Key[0] == key })
			switch {
			case s.table != table || s.kind != "update" && s.kind != "remove" && s.key != key:
			case s.kind == "set" && s.group == g, s.kind == "update" && s.group == g && changed:
				out = append(out, version{true, s.to})
			case s.kind == "insert":
				out = append(out, version{true, s.row.Groups[g]})
			case s.kind == "delete", s.kind == "remove" && changed:
				out = append(out, version{})
			}
		}
	}
	return out
}

// own returns what a transaction wrote to a group of a row before one of its statements.
func (x *transaction) own(before *statement, key any, g int) (own version, wrote bool) {
	for n := range x.statements {
		s := &x.statements[n]
		if s == before {
			break
		}
		changed := slices.ContainsFunc(s.rows, func(row schema.Row) bool { return row.Key[0] == key })
		switch {
		case s.table != before.table || s.kind != "update" && s.kind != "remove" && s.key != key:
		case s.kind == "set" && s.group == g, s.kind == "update" && s.group == g && changed:
			own, wrote = version{true, s.to}, true
		case s.kind == "insert":
			own, wrote = version{true, s.row.Groups[g]}, true
		case s.kind == "delete", s.kind == "remove" && changed:
			own, wrote = version{}, true
		}
	}
	return own, wrote
}

// decisive lists the groups in the conditions and, of a full page, in the order; or else the first one that is read.
func (s *statement) decisive() []int {
	p := s.where
	if p.Limit == 0 || len(s.rows) < p.Limit {
		p.Order = nil
	}
	if groups := p.Columns(tables[s.table]); len(groups) > 0 {
		return groups
	}
	if s.unread == 1 {
		return []int{1}
	}
	return []int{0}
}

// follows reports whether no combination of versions that denies the operation explains what the
// statement of the transaction at index i returned.
func (r *run) follows(i int, s *statement, key any, g int, v version, kind history.OpKind) bool {
	same := func(w version) bool {
		return v.exists == w.exists && (!v.exists || slices.Equal(v.content, w.content))
	}
	list := r.versions(s.table, key, g)
	if kind == history.ReadNot {
		list = []version{v}
	}
	return !slices.ContainsFunc(list, func(w version) bool {
		return !(kind == history.Read && same(w)) && r.explains(i, s, key, g, w)
	})
}

// explains reports whether the statement of the transaction at index i may have seen version w of group
// g of a row. If it returned the row, this is about its conditions; what it read is another operation.
func (r *run) explains(i int, s *statement, key any, g int, w version) bool {
	if own, wrote := r.txns[i].own(s, key, g); wrote && (own.exists != w.exists || own.exists && !slices.Equal(own.content, w.content)) {
		return false
	}
	if at := slices.IndexFunc(s.rows, func(row schema.Row) bool { return row.Key[0] == key }); at >= 0 {
		misplaced := false
		for n := range s.rows { // it may be there twice
			misplaced = misplaced || s.rows[n].Key[0] == key && (s.where.Limit > 0 && n >= s.where.Limit || n > 0 && before(s, &s.rows[n], &s.rows[n-1]))
		}
		conditions := schema.Predicate{}
		matters := g == s.decisive()[0] && len(schema.Predicate{Where: s.where.Where}.Columns(tables[s.table])) == 0
		for _, c := range s.where.Where {
			if in, _, _ := tables[s.table].Column(c.Column); in < 0 || in == g {
				conditions.Where, matters = append(conditions.Where, c), matters || in == g
			}
		}
		row := schema.Row{Key: []any{key}, Groups: make([][]any, len(tables[s.table].Groups))}
		if row.Groups[g] = w.content; !matters {
			row.Groups[g] = s.rows[at].Groups[g]
		}
		return !misplaced && (w.exists || !matters) && conditions.Matches(tables[s.table], row)
	}
	if s.kind == "scan" {
		least, _ := r.mayFind(i, s, key, g, &w)
		return least == 0
	}
	return r.mayCount(i, s, nil, 0, nil) && r.mayCount(i, s, key, g, &w)
}

// mayCount reports whether a combination of versions has the number of rows that a statement returned.
func (r *run) mayCount(i int, s *statement, key any, g int, w *version) bool {
	least, most := 0, 0
	for n := range 3 {
		k, seen := keyOf(s.table, n), (*version)(nil)
		if k == key {
			seen = w
		}
		a, b := r.mayFind(i, s, k, g, seen)
		least, most = least+a, most+b
	}
	return least <= s.count && s.count <= most
}

// mayFind returns whether a statement finds a row in all combinations of its versions (least is 1), and
// in some (most is 1). seen is the version of group g, if it is not nil.
func (r *run) mayFind(i int, s *statement, key any, g int, seen *version) (least, most int) {
	rows := []schema.Row{{Key: []any{key}, Groups: make([][]any, len(tables[s.table].Groups))}}
	least = 1
	for _, group := range s.decisive() {
		list := r.versions(s.table, key, group)
		if own, wrote := r.txns[i].own(s, key, group); wrote {
			list = []version{own}
		}
		if group == g && seen != nil {
			list = []version{*seen}
		}
		var more []schema.Row
		for _, row := range rows {
			for _, v := range list {
				if !v.exists {
					least = 0
					continue
				}
				next := schema.Row{Key: row.Key, Groups: slices.Clone(row.Groups)}
				next.Groups[group] = v.content
				more = append(more, next)
			}
		}
		rows = more
	}
	var last *schema.Row
	for n := range s.rows {
		if last == nil || before(s, last, &s.rows[n]) {
			last = &s.rows[n]
		}
	}
	full := s.where.Limit > 0 && len(s.rows) >= s.where.Limit
	for n := range rows {
		if s.where.Matches(tables[s.table], rows[n]) && (!full || before(s, &rows[n], last)) {
			most = 1
		} else {
			least = 0
		}
	}
	return least, most
}

// TestLongRuns judges runs that are too long for the oracle: what a check finds in one round must not
// contradict what it found in another, and proofs must hold.
func TestLongRuns(t *testing.T) {
	n := randhist.Count(t, 20_000) / 20
	seed := randhist.Seed(t, rand.Uint64())
	for _, lvl := range (polygraph.Engine{}).Levels() {
		rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
		count := map[verdict.Verdict]int{}
		for range n {
			r := newRunOf(rng, lvl, 6+rng.IntN(10))
			x, rest := settle(t, r.history(t), 0, lvl)
			opt := checker.Options{Certify: true}
			if rest != nil {
				opt.Agree, opt.Decided = rest.Decide, rest.Settled
			}
			res, err := checker.Check(t.Context(), x, lvl, opt)
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, r.text(t))
			}
			count[res.Verdict]++
		}
		t.Logf("seed %d, %s: %v", seed, lvl, count)
		if (count[verdict.Satisfied] < n/20 || count[verdict.Violated] < n/20) && !randhist.Few(t) {
			t.Errorf("%s: %v; the test is about one side only", lvl, count)
		}
	}
}
