package results

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/counterexample"
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/results/script"
)

// Standing says which of the checked levels a history violates and satisfies.
type Standing struct {
	// Not are the weakest violated levels, AlsoNot the stronger ones.
	Not     []string `json:"not"`
	AlsoNot []string `json:"also_not"`
	// Holds are the strongest levels that are satisfied.
	Holds []string `json:"holds"`
	// Undecided are levels that are not decided for lack of time, of memory or of information.
	Undecided []string `json:"undecided,omitempty"`
	// Text is a one-line summary.
	Text string `json:"text"`
}

// NewStanding has the names of the levels.
func NewStanding(s checker.Standing) *Standing {
	return &Standing{Not: checker.Names(s.Not), AlsoNot: checker.Names(s.AlsoNot), Holds: checker.Names(s.Holds), Undecided: checker.Names(s.Undecided), Text: s.String()}
}

// Counterexample is a closed sub-history that violates the level by itself.
type Counterexample struct {
	// Minimal says that every smaller closed sub-history satisfies the level. It is false if one violates it whose anomaly has another
	// name, and if time ran out.
	Minimal bool `json:"minimal"`
	// Standing says which levels the sub-history refutes.
	Standing *Standing `json:"standing"`
	// History is the sub-history in the notation of history/dsl. Statements with conditions that it
	// cannot express are comments.
	History string `json:"history"`
	// Sub is the sub-history itself. In JSON it is the text "native", in isohound's own native.
	Sub *history.History `json:"-"`
	// Whole has the same transactions with all their operations, if they have more and not very many. In JSON it is the
	// text "whole".
	Whole *history.History `json:"-"`
	// Reads are the write-read edges of its transactions that the cycle does not contain.
	Reads []Edge `json:"reads,omitempty"`
	// Around are transactions of the whole history that ran at the same time; More counts those
	// left out.
	Around []Txn `json:"around,omitempty"`
	More   int   `json:"more,omitempty"`
}

// withNative is how a counterexample has Sub in JSON: another process may write the reproduction of the run.
type withNative struct {
	*plainCounterexample
	Native string `json:"native,omitempty"`
	Whole  string `json:"whole,omitempty"`
}

// plainCounterexample has no methods.
type plainCounterexample Counterexample

// MarshalJSON implements json.Marshaler.
func (c *Counterexample) MarshalJSON() ([]byte, error) {
	n := withNative{plainCounterexample: (*plainCounterexample)(c)}
	for to, h := range map[*string]*history.History{&n.Native: c.Sub, &n.Whole: c.Whole} {
		if h == nil {
			continue
		}
		var b strings.Builder
		if err := native.WritePlain(&b, h, "part of a history"); err != nil {
			return nil, err
		}
		*to = b.String()
	}
	return json.Marshal(n)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Counterexample) UnmarshalJSON(b []byte) error {
	n := withNative{plainCounterexample: (*plainCounterexample)(c)}
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	for to, text := range map[**history.History]string{&c.Sub: n.Native, &c.Whole: n.Whole} {
		if text == "" {
			continue
		}
		src, err := native.NewReader(strings.NewReader(text), "counterexample", int64(len(text)))
		if err != nil {
			return err
		}
		if *to, err = history.Load(context.Background(), src); err != nil {
			return err
		}
	}
	return nil
}

// Explain adds the explanation x to a violated outcome on h: the standing of the history, and
// for each anomaly its counterexample. If there are counterexamples, their anomalies replace
// those of the outcome. An anomaly may have been found at a weaker level, too; then that one is kept, which
// comes first and says more.
func (o *Outcome) Explain(h *history.History, x *counterexample.Explanation) {
	o.Standing, o.Uncut = NewStanding(x.Standing), x.Uncut
	if x.Late {
		o.Notes = append(slices.Clip(o.Notes), "no counterexample was found in time; --explain-timeout sets that time")
	}
	if len(x.Counterexamples) == 0 {
		return
	}
	o.Anomalies = nil
	for _, c := range x.Counterexamples {
		a := Explained(h, c)
		same := slices.IndexFunc(o.Anomalies, func(b Anomaly) bool { return a.id() == b.id() })
		if same < 0 {
			o.Anomalies = append(o.Anomalies, a)
		} else if b := &o.Anomalies[same]; a.Count > b.Count {
			b.Count, b.AtLeast = a.Count, a.AtLeast
		}
	}
}

// Explained describes an anomaly of h with its counterexample.
func Explained(h *history.History, c *counterexample.Counterexample) Anomaly {
	a := newAnomaly(h, &c.Anomaly)
	kept := map[int64][]explain.Op{}
	keys := map[string]bool{}
	for i := range c.History.Txns {
		t := &c.History.Txns[i]
		kept[t.ID] = explain.Steps(c.History, i)
		whole := explain.InferredOf(explain.Steps(h, int(c.Txns[i])))
		for n, o := range kept[t.ID] {
			kept[t.ID][n] = o.As(whole)
		}
		for _, op := range c.History.Ops(t) {
			keys[c.History.KeyName(op.Key)] = true
		}
	}
	near := func(k history.Key) bool { return keys[h.KeyName(k)] }
	known := map[int64]bool{}
	for n := range a.Transactions {
		t := &a.Transactions[n]
		t.Kept = kept[t.ID]
		known[t.ID] = true
	}
	for n, i := range c.Txns {
		if id := c.History.Txns[n].ID; !known[id] {
			needed := map[string]bool{}
			for _, op := range c.History.Ops(&c.History.Txns[n]) {
				needed[dsl.Op(c.History, op)] = true
			}
			t := explain.NewTxn(h, i, nil, func(op int) bool { return needed[dsl.Op(h, h.Ops(&h.Txns[i])[op])] })
			t.Kept = kept[id]
			a.Transactions = append(a.Transactions, t)
		}
	}
	x := &Counterexample{Minimal: c.Minimal && !c.ForName, Standing: NewStanding(c.Standing), Sub: c.History, Whole: whole(h, c), History: notation(c.History, h, c.Txns)}
	for _, e := range explain.Reads(c.History, h, c.Txns) {
		if !slices.ContainsFunc(slices.Concat(a.Cycle, a.Context), func(o Edge) bool { return o.From == e.From && o.To == e.To && o.Key == e.Key }) {
			x.Reads = append(x.Reads, e)
		}
	}
	x.Around, x.More = explain.Around(h, c.Txns, near)
	a.Counterexample = x
	a.Text = strings.Join(append([]string{a.Text}, script.Beside(x.Sub, x.Whole)...), "\n")
	return a
}

// maxWhole bounds the operations of Counterexample.Whole.
const maxWhole = 2000

// whole returns the transactions of a counterexample with all that they did, or nil.
func whole(h *history.History, c *counterexample.Counterexample) *history.History {
	var parts []history.Part
	ops := 0
	for _, i := range c.Txns {
		n := len(h.Ops(&h.Txns[i]))
		if ops += n; ops > maxWhole {
			return nil
		}
		part := history.Part{Txn: i}
		for j := range n {
			part.Ops = append(part.Ops, j)
		}
		parts = append(parts, part)
	}
	if ops == len(c.History.AllOps()) {
		return nil
	}
	return h.Extract(parts)
}

// notation writes a history in the notation of history/dsl, or returns "" if that is not possible.
// Statements of which the notation has operations as plain reads and writes are comments before it, and so is where
// reads of whole, of which it is a part, come from that no client made. txns are its transactions in whole.
func notation(h, whole *history.History, txns []int32) string {
	fitting, _, _, err := fit.To(h, dsl.Carries())
	if err != nil {
		return ""
	}
	var comments strings.Builder
	for i := range h.Txns {
		plain := !fitting.HasPredicates() || slices.ContainsFunc(h.Predicates(i), func(p history.Predicate) bool { return p.Implied > 0 && p.Partial })
		for _, o := range explain.Steps(h, i) {
			if plain && o.Statement() {
				fmt.Fprintf(&comments, "# T%d: %s\n", h.Txns[i].ID, o)
			}
		}
	}
	text := dsl.Format(fitting)
	if comments.Len() > 0 {
		head := "# The reads and writes below also stand for these statements with conditions. They do not show what one statement did:\n"
		if len(h.AllChoices()) > 0 {
			head = "# These statements with conditions leave open what they saw. The notation has only the reads and writes:\n"
		}
		text = head + comments.String() + text
	}
	if h.Lists {
		head := "# These are lists with append. r(k,e) read a list that ends in e, and w(k,e) appended e.\n"
		for n, i := range txns {
			part := explain.Steps(h, n)
			for _, line := range explain.Inferred(whole, i, func(op int) bool {
				return slices.ContainsFunc(part, func(o explain.Op) bool { return o.String() == dsl.Op(whole, whole.Ops(&whole.Txns[i])[op]) })
			}) {
				head += "# A read before an append is inferred: " + line + ".\n"
			}
		}
		if whole.ListReads == nil {
			head += "# A read before an append may be inferred from a list that another transaction read.\n"
		}
		text = head + text
	}
	return partOfWindow(h) + text
}

// Picture returns the content of the anomaly's drawings.
func (a *Anomaly) Picture() *explain.Picture {
	p := &explain.Picture{Title: a.Name, Txns: a.Transactions, Cycle: a.Cycle, Context: a.Context}
	if c := a.Counterexample; c != nil {
		p.Context = slices.Concat(a.Context, c.Reads)
		p.Around, p.More = c.Around, c.More
	}
	return p
}
