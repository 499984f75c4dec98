package sim

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct{ isolation, dsn, want string }{
		{"serializable", "", ""},
		{"serializable", "sim://", ""},
		{"snapshot isolation", "sim://?off=first-committer-wins,undo&rate=1&lag=3&nodes=2&yield=0&seed=7", ""},
		{"serializable", "postgres://", "expected sim://?off=NAME"},
		{"serializable", "sim://host", "expected sim://?off=NAME"},
		{"serializable", "sim://?of=undo", `unknown option "of"; known are off, rate, lag`},
		{"serializable", "sim://?off=nothing", `no protection "nothing" to switch off; there are first-committer-wins, dangerous-structure`},
		{"serializable", "sim://?off=first-committer-wins", `does not use first-committer-wins; it uses predicates, range-locks`},
		{"serializable", "sim://?off=", `no protection "" to switch off`},
		{"serializable", "sim://?rate=0", "rate=0: expected a share"},
		{"serializable", "sim://?rate=2", "rate=2: expected a share"},
		{"serializable", "sim://?yield=x", "yield=x: expected a share"},
		{"serializable", "sim://?lag=2ms", "lag=2ms: expected a number of commits"},
		{"serializable", "sim://?nodes=1", "nodes=1: expected a number from 2"},
		{"serializable", "sim://?seed=-1", "seed=-1: expected a whole number"},
		{"serializable", "sim://?window=0", "window=0: expected a share"},
		{"serializable", "sim://?lag=2&lag=3", "lag is given twice"},
	} {
		_, err := driver{}.Open(context.Background(), drivers.Config{Isolation: c.isolation, DSN: c.dsn})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %q: %v, want %q", c.isolation, c.dsn, err, c.want)
		}
	}
}

// TestEveryProtection: each protection has a name, is used by some isolation, and is documented.
// What is switched off is reported.
func TestEveryProtection(t *testing.T) {
	docs, err := os.ReadFile("../../docs/sim.md")
	if err != nil {
		t.Fatal(err)
	}
	for n, p := range protections {
		if int(p.id) != n {
			t.Errorf("%s is out of order", p.name)
		}
		if !strings.Contains(string(docs), "| `"+p.name+"` |") {
			t.Errorf("docs/sim.md does not mention %s", p.name)
		}
		rests := ""
		for _, iso := range isolations {
			if iso.keeps[p.id] {
				rests = iso.Name
			}
		}
		d, err := driver{}.Open(context.Background(), drivers.Config{Isolation: rests, DSN: "sim://?off=" + p.name})
		if err != nil {
			t.Fatal(err)
		}
		if notes := d.(drivers.Noter).Notes(); len(notes) != 1 || !strings.Contains(notes[0], p.name) || !strings.Contains(d.Server(), p.name) {
			t.Errorf("%s: %q, %s", p.name, notes, d.Server())
		}
	}
	for _, iso := range isolations {
		if !strings.Contains(string(docs), "| "+iso.Name+" |") {
			t.Errorf("docs/sim.md does not mention isolation %s", iso.Name)
		}
	}
}
