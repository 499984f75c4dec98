package results_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

// TestPromised: a level is promised if one of the promised levels implies it.
func TestPromised(t *testing.T) {
	for _, tc := range []struct{ promises, yes, no string }{
		{"ser", "ser,si,si-noso,psi,pc,cc,ra,rc,session,ru,ser-noso", "sser,strong-si,lin"},
		{"si", "si,psi,pc,cc,rc", "ser,ser-noso,strong-si,sser"},
		{"rc", "rc,ru", "ra,ryw,si-noso,ser"},
		{"ryw,mr", "ryw,mr,ru", "rc,mw,session,ra"},
		{"rc,session", "rc,mw,wfr", "ra,cc"},
		{"ru", "ru", "rc,mr"},
		{"lin", "lin,sser,ser,rc", ""}, // of lightweight transactions
	} {
		c := results.Config{Promises: tc.promises}
		for want, names := range map[bool]string{true: tc.yes, false: tc.no} {
			for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
				o := results.Outcome{Level: name}
				if c.Weigh(&o); o.Promised == nil || *o.Promised != want {
					t.Errorf("%s promises %s: want %v", tc.promises, name, want)
				}
			}
		}
	}
	o := results.Outcome{Level: "si"}
	if (&results.Config{}).Weigh(&o); o.Promised != nil {
		t.Error("a run whose promise is not known promises something, or nothing")
	}
}

// TestLoses: where a kill may lose commits as documented, it is not known whether a violation breaks the promise.
func TestLoses(t *testing.T) {
	r := &results.Run{Config: results.Config{Isolation: "WATCH", Promises: "sser", Loses: "appendonly is no", Ended: "complete"}}
	o := results.Outcome{Level: "sser", Verdict: verdict.Violated}
	r.Config.Weigh(&o)
	r.Outcomes = append(r.Outcomes, o)
	if text := r.Promise(); r.Words() != "violated" || strings.Contains(text, "a bug to report") || !strings.Contains(text, "since appendonly is no. So a violation need not be a bug.") {
		t.Errorf("%s: %s", r.Words(), text)
	}
	r.Config.Away = true
	if text := r.Promise(); strings.Contains(text, "kills") || !strings.Contains(text, "If it crashed, it may have lost commits, as documented, since appendonly is no. So a violation need not be a bug.") {
		t.Error(text)
	}
}

// TestPromise: the texts of a run tell a violated promise from a violation of more than is promised,
// and the worse of the two is the run's.
func TestPromise(t *testing.T) {
	for _, tc := range []struct {
		promises, violated string // violated are levels; "invariant" is an invariant
		words, texts       string // texts are separated by |
	}{
		{"si", "si,ser", "violated: breaks the promise", "So snapshot isolation is promised, and a violation is a bug to report.|Serializability is not promised"},
		{"si", "ser", "violated, not promised", "Serializability is not promised: a violation is documented behaviour."},
		{"rc", "ra,si", "violated, not promised", "Read atomic and snapshot isolation are not promised"},
		{"rc", "rc", "violated: breaks the promise", "So read committed is promised"},
		{"ser", "invariant", "violated: breaks the promise", "So serializability without session order is promised"},
		{"si", "invariant", "violated, not promised", "promises snapshot isolation"},
		{"", "si", "violated", ""},
	} {
		r := &results.Run{Config: results.Config{Driver: "d", Isolation: "that isolation", Promises: tc.promises, Levels: []string{"ser"}, Ended: "complete", History: "h"}}
		for _, name := range strings.Split(tc.violated, ",") {
			if name == "invariant" {
				r.Invariants = []generator.InvariantResult{{Name: "sum", Text: "The sum is 0.", Problem: "it is 7"}}
				continue
			}
			o := results.Outcome{Level: name, Verdict: verdict.Violated, Reason: "so it is", Anomalies: []results.Anomaly{}}
			r.Config.Weigh(&o)
			r.Outcomes = append(r.Outcomes, o)
		}
		if got := r.Words(); got != tc.words {
			t.Errorf("%s, %s violated: %q, want %q", tc.promises, tc.violated, got, tc.words)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "h"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := results.SaveRepro(dir, r, &results.Repro{}); err != nil {
			t.Fatal(err)
		}
		page, err := results.Save(dir, r, pages.Draw)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{page, filepath.Join(dir, "summary.md"), filepath.Join(dir, results.ReproFolder, "README.md")} {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range strings.Split(tc.texts, "|") {
				if !strings.Contains(string(b), want) {
					t.Errorf("%s, %s violated: %s lacks %q:\n%.3000s", tc.promises, tc.violated, filepath.Base(file), want, b)
				}
			}
			if tc.promises == "" && strings.Contains(string(b), "promise") {
				t.Errorf("%s tells of a promise that is not known", filepath.Base(file))
			}
		}
		x, err := results.NewIndex([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.HasSuffix(tc.words, "not promised"); (x.NotPromised == 1) != want || x.Counts["violated"] != 1 {
			t.Errorf("%s, %s violated: index %+v", tc.promises, tc.violated, x)
		}
	}
}

// TestOldFolders: folders without the field promised are read, and get it from the promise of the run.
func TestOldFolders(t *testing.T) {
	dir := t.TempDir()
	r := sample(t)
	if _, err := results.Save(dir, r, pages.Draw); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "verdict.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if all[0]["promised"] != true || all[1]["promised"] != false {
		t.Errorf("si %v, ser %v promised", all[0]["promised"], all[1]["promised"])
	}
	for _, o := range all {
		delete(o, "promised")
	}
	if b, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	old, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{old.Outcomes[0].Words(), old.Outcomes[1].Words()}; got[0] != "violated: breaks the promise" || got[1] != "violated, not promised" {
		t.Error(got)
	}
}

// TestBrokenPromises: who asks for a stronger level than the promised one is told that the promise is broken, too, once.
func TestBrokenPromises(t *testing.T) {
	alone := func(levels ...string) *results.Counterexample {
		return &results.Counterexample{Standing: &results.Standing{Not: levels}}
	}
	ser := func(not ...string) results.Outcome {
		return results.Outcome{Level: "ser", Verdict: verdict.Violated, Standing: &results.Standing{Not: not, AlsoNot: []string{"ser"}},
			Anomalies: []results.Anomaly{{Name: "WriteSkew", Counterexample: alone("ser-noso")}, {Name: "LostUpdate", Counterexample: alone("psi", "si")}}}
	}
	for name, tc := range map[string]struct {
		promises string
		all      []results.Outcome
		want     string
	}{
		"broken":           {"si", []results.Outcome{ser("si")}, "si: LostUpdate"},
		"kept":             {"si", []results.Outcome{ser("ser-noso")}, ""},
		"asked for":        {"si", []results.Outcome{ser("si"), {Level: "si", Verdict: verdict.Unknown}}, ""},
		"broken elsewhere": {"si", []results.Outcome{ser("si"), {Level: "psi", Verdict: verdict.Violated}}, ""},
		"none":             {"", []results.Outcome{ser("si")}, ""},
		"not explained":    {"si", []results.Outcome{{Level: "ser", Verdict: verdict.Violated}}, ""},
	} {
		c := &results.Config{Promises: tc.promises}
		for n := range tc.all {
			c.Weigh(&tc.all[n])
		}
		got := ""
		for _, o := range c.BrokenPromises(tc.all) {
			if got += o.Level + ":"; o.Verdict != verdict.Violated || o.Promised == nil || !*o.Promised || o.Reason == "" {
				t.Errorf("%s: %+v", name, o)
			}
			for _, a := range o.Anomalies {
				got += " " + a.Name
			}
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestBrokenPromisesInWindows: a later window than the first violated one may be the one that breaks the promise. The windows of the run
// were not judged at the promised level, so no figures say so. What a satisfied window follows from is said only if all do.
func TestBrokenPromisesInWindows(t *testing.T) {
	window := func(v verdict.Verdict, from string, not ...string) *results.Outcome {
		o := &results.Outcome{Level: "ser", Verdict: v, Committed: 9, FollowsFrom: from, Certified: true}
		if len(not) > 0 {
			o.Standing = &results.Standing{Not: not, AlsoNot: []string{"ser"}}
			o.Anomalies = []results.Anomaly{{Name: not[0], Counterexample: &results.Counterexample{Standing: &results.Standing{Not: not}}}}
		}
		return o
	}
	c := &results.Config{Promises: "si"}
	sum := results.Outcome{Level: "ser"}
	sum.AddWindow(1, window(verdict.Satisfied, "sser"))
	sum.AddWindow(2, window(verdict.Violated, "", "ser-noso"))
	sum.AddWindow(3, window(verdict.Violated, "")) // not explained
	sum.AddWindow(4, window(verdict.Violated, "", "psi", "si"))
	if got := sum.Standing.Text; got != "violates ser-noso and psi, and so every stronger level" {
		t.Error(got)
	}
	c.Weigh(&sum)
	all := c.BrokenPromises([]results.Outcome{sum})
	if len(all) != 1 || all[0].Level != "si" || all[0].Windows != nil || len(all[0].Anomalies) > 0 || all[0].Certified || !strings.Contains(all[0].Reason, "shown by window 4") {
		t.Errorf("%+v", all)
	}
	same, mixed := results.Outcome{}, results.Outcome{}
	for n, from := range []string{"sser", "sser", ""} {
		if mixed.AddWindow(n+1, window(verdict.Satisfied, from)); from != "" {
			same.AddWindow(n+1, window(verdict.Satisfied, from))
		}
	}
	if same.FollowsFrom != "sser" || mixed.FollowsFrom != "" {
		t.Errorf("%q, %q", same.FollowsFrom, mixed.FollowsFrom)
	}
}
