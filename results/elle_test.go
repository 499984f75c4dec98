package results_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/results"
)

func judged(t *testing.T, text string, levels ...level.Level) []results.Outcome {
	t.Helper()
	h := dsl.MustParse(text)
	var all []results.Outcome
	for _, l := range levels {
		r, err := checker.Check(context.Background(), h, l, checker.Options{Certify: true})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, results.NewOutcome("h", h, r))
	}
	return all
}

// TestElle: verdicts in Elle's shape, by Elle's names, with values that are
// numbers, texts, and absence.
func TestElle(t *testing.T) {
	for name, tc := range map[string]struct {
		text      string
		levels    []level.Level
		valid     any
		types     string
		not, also []any
		contains  []string
	}{
		"satisfied": {"s1: r(x,0) w(x,1)", []level.Level{level.SER}, true, "", []any{}, []any{}, nil},
		"unchecked": {"s1: r(x,0) w(x,1)", nil, "unknown", "", []any{}, []any{}, nil},
		"write skew": {"s1 T1: r(x,0) r(y,0) w(x,1)\ns2 T2: r(x,0) r(y,0) w(y,hello)", []level.Level{level.SI, level.SER}, false, "G2-item",
			[]any{"strong-session-serializable"}, []any{"strict-serializable"},
			[]string{`{"key":"y","type":"rw","value":0,"value'":"hello"}`, `{"key":"x","type":"rw","value":0,"value'":1}`, `["w","y","hello"]`, `"process":2`, `"f":"txn"`}},
		"lost update": {"s1 T1: r(x,0) w(x,nil)\ns2 T2: r(x,0) w(x,2)", []level.Level{level.SINoSO, level.SI, level.SER}, false, "lost-update",
			[]any{"snapshot-isolation"}, []any{"strong-session-snapshot-isolation", "serializable", "strong-snapshot-isolation", "strong-session-serializable", "strict-serializable"},
			[]string{`["w","x",null]`, `"key":"x"`}},
		"session order": {"s1 T1: r(x,0) w(x,1)\ns2 T2: r(x,1) w(x,2)\ns2 T3: r(x,1)", []level.Level{level.SER}, false, "G-single-process",
			[]any{"strong-session-serializable"}, []any{"strict-serializable"}, []string{`{"process":2,"type":"process"}`}},
		"aborted read": {"s1 T4: r(x,0) w(x,1) abort\ns2 T5: r(x,1)", []level.Level{level.SER}, false, "G1a",
			[]any{"strong-session-serializable"}, []any{"strict-serializable"}, []string{`"type":"fail"`, `"txns":[`}},
	} {
		b, err := results.Elle(judged(t, tc.text, tc.levels...))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Valid     any      `json:"valid?"`
			Types     []string `json:"anomaly-types"`
			Not       []any    `json:"not"`
			Also      []any    `json:"also-not"`
			Anomalies map[string][]struct {
				Cycle []any `json:"cycle"`
				Steps []any `json:"steps"`
			} `json:"anomalies"`
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if got.Valid != tc.valid || strings.Join(got.Types, " ") != tc.types || !reflect.DeepEqual(got.Not, tc.not) || !reflect.DeepEqual(got.Also, tc.also) {
			t.Errorf("%s: %+v", name, got)
		}
		var parsed any
		if err := json.Unmarshal(b, &parsed); err != nil {
			t.Fatal(err)
		}
		flat, err := json.Marshal(parsed)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range tc.contains {
			if !strings.Contains(string(flat), want) {
				t.Errorf("%s: no %s in %s", name, want, flat)
			}
		}
		for _, a := range got.Anomalies[tc.types] {
			if n := len(a.Cycle); n > 0 && (len(a.Steps) != n-1 || !reflect.DeepEqual(a.Cycle[0], a.Cycle[n-1])) {
				t.Errorf("%s: a cycle of %d operations with %d steps", name, n, len(a.Steps))
			}
		}
	}
}

// TestElleOperations: keys and values are unchanged, whatever they contain.
func TestElleOperations(t *testing.T) {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	key := sym.Key(`users('a,"b)')`)
	b := history.NewBuilder(history.Header{}, sym, 2)
	for i, v := range []history.Value{sym.String(`c,"d`), sym.Raw("1.5")} {
		if err := b.Add(&history.Record{ID: int64(i), Session: int64(i), Begin: history.NoTime, End: history.NoTime, Status: history.Committed, Ops: []history.Op{
			{Kind: history.Read, Key: key, Value: sym.Int(0)}, {Kind: history.Write, Key: key, Value: v}}}); err != nil {
			t.Fatal(err)
		}
	}
	h := b.Done(true, nil)
	r, err := checker.Check(context.Background(), h, level.SER, checker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := results.NewOutcome("h", h, r)
	raw, err := results.Elle([]results.Outcome{o})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Anomalies map[string][]struct {
			Txns []struct{ Value [][3]any }
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := [][][3]any{
		{{"r", `users('a,"b)')`, 0.0}, {"w", `users('a,"b)')`, `c,"d`}},
		{{"r", `users('a,"b)')`, 0.0}, {"w", `users('a,"b)')`, 1.5}},
	}
	txns := got.Anomalies["lost-update"][0].Txns
	if len(txns) != 2 || !reflect.DeepEqual(txns[0].Value, want[0]) || !reflect.DeepEqual(txns[1].Value, want[1]) {
		t.Errorf("%+v in\n%s", txns, raw)
	}
	// In our own JSON operations are texts, which are the same after reading.
	first, err := json.Marshal(o)
	if err != nil || !strings.Contains(string(first), `"ops":["r(\"users('a,\\\"b)')\",0)","w(\"users('a,\\\"b)')\",\"c,\\\"d\")"]`) {
		t.Errorf("%v: %s", err, first)
	}
	var back results.Outcome
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(back); err != nil || string(again) != string(first) {
		t.Errorf("%v: %s", err, again)
	}
}
