package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/results"
)

// TestChoices: a violation that only shows after all choices of a count were tried is reported like every other
// one: with a proof, a name, and a minimal counterexample, which has the same verdict as a file of its own.
func TestChoices(t *testing.T) {
	path := write(t, "count.txt", "initial nil\ninitial x=12 y=13\ns2: w(z,14)\ns4: pw(v>10 and v<14; x=12->5, y=13->6)\ns1: pc(v>10; 1)\ns3: r(z,14) pc(v>10; 2) w(z,15)\n")
	out := filepath.Join(t.TempDir(), "why")
	c := isohound(t, "explain", path, "--level", "si", "--out", out)
	const count = " counted keys with v > 10 and got "
	if c.code != 1 || !strings.Contains(c.out, "proof verified") || !strings.Contains(c.out, count) || !strings.Contains(c.out, "There is no other way") {
		t.Fatalf("exit %d\n%s%s", c.code, c.out, c.msg)
	}
	c = isohound(t, "check", path, "--level", "ser,si", "--json")
	var o results.Outcome
	if err := json.NewDecoder(strings.NewReader(c.out)).Decode(&o); err != nil {
		t.Fatal(err)
	}
	if len(o.Anomalies) == 0 || !o.Certified || o.Reason != "" {
		t.Fatalf("%+v", o)
	}
	a := &o.Anomalies[0]
	if a.Name == "Contradiction" || a.Counterexample == nil || !a.Counterexample.Minimal || !strings.Contains(a.Text, count) || !strings.Contains(a.Counterexample.History, "; it ") {
		t.Errorf("%+v %+v", a, a.Counterexample)
	}
	folders, err := os.ReadDir(out)
	if err != nil || len(folders) == 0 {
		t.Fatal(err)
	}
	minimal := filepath.Join(out, folders[0].Name(), "minimal.jsonl")
	c = isohound(t, "check", minimal, "--level", "si", "--certify")
	if c.code != 1 || !strings.Contains(c.out, "proof verified") || !strings.Contains(c.out, count) {
		t.Errorf("exit %d\n%s%s", c.code, c.out, c.msg)
	}
	// Without one of the alternatives it would be another history.
	text, err := os.ReadFile(minimal)
	if err != nil {
		t.Fatal(err)
	}
	loose := strings.Replace(string(text), `"choices":[[`, `"choices":[[[],`, 1)
	if c = isohound(t, "check", write(t, "loose.jsonl", loose), "--level", "si", "--certify"); c.code != 0 || !strings.Contains(c.out, "proof verified") {
		t.Errorf("with an alternative that says nothing: exit %d\n%s%s", c.code, c.out, c.msg)
	}
	bad := strings.Replace(string(text), `{"kind":"r"`, `{"kind":"w"`, 1)
	if c = isohound(t, "check", write(t, "bad.jsonl", bad), "--level", "si"); c.code != 65 || !strings.Contains(c.msg, "it must be r or n") {
		t.Errorf("exit %d\n%s%s", c.code, c.out, c.msg)
	}
}
