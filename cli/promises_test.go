package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
)

// TestPromises: every isolation of every driver promises levels that can be checked, of which none
// implies another, and has a source and a note.
func TestPromises(t *testing.T) {
	for _, d := range drivers.All() {
		info := d.Info()
		for _, iso := range info.Isolations {
			name := info.Name + ", " + iso.Name
			if iso.Source == "" || iso.Note == "" {
				t.Errorf("%s: source %q, note %q", name, iso.Source, iso.Note)
			}
			if slices.Contains(info.Can, drivers.Lightweight) != (iso.Lightweight != "") {
				t.Errorf("%s promises %q for lightweight transactions", name, iso.Lightweight)
			}
			if iso.Promises == "" && !iso.ByServer && iso.Lightweight == "" || iso.Promises != "" && iso.ByServer {
				t.Errorf("%s promises %q, by the server: %v", name, iso.Promises, iso.ByServer)
			}
			for _, promise := range []string{iso.Promises, iso.Lightweight} {
				if promise == "" {
					continue
				}
				all, err := level.ParseList(promise)
				if err != nil || len(level.Strongest(all)) != strings.Count(promise, ",")+1 {
					t.Errorf("%s promises %s: %v, %v", name, promise, all, err)
				}
			}
		}
	}
}

// TestPromisesInDocs: the table in docs/drivers.md is that of this build.
func TestPromisesInDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| driver | isolation | promises | for lightweight transactions | |\n|---|---|---|---|---|\n")
	for _, d := range drivers.All() {
		name := "`" + d.Info().Name + "`"
		for _, iso := range d.Info().Isolations {
			promise := strings.ReplaceAll(iso.Promises, ",", ", ")
			if iso.ByServer {
				promise = "as the server is set"
			}
			source := strings.TrimPrefix(iso.Source, "docs/")
			light := strings.ReplaceAll(iso.Lightweight, ",", ", ")
			if promise != "" {
				promise = fmt.Sprintf("[%s](%s)", promise, source)
			} else {
				light = fmt.Sprintf("[%s](%s)", light, source)
			}
			if iso.Scans != "" {
				promise += fmt.Sprintf(", `%s` for transactions that scan", iso.Scans)
			}
			for _, cell := range []string{name, iso.Name, promise, light, iso.Note} {
				b.WriteString(strings.TrimRight("| "+cell, " ") + " ")
			}
			b.WriteString("|\n")
			name = ""
		}
	}
	docs, err := os.ReadFile("../docs/drivers.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(docs), "\n"+b.String()+"\n") {
		t.Errorf("the table in docs/drivers.md should be\n\n%s", b.String())
	}
}

// TestPromiseOfScans: what a database promises of single keys only is not promised of transactions that scan, and claimed is the
// other promise there.
func TestPromiseOfScans(t *testing.T) {
	for _, tc := range []struct{ workload, level string }{{"scan", "si"}, {"mini", "ser"}} {
		c := isohound(t, "run", "--driver", "badger", "--workload", tc.workload, "--sessions", "4", "--keys", "20", "--txns", "60", "--seed", "1", "--json", "--no-progress", "--quiet", "--out", filepath.Join(t.TempDir(), "run"))
		if o := c.outcomes(t); len(o) != 1 || o[0].Level != tc.level || o[0].Verdict != verdict.Satisfied {
			t.Errorf("%s: exit code %d: %s%s", tc.workload, c.code, c.out, c.msg)
		}
	}
	if c := isohound(t, "drivers"); !strings.Contains(c.out, "ser, si for transactions that scan") {
		t.Errorf("%s%s", c.out, c.msg)
	}
}
