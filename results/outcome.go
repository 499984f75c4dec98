// Package results keeps what a run found: the run folder with its
// configuration, history, figures and verdicts, and the reports drawn from
// them. It decides nothing.
package results

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// Outcome is the verdict on one history at one level, as check and run print
// it in JSON, one line each.
type Outcome struct {
	Path    string          `json:"path"`
	Level   string          `json:"level"`
	Verdict verdict.Verdict `json:"verdict"`
	// Reason says why the verdict is unknown or vacuous, or why a violation has
	// no anomaly to show.
	Reason    string `json:"reason,omitempty"`
	Engine    string `json:"engine"`
	Certified bool   `json:"certified"`

	Sessions       int `json:"sessions"`
	Txns           int `json:"txns"`
	Committed      int `json:"committed"`
	Aborted        int `json:"aborted"`
	UnknownOutcome int `json:"unknown_outcome"`
	Ops            int `json:"ops"`

	Anomalies []Anomaly `json:"anomalies"`
	// Stages are the seconds that the parts of the check took.
	Stages       map[string]float64 `json:"stages"`
	ParseSeconds float64            `json:"parse_seconds"`
	CheckSeconds float64            `json:"check_seconds"`
	// PeakRSSMB is the most memory that the process has held, in MiB.
	PeakRSSMB float64 `json:"peak_rss_mb"`
	Seed      int64   `json:"seed"`
	// Search has the figures of the polygraph engine's search.
	Search *verdict.Search `json:"search,omitempty"`
	// Predicates is "not judged" where transactions read or changed rows by
	// predicates: the rows count as items, what was not among them does not.
	Predicates string `json:"predicates,omitempty"`
	// Invariants are what was looked at in the database after the run.
	Invariants []generator.InvariantResult `json:"invariants,omitempty"`
	// Notes tells what was wrong with the file and repaired.
	Notes []string `json:"notes,omitempty"`
}

// Anomaly is one reason of a violated verdict.
type Anomaly struct {
	Name  string   `json:"name"`
	Names []string `json:"names"`
	// Txns are the ids of the transactions involved.
	Txns  []int64 `json:"txns"`
	Cycle []Edge  `json:"cycle"`
	// Context are further dependencies that belong to the picture.
	Context []Edge `json:"context,omitempty"`
	Text    string `json:"text"`
	// Count is how often this kind of anomaly was met; cycles are not counted.
	Count int `json:"count"`
	// Shortest says that no cycle of the history at this level is shorter.
	Shortest bool `json:"shortest,omitempty"`
	// Transactions are those of Txns, and what shows that those of unknown
	// outcome committed; whole, but where only some operations matter.
	Transactions []Txn `json:"transactions"`
}

// maxShown bounds the transactions that are shown to people; JSON has them all.
const maxShown = 24

// Shown returns the transactions to show, and how many more there are.
func (a *Anomaly) Shown() (txns []Txn, more int) {
	if len(a.Transactions) <= maxShown {
		return a.Transactions, 0
	}
	return a.Transactions[:maxShown], len(a.Transactions) - maxShown
}

// Edge is a dependency: From must come before To.
type Edge struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Kind  string `json:"kind"`
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	// Next is what To wrote, of a WW or RW edge.
	Next string `json:"next,omitempty"`
	Text string `json:"text"`
}

// Txn is a transaction of a counterexample. Times are in nanoseconds since
// the start of the run, null where they are not known.
type Txn struct {
	ID      int64 `json:"id"`
	Session int64 `json:"session"`
	// Node is the endpoint, from 1, where there are several.
	Node   int16    `json:"node,omitempty"`
	DBTxn  int64    `json:"dbtxn,omitempty"`
	Begin  *int64   `json:"begin"`
	End    *int64   `json:"end"`
	Status string   `json:"status"`
	Ops    []string `json:"ops"`
}

// NewOutcome describes r, a verdict on h, with everything that depends on the
// history. h may be nil when it could not be read whole.
func NewOutcome(path string, h *history.History, r *verdict.Result) Outcome {
	o := Outcome{
		Path: path, Level: r.Level.String(), Verdict: r.Verdict, Reason: r.Reason, Engine: r.Engine, Certified: r.Certified,
		Anomalies: []Anomaly{}, Stages: map[string]float64{}, CheckSeconds: r.Took.Seconds(),
	}
	for _, s := range r.Stages {
		o.Stages[s.Name] += s.Took.Seconds()
	}
	o.Search = r.Search
	if h == nil {
		return o
	}
	c := h.Count()
	o.Sessions, o.Txns, o.Committed, o.Aborted, o.UnknownOutcome, o.Ops = c.Sessions, c.Txns, c.Committed, c.Aborted, c.Unknown, c.Ops
	o.Seed, o.Notes = h.Seed, h.Notes
	if h.HasPredicates() {
		o.Predicates = "not judged"
	}
	for n := range r.Anomalies {
		o.Anomalies = append(o.Anomalies, newAnomaly(h, &r.Anomalies[n]))
	}
	return o
}

func newAnomaly(h *history.History, a *verdict.Anomaly) Anomaly {
	out := Anomaly{Name: a.Name(), Names: a.Names, Cycle: []Edge{}, Text: printable(a.Text), Count: a.Count, Shortest: a.Shortest}
	// Of a contradiction only the operations that it rests on are shown.
	kept := map[int32][]int{}
	if a.Kind == verdict.Contradiction {
		for _, r := range a.Ops {
			kept[r.Txn] = append(kept[r.Txn], r.Op)
		}
	}
	seen := map[int32]bool{}
	add := func(i int32) {
		if !seen[i] {
			seen[i] = true
			out.Transactions = append(out.Transactions, newTxn(h, i, kept[i]))
		}
	}
	for _, i := range a.Txns {
		out.Txns = append(out.Txns, h.Txns[i].ID)
		add(i)
	}
	for _, e := range a.Support {
		add(e.To)
	}
	out.Cycle = append(out.Cycle, newEdges(h, a.Cycle)...)
	out.Context = newEdges(h, append(slices.Clone(a.Context), a.Support...))
	return out
}

func newEdges(h *history.History, edges []verdict.Edge) []Edge {
	var out []Edge
	for n, text := range explain.Edges(h, edges) {
		out = append(out, newEdge(h, edges[n], text))
	}
	return out
}

func newEdge(h *history.History, e verdict.Edge, text string) Edge {
	edge := Edge{From: h.Txns[e.From].ID, To: h.Txns[e.To].ID, Kind: e.Kind.String(), Text: printable(text)}
	if e.Kind != verdict.SO && e.Kind != verdict.RT {
		edge.Key, edge.Value = printable(h.KeyName(e.Key)), printable(h.ValueText(e.Value))
	}
	if e.Kind == verdict.WW || e.Kind == verdict.RW {
		for _, op := range h.Ops(&h.Txns[e.To]) { // the last write counts
			if op.Kind == history.Write && op.Key == e.Key {
				edge.Next = printable(h.ValueText(op.Value))
			}
		}
	}
	return edge
}

// newTxn describes a transaction, by some of its operations if any are named.
func newTxn(h *history.History, i int32, ops []int) Txn {
	t := &h.Txns[i]
	out := Txn{ID: t.ID, Session: h.SessionName(t.Session), Node: t.Node, DBTxn: h.DBTxn(int(i)), Begin: moment(t.Begin), End: moment(t.End), Status: t.Status.String()}
	for n, op := range h.Ops(t) {
		if ops == nil || slices.Contains(ops, n) {
			out.Ops = append(out.Ops, printable(dsl.Op(h, op)))
		}
	}
	if omitted := t.OpCount() - len(out.Ops); omitted > 0 {
		out.Ops = append(out.Ops, fmt.Sprintf("… %d more", omitted))
	}
	return out
}

// printable escapes control characters, which keys and values may contain and
// which terminals obey; line ends in texts are ours.
func printable(s string) string {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' }
	if strings.IndexFunc(s, control) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if control(r) {
			fmt.Fprintf(&b, "\\x%02x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func moment(t int64) *int64 {
	if t == history.NoTime {
		return nil
	}
	return &t
}
