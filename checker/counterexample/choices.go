package counterexample

import (
	"context"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/settled"
	"github.com/isohound/isohound/checker/shrink"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// seedChoices returns the closed part that an anomaly of kind NoChoice names: its choices, and what its cases
// need beside their assumptions.
func seedChoices(h *history.History, lvl level.Level, a *verdict.Anomaly) *cut {
	c := &cut{Part: shrink.New(h, shrink.Rules{Level: lvl}), h: h, lvl: lvl}
	for _, r := range a.Choices {
		c.AddChoice(r)
	}
	for n := range a.Cases {
		x := &a.Cases[n]
		with := h.Assume(x.Assumed)
		for _, part := range seed(with, lvl, &x.Anomaly).Parts() {
			c.Add(part.Txn)
			for _, op := range part.Ops {
				if before, ok := withoutAssumptions(h, with, x.Assumed, int(part.Txn), op); ok {
					c.Add(part.Txn, before)
				}
			}
		}
	}
	c.Close()
	return c
}

// withoutAssumptions returns the number in h of an operation of with, which is h with assumptions. ok is false
// if the operation is assumed.
func withoutAssumptions(h, with *history.History, assumed []history.Assumed, txn, op int) (before int, ok bool) {
	shift := 0
	for n, p := range with.Predicates(txn) {
		if op < p.Ops[0] {
			break
		}
		for i := range assumed {
			if assumed[i].Txn == txn && assumed[i].Number == n && op < p.Ops[0]+len(assumed[i].Seen) {
				return 0, false
			}
		}
		shift = h.Predicates(txn)[n].Ops[1] - p.Ops[1]
	}
	return op + shift, true
}

// errOpen says that the part of a violation by choices was not decided again.
var errOpen = errors.New("the choices of the counterexample were not decided in time")

// check is checker.Check for a history that may have choices.
func check(ctx context.Context, h *history.History, lvl level.Level, opt checker.Options) (*verdict.Result, error) {
	if len(h.AllChoices()) == 0 {
		return checker.Check(ctx, h, lvl, opt)
	}
	x, err := settled.Of(ctx, h, lvl, opt.Timeout)
	if err != nil {
		return nil, err
	}
	if !x.OnDemand() {
		return &verdict.Result{Level: lvl, Reason: "the choices are not judged"}, nil
	}
	return x.Check(ctx, lvl, opt)
}

// chosen returns what an engine finds in the sub-history, if that has choices. The operations of the cases are
// those of the sub-history, so the anomaly has no cases. It returns nil if the engine finds none.
func (c *cut) chosen(ctx context.Context, lvl level.Level) (*verdict.Anomaly, error) {
	sub := c.history()
	r, err := check(ctx, sub, lvl, checker.Options{})
	if err != nil || len(r.Anomalies) == 0 {
		return nil, err
	}
	a := r.Anomalies[0]
	if a.Kind != verdict.NoChoice {
		explain.Fill(sub, lvl, &a)
		c.lift(sub, c.Parts(), &a)
		a.Refutation = nil
		return &a, nil
	}
	out := verdict.Anomaly{Kind: a.Kind, Names: a.Names, Text: a.Text, Count: 1}
	out.Txns = c.Txns()
	return &out, nil
}

// mostWays bounds the ways in which names looks at versions and choices.
const mostWays = 512

// names returns the names that a sub-history has whichever versions its statements saw of rows that they did
// not find, whoever wrote what they read, and whatever its choices were; see explain.Shared. Ways in which a
// transaction contradicts itself do not count. It returns nil if there are too many ways, or no statement with a
// condition.
func names(ctx context.Context, h *history.History, lvl level.Level) ([]string, error) {
	if !h.Closed || len(h.Txns) > smallTxns || !h.HasPredicates() {
		return nil, nil
	}
	var all [][]string
	left := mostWays
	err := eachWay(h, choicesOf(h), &left, func(h *history.History) error {
		return eachWay(h, versionsOf(h), &left, func(h *history.History) error {
			return eachSource(h, &left, func(way *history.History, was map[history.Value]history.Value) error {
				r, err := checker.Check(ctx, way, lvl, checker.Options{})
				if err == nil && len(r.Anomalies) == 0 {
					left = 0
				} else if err == nil {
					all = append(all, namesOf(h, lvl, &r.Anomalies[0], was))
				}
				return err
			})
		})
	})
	if err != nil || left <= 0 {
		return nil, err
	}
	return explain.Shared(all), nil
}

// eachWay calls f with the history in each way in which what is open can have been, unless that is contradictory.
// It stops when left becomes negative.
func eachWay(h *history.History, list []open, left *int, f func(*history.History) error) error {
	ways := 1
	for _, o := range list {
		if ways *= len(o.lists); ways > mostWays {
			*left = 0
			return nil
		}
	}
	for way := range ways {
		if *left--; *left <= 0 {
			return nil
		}
		var assumed []history.Assumed
		for _, o := range list {
			seen := o.lists[way%len(o.lists)]
			way /= len(o.lists)
			at := slices.IndexFunc(assumed, func(a history.Assumed) bool { return a.ScanRef == o.at })
			if at < 0 {
				at = len(assumed)
				assumed = append(assumed, history.Assumed{ScanRef: o.at})
			}
			for _, s := range seen {
				if !slices.ContainsFunc(assumed[at].Seen, s.Equal) {
					assumed[at].Seen = append(assumed[at].Seen, s)
				}
			}
		}
		if with := h.Assume(assumed); !contradictory(with) {
			if err := f(with); err != nil {
				return err
			}
		}
	}
	return nil
}

// open is something of which a statement saw one of several lists.
type open struct {
	at    history.ScanRef
	lists [][]history.Seen
}

func choicesOf(h *history.History) (out []open) {
	for _, r := range h.AllChoices() {
		out = append(out, open{r.Scan(), h.Choice(r)})
	}
	return out
}

// versionsOf returns the rows that statements did not find and of which they saw one of several versions.
func versionsOf(h *history.History) (out []open) {
	for i := range h.Txns {
		if h.Txns[i].Status == history.Aborted {
			continue
		}
		ops := h.Ops(&h.Txns[i])
		for n, p := range h.Predicates(i) {
			done := map[history.Key]bool{}
			for _, op := range ops[p.Ops[0] : p.Ops[0]+p.Implied] {
				if op.Kind != history.ReadNot || done[op.Key] {
					continue
				}
				done[op.Key] = true
				o := open{at: history.ScanRef{Txn: i, Number: n}}
				for _, v := range versions(h, i, op.Key) {
					if !slices.Contains(ops, history.Op{Kind: history.ReadNot, Key: op.Key, Value: v}) {
						o.lists = append(o.lists, []history.Seen{h.NewSeen(history.Op{Kind: history.Read, Key: op.Key, Value: v})})
					}
				}
				if len(o.lists) > 0 {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// versions lists the versions of a key that a transaction may see of others.
func versions(h *history.History, reader int, k history.Key) []history.Value {
	out := []history.Value{h.Initial(k)}
	for i := range h.Txns {
		if i == reader || h.Txns[i].Status == history.Aborted {
			continue
		}
		for _, op := range slices.Backward(h.Ops(&h.Txns[i])) {
			if op.Kind == history.Write && op.Key == k {
				if !slices.Contains(out, op.Value) {
					out = append(out, op.Value)
				}
				break
			}
		}
	}
	return out
}

// contradictory reports whether a transaction says of a key, before it writes it, what no version fulfils.
func contradictory(h *history.History) bool {
	for i := range h.Txns {
		wrote := map[history.Key]bool{}
		ops := h.Ops(&h.Txns[i])
		keys := map[history.Key]bool{}
		var outside []history.Op
		for _, op := range ops {
			if op.Kind == history.Write {
				wrote[op.Key] = true
			} else if !wrote[op.Key] {
				outside = append(outside, op)
				keys[op.Key] = true
			}
		}
		for k := range keys {
			if !slices.ContainsFunc(versions(h, i, k), func(v history.Value) bool {
				return !slices.ContainsFunc(outside, func(op history.Op) bool {
					return op.Key == k && (op.Value == v) != (op.Kind == history.Read)
				})
			}) {
				return true
			}
		}
	}
	return false
}
