package certify_test

import (
	"slices"
	"testing"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
)

// step builds a step of a refutation about the first key, x, or another key.
func step(rule verdict.Rule, txn, source, other int32, key ...history.Key) verdict.Step {
	s := verdict.Step{Rule: rule, Txn: txn, Source: source, Other: other}
	if len(key) > 0 {
		s.Key = key[0]
	}
	return s
}

func cycle(nodes ...int32) verdict.Step { return verdict.Step{Rule: verdict.CycleOf, List: nodes} }

var (
	end     = verdict.Step{Rule: verdict.Follows}
	initial = verdict.FromInitial
)

// TestReplay checks that refutations written by hand are accepted where they hold, and only there.
// No step of an accepted refutation may be missing.
func TestReplay(t *testing.T) {
	all := []level.Level{level.SER, level.SI, level.SERNoSO, level.SINoSO, level.SSER, level.StrongSI}
	serial := []level.Level{level.SER, level.SERNoSO, level.SSER}
	snapshot := []level.Level{level.SI, level.SINoSO, level.StrongSI}
	sessions := []level.Level{level.SER, level.SI, level.SSER, level.StrongSI}
	stale := []verdict.Step{
		step(verdict.HasSource, 1, 0, 0), step(verdict.NothingBetween, 1, initial, 0), cycle(1, 2), end}
	for _, tc := range []struct {
		name, history string
		holds         []level.Level
		steps         []verdict.Step
	}{
		{"write skew", "s1: r(x,0) w(y,1)\ns2: r(y,0) w(x,1)\n", serial, []verdict.Step{
			step(verdict.HasSource, 0, 0, 0), step(verdict.NothingBetween, 0, initial, 1),
			step(verdict.HasSource, 1, 0, 0, 1), step(verdict.NothingBetween, 1, initial, 0, 1), end}},
		{"an old value in one session", "s1: w(x,1)\ns1: r(x,0)\n", sessions, stale},
		{"the session's first is of unknown outcome", "s1: w(x,1) unknown\ns1: r(x,0)\n", nil, stale},
		{"the session's first aborted", "s1: w(x,1) abort\ns1: r(x,0)\n", nil, stale},
		{"an old value of two sessions", "s1: w(x,1)\ns2: r(x,0)\n", nil, stale},
		{"an old value in real time", "s1 [0,1]: w(x,1)\ns2 [2,3]: r(x,0)\n", []level.Level{level.SSER, level.StrongSI}, stale},
		{"an end and a begin at once", "s1 [0,2]: w(x,1)\ns2 [2,3]: r(x,0)\n", nil, stale},
		{"the same value written", "s1: w(x,0)\ns1: r(x,0)\n", nil, stale},
		{"an own write read", "s1: w(x,1)\ns1: w(x,0) r(x,0)\n", nil, stale},
		{"another value last", "s1: w(x,1) w(x,0)\ns1: r(x,0)\n", nil, stale},
		{"a value written by nobody", "s1: r(x,7)\n", all, []verdict.Step{step(verdict.HasSource, 0, 0, 0), end}},
		{"a value written and overwritten", "s1: r(x,7)\ns2: w(x,7) w(x,8)\n", all, []verdict.Step{step(verdict.HasSource, 0, 0, 0), end}},
		{"a value written by one whose outcome is unknown", "s1: r(x,7)\ns2: w(x,7) unknown\n", nil, []verdict.Step{step(verdict.HasSource, 0, 0, 0), end}},
		{"one that did not find a value and then read another", "s1: r(x,7)\ns2: n(y,5) r(y,0) w(x,7) unknown\n", nil, []verdict.Step{
			step(verdict.HasSource, 0, 0, 0), step(verdict.SourceFirst, 0, 1, 0), step(verdict.Impossible, 1, 0, 0), end}},
		{"one that cannot have taken place", "s1: r(x,7)\ns2: r(y,0) w(x,7) r(y,1) unknown\n", all, []verdict.Step{
			step(verdict.HasSource, 0, 0, 0), step(verdict.SourceFirst, 0, 1, 0), step(verdict.Impossible, 1, 0, 0), end}},
		{"one that may have", "s1: r(x,7)\ns2: r(y,0) w(x,7) r(y,0) unknown\n", nil, []verdict.Step{
			step(verdict.HasSource, 0, 0, 0), step(verdict.SourceFirst, 0, 1, 0), step(verdict.Impossible, 1, 0, 0), end}},
		{"read before written", "s1: r(x,7)\ns1: w(x,7)\n", sessions, []verdict.Step{
			step(verdict.HasSource, 0, 0, 0), step(verdict.SourceFirst, 0, 1, 0), cycle(0, 3), end}},
		{"a second writer", "s1: r(x,7)\ns1: w(x,7)\ns2: w(x,7)\n", nil, []verdict.Step{
			step(verdict.HasSource, 0, 0, 0), step(verdict.SourceFirst, 0, 1, 0), cycle(0, 3), end}},
		{"two updates of one version", "s1: r(x,0) w(x,1)\ns2: r(x,0) w(x,2)\n", snapshot, []verdict.Step{
			step(verdict.HasSource, 0, 0, 0), step(verdict.HasSource, 1, 0, 0),
			step(verdict.NothingBetween, 0, initial, 1), step(verdict.NothingBetween, 1, initial, 0),
			step(verdict.Apart, 0, 0, 1), cycle(1, 2), cycle(3, 0), end}},
	} {
		h := dsl.MustParse(tc.history)
		for _, lvl := range all {
			err := certify.Replay(t.Context(), h, lvl, &verdict.Refutation{Steps: tc.steps})
			if holds := slices.Contains(tc.holds, lvl); holds != (err == nil) {
				t.Errorf("%s at %s: %v", tc.name, lvl, err)
			}
			if err != nil {
				continue
			}
			if allowed, decided := certify.Judge(h, lvl, 100_000); allowed || !decided {
				t.Errorf("%s at %s is accepted, and has an execution", tc.name, lvl)
			}
			for n := range tc.steps {
				left := slices.Delete(slices.Clone(tc.steps), n, n+1)
				if tc.steps[n].Rule == verdict.CycleOf && tc.name == "two updates of one version" {
					continue // two nodes that follow from each other's axioms
				}
				if certify.Replay(t.Context(), h, lvl, &verdict.Refutation{Steps: left}) == nil {
					t.Errorf("%s at %s: step %d left out is not missed", tc.name, lvl, n+1)
				}
			}
		}
	}
}

// TestReplayRefuses checks that what a refutation names must exist and be of the right kind, even
// if the history is violated.
func TestReplayRefuses(t *testing.T) {
	text := "s1: w(x,1)\ns1: r(x,0) w(y,1)\ns2: w(x,2) unknown\ns2: w(x,3) abort\ns3: w(x,4) w(x,5)\ns3: w(x,6) r(x,6)\n"
	h := dsl.MustParse(text)
	good := []verdict.Step{
		step(verdict.HasSource, 1, 0, 0), step(verdict.NothingBetween, 1, initial, 0), cycle(1, 2), end}
	if err := certify.Replay(t.Context(), h, level.SI, &verdict.Refutation{Steps: good}); err != nil {
		t.Fatal(err)
	}
	if certify.Replay(t.Context(), h, level.LIN, &verdict.Refutation{Steps: good}) == nil {
		t.Error("accepted at level lin")
	}
	if certify.Replay(t.Context(), h, level.SI, &verdict.Refutation{}) == nil {
		t.Error("nothing is accepted")
	}
	for name, s := range map[string]verdict.Step{
		"no rule":                            {},
		"a rule that does not exist":         {Rule: verdict.Forget + 1},
		"a transaction out of range":         step(verdict.HasSource, 6, 0, 0),
		"a negative transaction":             step(verdict.HasSource, -1, 0, 0),
		"a key out of range":                 step(verdict.HasSource, 1, 0, 0, 9),
		"a read of an own write":             step(verdict.HasSource, 5, 0, 0),
		"no read":                            step(verdict.HasSource, 0, 0, 0),
		"a source that wrote another value":  step(verdict.SourceFirst, 1, 0, 0),
		"the initial state as a transaction": step(verdict.SourceFirst, 1, initial, 0),
		"a source out of range":              step(verdict.NothingBetween, 1, 77, 0),
		"an aborted writer":                  step(verdict.NothingBetween, 1, initial, 3),
		"the reader itself":                  step(verdict.NothingBetween, 1, initial, 1, 1),
		"one that does not write the key":    step(verdict.Apart, 0, 0, 1),
		"one transaction apart":              step(verdict.Apart, 0, 0, 0),
		"a committed one impossible":         step(verdict.Impossible, 0, 0, 0),
		"a possible one impossible":          step(verdict.Impossible, 2, 0, 0),
		"a cycle of one":                     cycle(1),
		"a cycle with one node twice":        cycle(1, 1),
		"a cycle through an aborted one":     cycle(1, 2, 6),
		"a cycle out of range":               cycle(1, 2, 400),
		"a negative node":                    cycle(1, 2, -1),
		"itself forgotten":                   {Rule: verdict.Forget, List: []int32{0}},
		"a later step forgotten":             {Rule: verdict.Forget, List: []int32{1}},
		"a negative step forgotten":          {Rule: verdict.Forget, List: []int32{-1}},
		"a statement not listed":             {Rule: verdict.Follows, List: []int32{2}},
		"a negative literal":                 {Rule: verdict.Follows, List: []int32{-2}},
		"what does not follow":               {Rule: verdict.Follows, List: []int32{0}},
	} {
		r := &verdict.Refutation{Atoms: []verdict.Atom{{Kind: verdict.Before, A: 0, B: 8}}, Steps: append([]verdict.Step{s}, good...)}
		if certify.Replay(t.Context(), h, level.SI, r) == nil {
			t.Errorf("a refutation with %s is accepted", name)
		}
	}
	for name, a := range map[string]verdict.Atom{
		"no statement":                        {},
		"a node before itself":                {Kind: verdict.Before, A: 3, B: 3},
		"a node out of range":                 {Kind: verdict.Before, A: 3, B: 300},
		"a source of what is not read":        {Kind: verdict.Source, A: 0, B: 1},
		"one whose outcome is known counting": {Kind: verdict.Counts, A: 0},
		"one that aborted counting":           {Kind: verdict.Counts, A: 3},
	} {
		if certify.Replay(t.Context(), h, level.SI, &verdict.Refutation{Atoms: []verdict.Atom{a}, Steps: good}) == nil {
			t.Errorf("a refutation with %s is accepted", name)
		}
	}
	// A clause that was forgotten proves nothing.
	three := dsl.MustParse("s1: r(x,0) w(y,1)\ns2: r(y,0) w(z,1)\ns3: r(z,0) w(x,1)\n")
	for _, forget := range []bool{false, true} {
		steps := []verdict.Step{cycle(0, 4, 2), step(verdict.HasSource, 0, 0, 0), step(verdict.HasSource, 1, 0, 0, 1), step(verdict.HasSource, 2, 0, 0, 2)}
		if forget {
			steps = append(steps, verdict.Step{Rule: verdict.Forget, List: []int32{0}})
		}
		steps = append(steps, step(verdict.NothingBetween, 0, initial, 2), step(verdict.NothingBetween, 1, initial, 0, 1), step(verdict.NothingBetween, 2, initial, 1, 2), end)
		if err := certify.Replay(t.Context(), three, level.SER, &verdict.Refutation{Steps: steps}); (err == nil) == forget {
			t.Errorf("the cycle forgotten %v: %v", forget, err)
		}
	}
	// In a history that was cut off, a value without a writer gives no clause.
	b := history.NewBuilder(history.Header{}, h.Symbols, 1)
	rec := history.Record{Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: history.Committed,
		Ops: []history.Op{{Kind: history.Read, Key: 0, Value: h.Symbols.Int(7)}}}
	if err := b.Add(&rec); err != nil {
		t.Fatal(err)
	}
	thin := &verdict.Refutation{Steps: []verdict.Step{step(verdict.HasSource, 0, 0, 0), end}}
	if err := certify.Replay(t.Context(), b.Done(false, nil), level.SER, thin); err == nil {
		t.Error("a value whose writer may be missing refutes")
	}
}
