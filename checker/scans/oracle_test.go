package scans_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/replay"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/randhist"
)

// TestAgainstOracle compares verdicts on histories with scans with the trial of every execution.
// The trial evaluates each scan on the rows that its transaction sees. It knows nothing of reads of
// items or of classes. ISOHOUND_HISTORIES sets five times how many histories per level.
func TestAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 25_000) / 5
	for _, lvl := range (polygraph.Engine{}).Levels() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[verdict.Verdict]int{}
			chosen := map[verdict.Verdict]int{} // found by trying choices
			onDemand, settled, guessed, replayed := 0, 0, 0, 0
			byScans := 0 // violated, but satisfied without the judgement of scans
			distinct, byVersions := 0, 0
			for range n {
				r := newRun(rng, lvl)
				for lvl == level.PC && r.deletes() {
					r = newRun(rng, lvl)
				}
				h := r.history(t)
				x, rest := settle(t, h, 1<<30, lvl)
				if x.Scans != nil && x.Scans.Judged != x.Scans.Scans {
					t.Fatalf("seed %d: %+v\n%s", seed, x.Scans, r.text(t))
				}
				check := func(x *history.History, rest *scans.Rest) (*verdict.Result, bool) {
					alone, opt := true, checker.Options{Certify: true}
					if rest != nil {
						opt.Agree = func(ctx context.Context, h *history.History, r *verdict.Result) (_ bool, err error) {
							alone, err = rest.Decide(ctx, h, r)
							return alone, err
						}
					}
					res, err := checker.Check(t.Context(), x, lvl, opt)
					if err != nil {
						t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, r.text(t))
					}
					return res, alone
				}
				got, alone := check(x, rest)
				if !alone {
					chosen[got.Verdict]++
				}
				if x.Count().Committed == 0 {
					continue // nothing to judge
				}
				count[got.Verdict]++
				if allowed := r.allowed(lvl); allowed != (got.Verdict == verdict.Satisfied) {
					t.Fatalf("seed %d, %s: engine says %s, oracle says allowed=%v\n%s", seed, lvl, got.Verdict, allowed, r.text(t))
				}
				if guess, rest, err := scans.Execute(t.Context(), h, []level.Level{lvl}); err != nil {
					t.Fatal(err)
				} else if rest != nil {
					guessed++
					if err := certify.Result(t.Context(), guess, rest.Settled(lvl)); err != nil || got.Verdict != verdict.Satisfied {
						t.Fatalf("seed %d, %s: %s, but guessed; %v\n%s", seed, lvl, got.Verdict, err, r.text(t))
					}
				}
				if err := certify.Result(t.Context(), x, got); err != nil || !got.Certified {
					t.Fatalf("seed %d, %s: proof of %s, certified %v: %v\n%s", seed, lvl, got.Verdict, got.Certified, err, r.text(t))
				}
				if alone && lvl.Search() {
					base, err := checker.Check(t.Context(), x, lvl, checker.Options{Engine: "baseline"})
					if err != nil || base.Verdict != got.Verdict {
						t.Fatalf("seed %d, %s: %s, but the baseline engine: %+v, %v\n%s", seed, lvl, got.Verdict, base, err, r.text(t))
					}
				}
				claimed := h
				if rng.IntN(2) == 0 { // the order that a database claims, true or not, changes nothing
					claimed = randhist.Claimed(rng, h)
				}
				lazy, rest := settle(t, claimed, rng.IntN(3), lvl, level.All()[rng.IntN(6)])
				if rest != nil && rest.Settled(lvl) != nil {
					settled++
					if err := certify.Result(t.Context(), lazy, rest.Settled(lvl)); err != nil || got.Verdict != verdict.Satisfied {
						t.Fatalf("seed %d, %s: %s, but settled; %v\n%s", seed, lvl, got.Verdict, err, r.text(t))
					}
				}
				if later, _ := check(lazy, rest); later.Verdict != got.Verdict || !later.Certified {
					t.Fatalf("seed %d, %s: %s, but on demand: %+v\n%s", seed, lvl, got.Verdict, later, r.text(t))
				} else if rest != nil {
					if onDemand++; later.Engine == replay.Name {
						replayed++
					}
					if lazy.Scans.Judged != lazy.Scans.Scans {
						t.Fatalf("seed %d: %+v\n%s", seed, lazy.Scans, r.text(t))
					}
					if later.Verdict == verdict.Satisfied {
						if fits, err := rest.Fits(t.Context(), lazy, later.Witness); err != nil || !fits {
							t.Fatalf("seed %d: %v, %v\n%s", seed, fits, err, r.text(t))
						}
					}
				}
				// Versions of reads can only forbid executions. All ways to judge the scans agree about them.
				if v := randhist.Versions(rng, randhist.Claimed(rng, h)).ByVersion(); v.Distinct() {
					distinct++
					all, rest := settle(t, v, 1<<30, lvl)
					eager, _ := check(all, rest)
					some, rest := settle(t, v, rng.IntN(3), lvl)
					later, _ := check(some, rest)
					if eager.Verdict != later.Verdict || got.Verdict == verdict.Violated && eager.Verdict != verdict.Violated || !eager.Certified || !later.Certified {
						t.Fatalf("seed %d, %s: %s by values, %s by versions, %s on demand\n%s", seed, lvl, got.Verdict, eager.Verdict, later.Verdict, r.text(t))
					}
					if eager.Verdict != got.Verdict {
						byVersions++
					}
				}
				if got.Verdict == verdict.Violated {
					if bare, err := checker.Check(t.Context(), h, lvl, checker.Options{}); err != nil {
						t.Fatal(err)
					} else if bare.Verdict == verdict.Satisfied {
						byScans++
					}
				}
			}
			t.Logf("seed %d: %d with versions of reads, %d of them violated by these alone", seed, distinct, byVersions)
			if distinct < n/20 || byVersions < n/200 {
				t.Error("versions of reads decide nothing")
			}
			t.Logf("seed %d: %v, %d violated by scans alone, %d on demand, %d settled, %d guessed, %d replayed, by choices %v", seed, count, byScans, onDemand, settled, guessed, replayed, chosen)
			if n >= 5000 && len(chosen) == 0 {
				t.Errorf("%v by choices; the generator does not test choices", chosen)
			}
			if count[verdict.Satisfied] < n/10 || count[verdict.Violated] < n/10 || byScans < n/20 || onDemand < n/3 || settled < n/20 || guessed < count[verdict.Satisfied]*3/4 || replayed < n/100 {
				t.Errorf("%v of %d histories, %d violated by scans alone; the generator tests one side only", count, n, byScans)
			}
		})
	}
}

var tables = schema.Schema{
	{Name: "t", Key: schema.Ints("k"), Groups: []schema.Group{{Columns: schema.Ints("v")}}},
	{Name: "u", Key: schema.Texts("k"), Groups: []schema.Group{
		{Name: "a", Columns: []schema.Column{{Name: "x", Type: schema.Int, Null: true}, {Name: "y", Type: schema.Text}}},
		{Name: "b", Columns: schema.Ints("z")}}},
}

// statement is one statement of a transaction and what it returned.
type statement struct {
	kind  string // get, set, insert, delete, scan, update, count, remove
	table int
	key   any
	group int
	to    []any      // what set and update write
	row   schema.Row // what get and set read, what insert writes
	found bool       // of get
	where schema.Predicate
	rows  []schema.Row // what a scan returned; the keys that an update changed or a removal deleted
	count int
}

type transaction struct {
	session    int64
	status     history.Status
	begin, end int64
	statements []statement
}

// state has the rows of each table by key.
type state [2]map[any]schema.Row

func (s state) clone() state {
	var out state
	for i := range s {
		out[i] = map[any]schema.Row{}
		for k, r := range s[i] {
			out[i][k] = schema.Row{Key: r.Key, Groups: slices.Clone(r.Groups)}
		}
	}
	return out
}

// apply applies what a statement wrote.
func (s state) apply(x *statement) {
	switch x.kind {
	case "set":
		if r, ok := s[x.table][x.key]; ok {
			r.Groups[x.group] = x.to
		}
	case "insert":
		s[x.table][x.key] = schema.Row{Key: x.row.Key, Groups: slices.Clone(x.row.Groups)}
	case "delete":
		delete(s[x.table], x.key)
	case "update":
		for _, r := range x.rows {
			if mine, ok := s[x.table][r.Key[0]]; ok {
				mine.Groups[x.group] = x.to
			}
		}
	case "remove":
		for _, r := range x.rows {
			delete(s[x.table], r.Key[0])
		}
	}
}

// selects returns the rows that fulfil the conditions, in order.
func (s state) selects(x *statement) []schema.Row {
	var rows []schema.Row
	for _, r := range s[x.table] {
		if x.where.Matches(tables[x.table], r) {
			rows = append(rows, schema.Row{Key: r.Key, Groups: slices.Clone(r.Groups)})
		}
	}
	p := x.where
	p.Limit = 0
	return p.Arrange(tables[x.table], rows)
}

// sees reports whether a statement may have returned what it did on these rows.
func (s state) sees(x *statement) bool {
	switch x.kind {
	case "get", "set":
		r, ok := s[x.table][x.key]
		return ok == x.found && (!ok || fmt.Sprint(r.Groups[x.group]) == fmt.Sprint(x.row.Groups[x.group]))
	case "insert", "delete": // recorded as writes alone
		return true
	case "count":
		return len(s.selects(x)) == x.count
	case "scan", "update", "remove":
		want := s.selects(x)
		if x.kind == "scan" && x.where.Limit > 0 && len(x.rows) > x.where.Limit {
			return false
		}
		for i := 1; i < len(x.rows) && x.kind == "scan"; i++ {
			if before(x, &x.rows[i], &x.rows[i-1]) {
				return false
			}
		}
		full := x.where.Limit > 0 && len(x.rows) >= x.where.Limit
		var last *schema.Row
		for i := range x.rows {
			r := &x.rows[i]
			at := slices.IndexFunc(want, func(w schema.Row) bool { return w.Key[0] == r.Key[0] })
			if at < 0 || x.kind == "scan" && fmt.Sprint(want[at].Groups) != fmt.Sprint(r.Groups) {
				return false
			}
			if last == nil || before(x, last, r) {
				last = r
			}
		}
		for i := range want {
			w := &want[i]
			if !slices.ContainsFunc(x.rows, func(r schema.Row) bool { return w.Key[0] == r.Key[0] }) && (!full || before(x, w, last)) {
				return false
			}
		}
	}
	return true
}

// before reports whether a sorts strictly before b in the order of a scan.
func before(x *statement, a, b *schema.Row) bool {
	for _, name := range x.where.Order {
		down := name[0] == '-'
		if down {
			name = name[1:]
		}
		v, _ := tables[x.table].Value(*a, name)
		w, _ := tables[x.table].Value(*b, name)
		if c := schema.Compare(v, w); c != 0 {
			return (c < 0) != down
		}
	}
	return false
}

// run is a history in the terms of the oracle.
type run struct {
	initial state
	txns    []transaction
}

func keyOf(table, n int) any {
	if table == 0 {
		return int64(n)
	}
	return string(rune('a'+n)) + "'"
}

func content(rng *rand.Rand, table, group int) []any {
	n := int64(rng.IntN(4))
	if table == 1 && group == 0 {
		var x any = n % 2
		if n == 3 {
			x = nil
		}
		return []any{x, []string{"", "p", "q,"}[rng.IntN(3)]}
	}
	return []any{n}
}

func newRow(rng *rand.Rand, table int, key any) schema.Row {
	r := schema.Row{Key: []any{key}}
	for g := range tables[table].Groups {
		r.Groups = append(r.Groups, content(rng, table, g))
	}
	return r
}

// newRun runs transactions one after another, some of them on an older state than the latest one,
// and changes some results.
func newRun(rng *rand.Rand, lvl level.Level) *run { return newRunOf(rng, lvl, 2+rng.IntN(3)) }

// newRunOf makes a run of n transactions.
func newRunOf(rng *rand.Rand, lvl level.Level, n int) *run {
	return newRunWith(rng, lvl, n, newStatement, 0)
}

// newRunWith makes a run of n transactions with the statements that next makes. If torn is not 0, one in torn
// statements sees another state than its transaction.
func newRunWith(rng *rand.Rand, lvl level.Level, n int, next func(rng *rand.Rand, one int, view state) statement, torn int) *run {
	r := &run{}
	for i := range r.initial {
		r.initial[i] = map[any]schema.Row{}
		for n := range 3 {
			if rng.IntN(2) == 0 {
				k := keyOf(i, n)
				r.initial[i][k] = newRow(rng, i, k)
			}
		}
	}
	states := []state{r.initial}
	one := rng.IntN(2) // most statements are on one table
	for i := range n {
		x := transaction{session: int64(rng.IntN(n)), status: history.Committed, begin: history.NoTime, end: history.NoTime}
		if rng.IntN(8) == 0 {
			x.status = []history.Status{history.Unknown, history.Aborted}[rng.IntN(2)]
		}
		if lvl.RealTime() && x.status == history.Committed {
			x.begin, x.end = int64(10*i+10-rng.IntN(12)), int64(10*i+10+rng.IntN(12))
		}
		latest := states[len(states)-1]
		view, after := states[max(0, len(states)-1-rng.IntN(3)/2*rng.IntN(3))].clone(), latest.clone()
		for range 1 + rng.IntN(3) {
			sees := view
			if torn > 0 && rng.IntN(torn) == 0 {
				sees = states[rng.IntN(len(states))].clone()
				for i := range x.statements {
					sees.apply(&x.statements[i])
				}
			}
			s := next(rng, one, sees)
			view.apply(&s)
			after.apply(&s)
			x.statements = append(x.statements, s)
		}
		r.txns = append(r.txns, x)
		if x.status == history.Committed || x.status == history.Unknown && rng.IntN(2) == 0 {
			states = append(states, after)
		}
	}
	if lvl.RealTime() {
		r.apart()
	}
	return r
}

// apart makes transactions of one session not overlap.
func (r *run) apart() {
	end := map[int64]int64{}
	for i := range r.txns {
		x := &r.txns[i]
		if x.begin == history.NoTime {
			continue
		}
		x.begin = max(x.begin, end[x.session])
		x.end = max(x.end, x.begin)
		end[x.session] = x.end
	}
}

func newStatement(rng *rand.Rand, one int, view state) statement {
	s := statement{table: one}
	if rng.IntN(5) == 0 {
		s.table = 1 - one
	}
	t := tables[s.table]
	s.key, s.group = keyOf(s.table, rng.IntN(3)), rng.IntN(len(t.Groups))
	old, exists := view[s.table][s.key]
	old.Groups = slices.Clone(old.Groups)
	switch kind := rng.IntN(10); {
	case kind == 0:
		s.kind, s.row, s.found = "get", old, exists
		if rng.IntN(10) == 0 && exists {
			s.row = newRow(rng, s.table, s.key)
		}
	case kind < 3 && exists:
		s.kind, s.row, s.found, s.to = "set", old, true, content(rng, s.table, s.group)
	case kind < 4 && exists:
		s.kind = "delete"
	case kind < 5:
		s.kind, s.row = "insert", newRow(rng, s.table, s.key)
	default:
		s.scan(rng, view, kind > 8)
	}
	return s
}

// scan makes s a scan or an update with conditions.
func (s *statement) scan(rng *rand.Rand, view state, update bool) {
	t := tables[s.table]
	group := rng.IntN(len(t.Groups)) // of the conditions
	columns := append(slices.Clone(t.Groups[group].Columns), t.Key...)
	if len(t.Groups) > 1 && rng.IntN(4) > 0 {
		columns = append(columns, t.Groups[1-group].Columns...)
	}
	for range rng.IntN(3) {
		c := columns[rng.IntN(len(columns))]
		s.where.Where = append(s.where.Where, condition(rng, s.table, &c))
	}
	switch s.kind = "scan"; {
	case update && rng.IntN(3) == 0:
		s.kind = "remove"
	case update:
		s.kind, s.to = "update", content(rng, s.table, s.group)
	case rng.IntN(3) == 0:
		s.kind = "count"
		if s.count = len(view.selects(s)); rng.IntN(8) == 0 {
			s.count = max(0, s.count-1+rng.IntN(3))
		}
		return
	case rng.IntN(3) == 0:
		if rng.IntN(4) > 0 {
			s.where.Limit = 1 + rng.IntN(2)
		}
		if c := columns[rng.IntN(len(columns))]; rng.IntN(4) > 0 && !c.Null {
			s.where.Order = []string{[]string{"", "-"}[rng.IntN(2)] + c.Name}
		}
	}
	s.rows = view.selects(s)
	if n := len(s.rows); n > 1 && rng.IntN(20) == 0 {
		s.rows[0], s.rows[n-1] = s.rows[n-1], s.rows[0]
	}
	switch rng.IntN(14) {
	case 0:
		if n := len(s.rows); n > 0 {
			i := rng.IntN(n)
			s.rows = slices.Delete(s.rows, i, i+1)
		}
	case 1:
		k := keyOf(s.table, rng.IntN(3))
		if !slices.ContainsFunc(s.rows, func(r schema.Row) bool { return r.Key[0] == k }) {
			s.rows = append(s.rows, newRow(rng, s.table, k))
		}
	}
	if s.where.Limit > 0 && len(s.rows) > s.where.Limit && rng.IntN(20) > 0 {
		s.rows = s.rows[:s.where.Limit]
	}
}

// condition makes a condition on a column.
func condition(rng *rand.Rand, table int, c *schema.Column) schema.Condition {
	value := func() any {
		switch {
		case c.Name == "k":
			return keyOf(table, rng.IntN(3))
		case c.Type == schema.Text:
			return []string{"", "p", "q,"}[rng.IntN(3)]
		}
		return int64(rng.IntN(4))
	}
	out := schema.Condition{Column: c.Name, Op: schema.Comparisons[rng.IntN(len(schema.Comparisons))]}
	switch out.Op {
	case "in":
		list := []any{}
		for range rng.IntN(3) {
			list = append(list, value())
		}
		out.Value = list
	case "between":
		out.Value = []any{value(), value()}
	case "is-null", "is-not-null":
	case "like-prefix":
		if c.Type == schema.Int {
			return schema.IsNotNull(c.Name)
		}
		out.Value = []any{"", "p", "q", "a"}[rng.IntN(4)]
	default:
		out.Value = value()
	}
	return out
}

// history writes the run as isohound records it.
func (r *run) history(t *testing.T) *history.History {
	sym := history.NewSymbols()
	item := func(table int, key any, g int) history.Key { return sym.Key(tables[table].Item([]any{key}, g)) }
	value := func(content []any) history.Value {
		text, n, isNumber := schema.Content(content)
		if isNumber {
			return sym.Int(n)
		}
		return sym.String(text)
	}
	for i, rows := range r.initial {
		for n := range 3 {
			if row, ok := rows[keyOf(i, n)]; ok {
				for g := range row.Groups {
					sym.SetInitial(item(i, row.Key[0], g), value(row.Groups[g]))
				}
			}
		}
	}
	b := history.NewBuilder(history.Header{Schema: tables}, sym, len(r.txns))
	for i := range r.txns {
		x := &r.txns[i]
		rec := history.Record{ID: int64(i + 1), Session: x.session, Status: x.status, Begin: x.begin, End: x.end}
		add := func(kind history.OpKind, table int, key any, g int, v history.Value) {
			rec.Ops = append(rec.Ops, history.Op{Kind: kind, Key: item(table, key, g), Value: v})
		}
		for n := range x.statements {
			s := &x.statements[n]
			switch s.kind {
			case "get":
				v := history.Absent
				if s.found {
					v = value(s.row.Groups[s.group])
				}
				add(history.Read, s.table, s.key, s.group, v)
			case "set":
				add(history.Read, s.table, s.key, s.group, value(s.row.Groups[s.group]))
				add(history.Write, s.table, s.key, s.group, value(s.to))
			case "insert", "delete":
				for g := range tables[s.table].Groups {
					v := history.Absent
					if s.kind == "insert" {
						v = value(s.row.Groups[g])
					}
					add(history.Write, s.table, s.key, g, v)
				}
			default:
				p := history.Predicate{Statement: &history.Statement{Kind: history.ScanRead, Table: tables[s.table].Name, Predicate: s.where}, Ops: [2]int{len(rec.Ops), 0}, Count: s.count}
				if kind := map[string]string{"count": history.ScanCount, "update": history.ScanUpdate, "remove": history.ScanDelete}[s.kind]; kind != "" {
					p.Kind = kind
				}
				for _, row := range s.rows {
					if s.kind == "update" {
						add(history.Write, s.table, row.Key[0], s.group, value(s.to))
						continue
					}
					for g := range row.Groups {
						if s.kind == "remove" {
							add(history.Write, s.table, row.Key[0], g, history.Absent)
							continue
						}
						add(history.Read, s.table, row.Key[0], g, value(row.Groups[g]))
					}
				}
				p.Ops[1] = len(rec.Ops)
				for _, g := range tables[s.table].Groups {
					if g.Name != "" && s.kind != "count" && (s.kind != "update" || g.Name == tables[s.table].Groups[s.group].Name) {
						p.Groups = append(p.Groups, g.Name)
					}
				}
				rec.Predicates = append(rec.Predicates, p)
			}
		}
		if err := b.Add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	return b.Done(true, nil)
}

func (r *run) text(t *testing.T) string {
	var out bytes.Buffer
	h := r.history(t)
	w, err := native.NewWriter(&out, false, &h.Header, h.Symbols)
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.Txns {
		rec := h.Record(i)
		if err := w.Write(&rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(true, "complete"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
