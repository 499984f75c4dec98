package results

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// ElleResult is the result of Elle's checkers, in elle-cli's JSON.
type ElleResult struct {
	// Valid is true, false, or "unknown".
	Valid        any                      `json:"valid?"`
	AnomalyTypes []string                 `json:"anomaly-types"`
	Anomalies    map[string][]ElleAnomaly `json:"anomalies"`
	// Not are the weakest violated models, AlsoNot the stronger models that are therefore
	// violated too.
	Not     []string `json:"not"`
	AlsoNot []string `json:"also-not"`
}

// ElleAnomaly is an anomaly. A cycle has Cycle, whose last operation is its first one, and Steps
// with a step for each dependency. Other anomalies have the transactions involved.
type ElleAnomaly struct {
	Cycle []ElleOp   `json:"cycle,omitempty"`
	Steps []ElleStep `json:"steps,omitempty"`
	Txns  []ElleOp   `json:"txns,omitempty"`
	// Key and Value are set for a lost update.
	Key   string          `json:"key,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	// Text describes the anomaly in words. Elle has no such field.
	Text string `json:"text"`
}

// ElleOp is the completion of a transaction.
type ElleOp struct {
	Index   int64  `json:"index"`
	Type    string `json:"type"`
	Process int64  `json:"process"`
	F       string `json:"f"`
	// Value has each operation as ["r", key, value] or ["w", key, value].
	Value [][3]any `json:"value"`
	// Time is when it ended, in nanoseconds since the start, if known.
	Time *int64 `json:"time,omitempty"`
}

// ElleStep is a dependency: its type (wr, ww, rw, process or realtime), and key, value (the
// version that was written, read or overwritten) and value' (the version that overwrote it); for
// session order the process.
type ElleStep map[string]any

// Elle renders verdicts on one history, at one or more levels, in Elle's format. The outcomes
// must be fresh from the checker: those that Load reads back have operations only as text.
func Elle(outcomes []Outcome) ([]byte, error) {
	r := ElleResult{Valid: elleValid(outcomes), AnomalyTypes: []string{}, Anomalies: map[string][]ElleAnomaly{}}
	for _, f := range findings(outcomes) {
		name := elleType(&f.Anomaly)
		if !slices.Contains(r.AnomalyTypes, name) {
			r.AnomalyTypes = append(r.AnomalyTypes, name)
		}
		r.Anomalies[name] = append(r.Anomalies[name], elleAnomaly(&f.Anomaly))
	}
	slices.Sort(r.AnomalyTypes)
	r.Not, r.AlsoNot = refuted(outcomes)
	b, err := json.MarshalIndent(&r, "", "  ")
	return append(b, '\n'), errors.Wrap(err, elleFile)
}

func elleValid(outcomes []Outcome) any {
	is := func(v verdict.Verdict) bool {
		return slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Verdict == v })
	}
	switch {
	case is(verdict.Violated):
		return false
	case len(outcomes) == 0, is(verdict.Unknown), is(verdict.Vacuous):
		return "unknown"
	}
	return true
}

// elleModels are Elle's names of our levels, and the next stronger levels of each.
var elleModels = []struct {
	level, model string
	stronger     []string
}{
	{"si-noso", "snapshot-isolation", []string{"si", "ser-noso"}},
	{"si", "strong-session-snapshot-isolation", []string{"strong-si", "ser"}},
	{"ser-noso", "serializable", []string{"ser"}},
	{"strong-si", "strong-snapshot-isolation", []string{"sser"}},
	{"ser", "strong-session-serializable", []string{"sser"}},
	{"lin", "linearizable", []string{"sser"}},
	{"sser", "strict-serializable", nil},
}

// refuted returns the weakest models that were found violated, and the stronger models that are
// therefore violated too.
func refuted(outcomes []Outcome) (not, also []string) {
	not, also = []string{}, []string{}
	violated, implied := map[string]bool{}, map[string]bool{}
	for _, o := range outcomes {
		violated[o.Level] = violated[o.Level] || o.Verdict == verdict.Violated
		if s := o.Standing; s != nil {
			for _, l := range slices.Concat(s.Not, s.AlsoNot) {
				violated[l] = true
			}
		}
	}
	for _, m := range elleModels { // weaker levels come first
		switch {
		case implied[m.level]:
			also = append(also, m.model)
		case violated[m.level]:
			not = append(not, m.model)
		default:
			continue
		}
		for _, s := range m.stronger {
			implied[s] = true
		}
	}
	return not, also
}

// elleType returns Elle's name of an anomaly, or ours if Elle has none.
func elleType(a *Anomaly) string {
	for _, n := range a.Names {
		if strings.HasPrefix(n, "G") || n == "lost-update" || n == "internal" || n == "future-read" {
			return n
		}
	}
	return a.Name
}

func elleAnomaly(a *Anomaly) ElleAnomaly {
	out := ElleAnomaly{Text: a.Text}
	ops := map[int64]ElleOp{}
	for _, t := range a.Transactions {
		ops[t.ID] = elleOp(t)
	}
	for _, e := range a.Cycle {
		out.Cycle = append(out.Cycle, ops[e.From])
		out.Steps = append(out.Steps, elleStep(e, ops[e.From]))
	}
	if len(a.Cycle) > 0 {
		out.Cycle = append(out.Cycle, out.Cycle[0])
	}
	if elleType(a) == "lost-update" && len(a.Cycle) > 0 {
		out.Key, out.Value = a.Cycle[0].Key, scalar(a.Cycle[0].Value)
	}
	if len(a.Cycle) == 0 || out.Key != "" {
		for _, t := range a.Transactions {
			out.Txns = append(out.Txns, ops[t.ID])
		}
	}
	return out
}

func elleOp(t Txn) ElleOp {
	op := ElleOp{Index: t.ID, Type: "info", Process: t.Session, F: "txn", Value: [][3]any{}, Time: t.End}
	switch t.Status {
	case "committed":
		op.Type = "ok"
	case "aborted":
		op.Type = "fail"
	}
	for _, step := range t.Ops {
		for _, o := range step.Items() {
			if step.Statement() && o.Kind == history.ReadNot { // Elle has no such operation
				continue
			}
			op.Value = append(op.Value, [3]any{o.Kind.String(), explain.Printable(o.Key), scalar(explain.Printable(o.Value))})
		}
	}
	return op
}

func elleStep(e Edge, from ElleOp) ElleStep {
	switch e.Kind {
	case "SO":
		return ElleStep{"type": "process", "process": from.Process}
	case "RT":
		return ElleStep{"type": "realtime"}
	}
	s := ElleStep{"type": strings.ToLower(e.Kind), "key": e.Key, "value": scalar(e.Value)}
	if e.Next != "" {
		s["value'"] = scalar(e.Next)
	}
	return s
}

// scalar returns a value, a JSON scalar, unchanged, or nothing for "". A scalar in which control
// characters were made visible is no longer valid JSON and is quoted.
func scalar(text string) json.RawMessage {
	if text == "" || json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(text) // marshalling a string cannot fail
	return b
}
