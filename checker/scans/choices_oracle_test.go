package scans_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/history/schema"
	"github.com/isohound/isohound/internal/randhist"
)

// choosing makes statements of which many leave a choice: counts, and conditions on several groups.
func choosing(rng *rand.Rand, one int, view state) statement {
	s := statement{table: one}
	if rng.IntN(6) == 0 {
		s.table = 1 - one
	}
	t := tables[s.table]
	s.key, s.group = keyOf(s.table, rng.IntN(3)), rng.IntN(len(t.Groups))
	old, exists := view[s.table][s.key]
	old.Groups = slices.Clone(old.Groups)
	switch kind := rng.IntN(20); {
	case kind < 4:
		s.kind, s.row, s.found = "get", old, exists
	case kind < 8 && exists:
		s.kind, s.row, s.found, s.to = "set", old, true, content(rng, s.table, s.group)
	case kind < 9 && exists:
		s.kind = "delete"
	case kind < 11:
		s.kind, s.row = "insert", newRow(rng, s.table, s.key)
	case kind < 12:
		return newStatement(rng, one, view)
	default:
		for g := range t.Groups {
			c := t.Groups[g].Columns[0]
			if rng.IntN(5) > 0 {
				s.where.Where = append(s.where.Where, schema.Condition{Column: c.Name, Op: []string{">", ">=", "<>", "<"}[rng.IntN(4)], Value: int64(rng.IntN(3))})
			}
		}
		if rng.IntN(3) == 0 {
			s.kind, s.rows = "scan", view.selects(&s)
		} else {
			s.kind, s.count = "count", len(view.selects(&s))
		}
	}
	return s
}

// TestChoicesAgainstOracle compares verdicts on histories whose scans leave choices with the trial of every
// execution. Every verdict has a proof, and every violation found by choices a counterexample that another trial
// judges: it is violated, closed, and minimal. ISOHOUND_HISTORIES sets five times how many histories per level.
func TestChoicesAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 15_000) / 5
	for _, lvl := range (polygraph.Engine{}).Levels() {
		t.Run(lvl.String(), func(t *testing.T) {
			t.Parallel()
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			chosen, proved, named := map[verdict.Verdict]int{}, 0, map[string]int{}
			for range n {
				r := newRunWith(rng, lvl, 3+rng.IntN(3), choosing, 3)
				for lvl == level.PC && r.deletes() {
					r = newRunWith(rng, lvl, 3+rng.IntN(3), choosing, 3)
				}
				x, rest := settle(t, r.history(t), []int{1 << 30, 0}[rng.IntN(2)], lvl)
				alone, opt := true, checker.Options{Certify: true}
				if rest != nil {
					opt.Agree = agreeing(rest, &alone)
				}
				got, err := checker.Check(t.Context(), x, lvl, opt)
				if err != nil {
					t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, r.text(t))
				}
				if x.Count().Committed == 0 {
					continue // nothing to judge
				}
				if allowed := r.allowed(lvl); allowed != (got.Verdict == verdict.Satisfied) || !got.Certified {
					t.Fatalf("seed %d, %s: engine says %s (%s), certified %v, oracle says allowed=%v\n%s", seed, lvl, got.Verdict, got.Reason, got.Certified, allowed, r.text(t))
				}
				if !alone {
					chosen[got.Verdict]++
				}
				if got.Verdict != verdict.Violated {
					continue
				}
				if got.Anomalies[0].Kind == verdict.NoChoice {
					proved++
					damaged(t, rng, x, got)
				} else if rng.IntN(4) > 0 {
					continue
				}
				c, err := counterexample.Of(t.Context(), x, lvl, &got.Anomalies[0], counterexample.Options{Timeout: time.Minute})
				if err != nil {
					t.Fatalf("seed %d, %s: %v\n%s", seed, lvl, err, r.text(t))
				}
				if why := wrong(x, c); why != "" {
					t.Fatalf("seed %d, %s: the counterexample %s\n%sof\n%s", seed, lvl, why, written(t, c.History), r.text(t))
				}
				named[c.Anomaly.Name()]++
			}
			t.Logf("seed %d: by choices %v, %d proved by cases; names %v", seed, chosen, proved, named)
			if n >= 3000 && (proved == 0 || chosen[verdict.Satisfied] == 0) {
				t.Errorf("by choices %v, %d of %d proved by cases; the generator does not test choices", chosen, proved, n)
			}
		})
	}
}

// damaged verifies that the certifier refuses a proof without one of its cases, unless the others suffice, or
// without its choices.
func damaged(t *testing.T, rng *rand.Rand, h *history.History, r *verdict.Result) {
	t.Helper()
	a := r.Anomalies[0]
	accepts := func(a verdict.Anomaly) bool {
		bad := *r
		bad.Anomalies = []verdict.Anomaly{a}
		return certify.Result(t.Context(), h, &bad) == nil
	}
	without := a
	at := rng.IntN(len(a.Cases))
	without.Cases = slices.Delete(slices.Clone(a.Cases), at, at+1)
	if got, want := accepts(without), covered(h, &without, nil, 0); got != want {
		t.Fatalf("a proof without case %d: accepted %v, want %v\n%s", at, got, want, written(t, h))
	}
	without = a
	if without.Choices = nil; accepts(without) {
		t.Fatalf("a proof is accepted without choices\n%s", written(t, h))
	}
}

// covered reports whether each way to choose contains a case. assumed is what was chosen from the first n
// choices.
func covered(h *history.History, a *verdict.Anomaly, assumed []history.Assumed, n int) bool {
	if n == len(a.Choices) {
		return slices.ContainsFunc(a.Cases, func(x verdict.Case) bool {
			return !slices.ContainsFunc(x.Assumed, func(y history.Assumed) bool {
				return slices.ContainsFunc(y.Seen, func(s history.Seen) bool {
					return !slices.ContainsFunc(assumed, func(z history.Assumed) bool { return z.ScanRef == y.ScanRef && slices.ContainsFunc(z.Seen, s.Equal) })
				})
			})
		})
	}
	for _, list := range h.Choice(a.Choices[n]) {
		if !covered(h, a, append(assumed[:n:n], history.Assumed{ScanRef: a.Choices[n].Scan(), Seen: list}), n+1) {
			return false
		}
	}
	return true
}

// wrong says what is wrong with a counterexample: it is allowed, not closed, or not minimal.
func wrong(h *history.History, c *counterexample.Counterexample) string {
	if c.Anomaly.Name() == "" || !c.Minimal {
		return "is not minimal"
	}
	if small(c.History, c.Weakest) {
		return "is no violation"
	}
	if why := notClosed(h, c.History); why != "" {
		return "is not closed: " + why
	}
	if c.ForName { // a smaller one has another name
		return ""
	}
	sub := c.History
	for i := range sub.Txns {
		without := whole(sub)
		without[i].keep = false
		if closeUp(sub, without); !small(part(sub, without), c.Weakest) {
			return fmt.Sprintf("does not need T%d", sub.Txns[i].ID)
		}
		for n := range sub.Ops(&sub.Txns[i]) {
			without := whole(sub)
			without[i].ops[n] = false
			if closeUp(sub, without); !small(part(sub, without), c.Weakest) {
				return fmt.Sprintf("does not need operation %d of T%d", n, sub.Txns[i].ID)
			}
		}
		for n := range without[i].choices {
			without := whole(sub)
			without[i].choices[n] = false
			if closeUp(sub, without); !small(part(sub, without), c.Weakest) {
				return fmt.Sprintf("does not need choice %d of T%d", n, sub.Txns[i].ID)
			}
		}
	}
	return ""
}

// kept is what is kept of a transaction.
type kept struct {
	keep    bool
	ops     []bool
	choices []bool
	refs    []history.ChoiceRef
}

func whole(h *history.History) []kept {
	out := make([]kept, len(h.Txns))
	for i := range out {
		out[i].keep, out[i].ops = true, make([]bool, h.Txns[i].OpCount())
		for n := range out[i].ops {
			out[i].ops[n] = true
		}
	}
	for _, r := range h.AllChoices() {
		out[r.Txn].choices, out[r.Txn].refs = append(out[r.Txn].choices, true), append(out[r.Txn].refs, r)
	}
	return out
}

func part(h *history.History, list []kept) *history.History {
	var parts []history.Part
	for i := range list {
		if !list[i].keep {
			continue
		}
		p := history.Part{Txn: int32(i)}
		for n, in := range list[i].ops {
			if in {
				p.Ops = append(p.Ops, n)
			}
		}
		for n, in := range list[i].choices {
			if in {
				p.Choices = append(p.Choices, list[i].refs[n])
			}
		}
		parts = append(parts, p)
	}
	return h.Extract(parts)
}

// closeUp removes, until nothing changes, what needs a write that is not kept.
func closeUp(h *history.History, list []kept) {
	missing := func(reader int, op history.Op) bool {
		for i := range list {
			for n, w := range h.Ops(&h.Txns[i]) {
				if w.Kind == history.Write && w.Key == op.Key && (w.Value == op.Value) == (op.Kind == history.Read) && !(list[i].keep && list[i].ops[n]) {
					return true
				}
			}
		}
		return false
	}
	for changed := true; changed; {
		changed = false
		for i := range list {
			x := &list[i]
			ops := h.Ops(&h.Txns[i])
			left := false
			for n, op := range ops {
				if x.ops[n] && (!x.keep || op.Kind != history.Write && missing(i, op) || own(ops, x, n)) {
					x.ops[n], changed = false, true
				}
				left = left || x.ops[n]
			}
			for n, in := range x.choices {
				for _, alternative := range h.Choice(x.refs[n]) {
					for s := range alternative {
						if in = in && x.keep && !missing(i, h.Op(&alternative[s])); !in && x.choices[n] {
							x.choices[n], changed = false, true
						}
					}
				}
				left = left || x.choices[n]
			}
			if x.keep && !left {
				x.keep, changed = false, true
			}
		}
	}
}

// own reports whether operation n reads a write of its own transaction that is not kept, or is a write whose
// successor on its key is not kept.
func own(ops []history.Op, x *kept, n int) bool {
	latest := -1
	for m, op := range ops {
		if op.Key != ops[n].Key || op.Kind != history.Write {
			continue
		}
		if m < n {
			latest = m
		} else if m > n && ops[n].Kind == history.Write && !x.ops[m] {
			return true
		}
	}
	return ops[n].Kind != history.Write && latest >= 0 && !x.ops[latest]
}

// notClosed says which write is missing in a sub-history.
func notClosed(h, sub *history.History) string {
	has := map[string]bool{}
	for i := range sub.Txns {
		for _, op := range sub.Ops(&sub.Txns[i]) {
			has[fmt.Sprint(sub.Txns[i].ID, op.Kind, sub.KeyName(op.Key), sub.ValueText(op.Value))] = true
		}
	}
	needs := func(reader int64, op history.Op) string {
		for i := range h.Txns {
			t := &h.Txns[i]
			if t.Status == history.Aborted || t.ID == reader {
				continue
			}
			for _, w := range h.Ops(t) {
				same := h.ValueText(w.Value) == sub.ValueText(op.Value)
				if w.Kind == history.Write && h.KeyName(w.Key) == sub.KeyName(op.Key) && same == (op.Kind == history.Read) && !has[fmt.Sprint(t.ID, w.Kind, h.KeyName(w.Key), h.ValueText(w.Value))] {
					return fmt.Sprintf("T%d wrote %s = %s", t.ID, h.KeyName(w.Key), h.ValueText(w.Value))
				}
			}
		}
		return ""
	}
	for i := range sub.Txns {
		for _, op := range sub.Ops(&sub.Txns[i]) {
			if op.Kind != history.Write {
				if why := needs(sub.Txns[i].ID, op); why != "" {
					return why
				}
			}
		}
	}
	for _, r := range sub.AllChoices() {
		for _, list := range sub.Choice(r) {
			for n := range list {
				if why := needs(sub.Txns[r.Txn].ID, sub.Op(&list[n])); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// agreeing is Options.Agree of the scans of a history. It notes whether the verdict stayed the same.
func agreeing(rest *scans.Rest, same *bool) func(context.Context, *history.History, *verdict.Result) (bool, error) {
	return func(ctx context.Context, h *history.History, r *verdict.Result) (_ bool, err error) {
		*same, err = rest.Decide(ctx, h, r)
		return *same, err
	}
}

// written writes a history in the native format.
func written(t *testing.T, h *history.History) string {
	var out bytes.Buffer
	if err := native.WritePlain(&out, h, "counterexample"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
