// Package results stores the results of a run: the run folder with its configuration, history,
// figures and verdicts, and the reports made from them. It does not judge anything.
package results

import (
	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/nearness"
	"github.com/isohound/isohound/checker/rounds"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
)

// Outcome is the verdict on one history at one level. check and run print it as JSON, one per
// line.
type Outcome struct {
	Path    string          `json:"path"`
	Level   string          `json:"level"`
	Verdict verdict.Verdict `json:"verdict"`
	// Promised says whether the isolation of the run promises the level. It is nil if no promise is
	// known, as for a history alone.
	Promised *bool `json:"promised,omitempty"`
	// Reason says why the verdict is unknown or vacuous, why a violation has no anomaly to show,
	// or which level's verdict implies this one.
	Reason string `json:"reason,omitempty"`
	// FollowsFrom is another level whose verdict implies this one, if this level was not judged
	// itself. The proof is that of the other level: its witness, verified at this level, or its
	// anomalies, verified at the other level.
	FollowsFrom string `json:"follows_from,omitempty"`
	Engine      string `json:"engine"`
	Certified   bool   `json:"certified"`

	Sessions       int `json:"sessions"`
	Txns           int `json:"txns"`
	Committed      int `json:"committed"`
	Aborted        int `json:"aborted"`
	UnknownOutcome int `json:"unknown_outcome"`
	// Again is set for a window that has transactions of earlier windows once more.
	Again *Again `json:"again,omitempty"`
	// Learned is set for a window that has transactions of unknown outcome: what later windows have to know of it.
	Learned *rounds.State `json:"learned,omitempty"`
	// Unread: the history could not be read within the limits.
	Unread bool `json:"unread,omitempty"`
	Ops    int  `json:"ops"`

	// Standing says which levels the history violates and satisfies. It is set if a level is
	// violated and there was time to explain that, and in runs whose levels are all satisfied and weaker than
	// snapshot isolation.
	Standing  *Standing `json:"standing,omitempty"`
	Anomalies []Anomaly `json:"anomalies"`
	// Uncut says why no anomaly has a counterexample, if that is not for lack of time.
	Uncut string `json:"-"`
	// Stages are the seconds for each part of the check.
	Stages       map[string]float64 `json:"stages"`
	ParseSeconds float64            `json:"parse_seconds"`
	CheckSeconds float64            `json:"check_seconds"`
	// ExplainSeconds is the time for the counterexamples and the standing, which CheckSeconds does not have.
	ExplainSeconds float64 `json:"explain_seconds,omitempty"`
	// PeakRSSMB is the peak memory of the process, in MB of 10^6 bytes.
	PeakRSSMB float64 `json:"peak_rss_mb"`
	Seed      int64   `json:"seed"`
	// Search has the figures of the polygraph engine's search.
	Search *verdict.Search `json:"search,omitempty"`
	// Accel says how that engine computed reachability.
	Accel *verdict.Accel `json:"accel,omitempty"`
	// Claim says whether the order in which the database says that it committed the transactions is an
	// execution of the level. It does not change the verdict.
	Claim *ClaimedOrder `json:"claim,omitempty"`
	// ClaimSpan has the bounds of the claims of a window, NewClaimSpan. A run has that of all windows.
	ClaimSpan *ClaimSpan `json:"claim_span,omitempty"`
	// Assumes is set if the order of versions that the database claims was taken for true.
	Assumes *AssumedOrder `json:"assumes,omitempty"`
	// Snapshots says whether the reads agree with the snapshots that the database told. It is the same for all levels.
	Snapshots *Snapshots `json:"snapshots,omitempty"`
	// Predicates says how many statements with conditions the history has, and how many of them
	// were judged. The rows of a statement that is not judged count as items; rows that it did not
	// return count for nothing.
	Predicates *history.Scans `json:"predicates,omitempty"`
	// Invariants are the invariants that were checked in the database after the run.
	Invariants []generator.InvariantResult `json:"invariants,omitempty"`
	// Windows is set for a run that was cut into windows. The figures are then sums.
	Windows *Windows `json:"windows,omitempty"`
	// Rounds is set for a history that was judged in rounds.
	Rounds *Rounds `json:"rounds,omitempty"`
	// Nearness says how near a run came to a violation.
	Nearness *nearness.Nearness `json:"nearness,omitempty"`
	// Notes reports what was wrong with the file and repaired.
	Notes []string `json:"notes,omitempty"`
}

// Anomaly is one reason for a violated verdict.
type Anomaly struct {
	Name  string   `json:"name"`
	Names []string `json:"names"`
	// Txns are the ids of the transactions involved.
	Txns  []int64 `json:"txns"`
	Cycle []Edge  `json:"cycle"`
	// Context are further dependencies that are drawn with the anomaly.
	Context []Edge `json:"context,omitempty"`
	Text    string `json:"text"`
	// Count is how often this kind of anomaly was found: cycles that have no read in common. AtLeast says
	// that the time for counting ran out, or that a cycle without reads was in the way.
	Count   int  `json:"count"`
	AtLeast bool `json:"at_least,omitempty"`
	// Shortest says that no cycle of the history at this level is shorter.
	Shortest bool `json:"shortest,omitempty"`
	// Transactions are those of Txns, and those that prove that transactions of unknown outcome
	// committed. They are complete, unless only some operations matter.
	Transactions []Txn `json:"transactions"`
	// Counterexample is a closed sub-history that shows the anomaly on its own.
	Counterexample *Counterexample `json:"counterexample,omitempty"`
}

// Times says how often the kind of anomaly was found, such as "found at least 12 times", or is "" for once.
func (a *Anomaly) Times() string {
	switch {
	case a.Count <= 1:
		return ""
	case a.AtLeast:
		return "found at least " + Thousands(a.Count) + " times"
	}
	return "found " + Thousands(a.Count) + " times"
}

// maxShown bounds the transactions shown in texts and pages; JSON has all of them.
const maxShown = 24

// Shown returns the transactions to show, and how many more there are.
func (a *Anomaly) Shown() (txns []Txn, more int) {
	if len(a.Transactions) <= maxShown {
		return a.Transactions, 0
	}
	return a.Transactions[:maxShown], len(a.Transactions) - maxShown
}

// Edge is a dependency: From must come before To.
type Edge = explain.Edge

// Txn is a transaction of a counterexample.
type Txn = explain.Txn

// NewOutcome describes r, a verdict on h, with everything that depends on the history. h is nil
// if it could not be read completely.
func NewOutcome(path string, h *history.History, r *verdict.Result) Outcome {
	o := Outcome{
		Path: path, Level: r.Level.String(), Verdict: r.Verdict, Reason: r.Reason, Engine: r.Engine, Certified: r.Certified,
		Anomalies: []Anomaly{}, Stages: map[string]float64{}, CheckSeconds: r.Took.Seconds(),
	}
	for _, s := range r.Stages {
		o.Stages[s.Name] += s.Took.Seconds()
	}
	o.Search, o.Accel = r.Search, r.Accel
	if r.FollowsFrom != 0 {
		o.FollowsFrom = r.FollowsFrom.String()
	}
	if h == nil {
		return o
	}
	c := h.Count()
	o.Sessions, o.Txns, o.Committed, o.Aborted, o.UnknownOutcome, o.Ops = c.Sessions, c.Txns, c.Committed, c.Aborted, c.Unknown, c.Ops
	o.Seed, o.Notes = h.Seed, h.Notes
	o.Claim, o.Assumes = newClaim(h, r.Level, r.Claim), newAssumed(h, r.Assumes)
	if o.Predicates = h.Scans; h.Scans != nil {
		o.Ops -= h.Scans.Instantiated
	}
	for n := range r.Anomalies {
		o.Anomalies = append(o.Anomalies, newAnomaly(h, &r.Anomalies[n]))
	}
	return o
}

func newAnomaly(h *history.History, a *verdict.Anomaly) Anomaly {
	out := Anomaly{Name: a.Name(), Names: a.Names, Cycle: []Edge{}, Text: a.Text, Count: a.Count, AtLeast: a.AtLeast, Shortest: a.Shortest}
	// For a contradiction, only the operations that prove it are shown.
	kept := map[int32][]int{}
	if a.Kind == verdict.Contradiction {
		for _, r := range a.Ops {
			kept[r.Txn] = append(kept[r.Txn], r.Op)
		}
	}
	named := explain.Named(h, a)
	seen := map[int32]bool{}
	add := func(i int32) {
		if !seen[i] {
			seen[i] = true
			out.Transactions = append(out.Transactions, explain.NewTxn(h, i, kept[i], func(op int) bool { return named[verdict.OpRef{Txn: i, Op: op}] }))
		}
	}
	for _, i := range a.Txns {
		out.Txns = append(out.Txns, h.Txns[i].ID)
		add(i)
	}
	for _, e := range a.Support {
		add(e.To)
	}
	for _, p := range explain.Shown(h, a) {
		if kept[p.Txn] == nil {
			kept[p.Txn] = p.Ops
		}
		add(p.Txn)
	}
	cycle, context := explain.Edges(h, a)
	out.Cycle, out.Context = append(out.Cycle, cycle...), context
	return out
}
