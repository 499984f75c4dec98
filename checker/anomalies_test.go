package checker_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history/dsl"
)

var update = flag.Bool("update", false, "write the table of TestAnomaliesInDocs to docs/anomalies.md")

// anomalyFolders are the folders of recorded histories, in the order of the table.
var anomalyFolders = []struct{ folder, title string }{
	{"figure5", "Figure 5 of the MTC paper"},
	{"found", "Found in databases"},
	{"table1", "Shapes of the Vbox paper's Table 1"},
	{"figures", "Figures of the papers"},
	{"regressions", "Once judged wrongly, or easy to judge wrongly"},
}

const (
	anomaliesFile  = "../docs/anomalies.md"
	anomaliesBegin = "<!-- begin of the table -->\n"
	anomaliesEnd   = "<!-- end of the table -->\n"
)

// anomalyLevels are the columns of the table, no level before one that implies it.
func anomalyLevels() []level.Level {
	comparable := slices.DeleteFunc(level.All(), func(l level.Level) bool { return l == level.LIN })
	return append(level.Descending(comparable), level.LIN)
}

// anomalyRow is a history and its verdict at each level.
type anomalyRow struct {
	name, file string
	timed      bool
	known      checker.Known
	reasons    map[level.Level]string // of unknown verdicts
}

// TestAnomaliesInDocs: the table in docs/anomalies.md has the verdicts of this build, and every proof is verified.
// go test ./checker -run TestAnomaliesInDocs -update writes the table.
func TestAnomaliesInDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString(anomaliesBegin + "| history |")
	levels := anomalyLevels()
	for _, lvl := range levels {
		fmt.Fprintf(&b, " `%s` |", lvl)
	}
	b.WriteString("\n|---|" + strings.Repeat(":-:|", len(levels)) + "\n")
	var notes []string
	for _, f := range anomalyFolders {
		files, err := filepath.Glob("../scenarios/" + f.folder + "/*.txt")
		if err != nil || len(files) == 0 {
			t.Fatalf("found %d files in %s (%v)", len(files), f.folder, err)
		}
		fmt.Fprintf(&b, "| **%s** |%s\n", f.title, strings.Repeat(" |", len(levels)))
		for _, file := range files {
			r := judgeEverywhere(t, file)
			r.consistent(t)
			if strings.HasSuffix(file, "-clean.txt") {
				r.allSatisfied(t)
				continue
			}
			notes = append(notes, r.write(&b)...)
		}
	}
	b.WriteString("\nUnknown cells:\n\n")
	for _, n := range notes {
		b.WriteString("- " + n + "\n")
	}
	b.WriteString(anomaliesEnd)
	docs, err := os.ReadFile(anomaliesFile)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := strings.Index(string(docs), anomaliesBegin), strings.Index(string(docs), anomaliesEnd)
	if begin < 0 || end < begin {
		t.Fatalf("%s has no place for the table", anomaliesFile)
	}
	end += len(anomaliesEnd)
	if string(docs[begin:end]) == b.String() {
		return
	}
	if !*update {
		t.Fatalf("the table in docs/anomalies.md differs; go test ./checker -run TestAnomaliesInDocs -update writes\n\n%s", b.String())
	}
	if err := os.WriteFile(anomaliesFile, []byte(string(docs[:begin])+b.String()+string(docs[end:])), 0o666); err != nil {
		t.Fatal(err)
	}
}

// judgeEverywhere judges the history of a file at every level. Levels that no engine decides may follow from others.
func judgeEverywhere(t *testing.T, file string) *anomalyRow {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h, err := dsl.Parse(string(text), file)
	if err != nil {
		t.Fatal(err)
	}
	if h, _, err = scans.Expand(t.Context(), h, 1<<30); err != nil {
		t.Fatal(err)
	}
	row := &anomalyRow{name: strings.TrimSuffix(filepath.Base(file), ".txt"), file: file, timed: h.Timed(), known: checker.Known{}, reasons: map[level.Level]string{}}
	s, opt := checker.NewLevels(h), checker.Options{Certify: true}
	for _, lvl := range anomalyLevels() {
		r, err := s.Check(t.Context(), lvl, opt)
		if err != nil {
			t.Fatalf("%s, %s: %v", file, lvl, err)
		}
		row.add(t, r)
	}
	for _, lvl := range level.All() {
		if row.known[lvl] != 0 {
			continue
		}
		r, err := s.Settle(t.Context(), lvl, row.known, opt)
		if err != nil {
			t.Fatalf("%s, %s: %v", file, lvl, err)
		}
		row.add(t, r)
	}
	return row
}

// add records a verdict.
func (row *anomalyRow) add(t *testing.T, r *verdict.Result) {
	t.Helper()
	if r.Verdict == verdict.Unknown {
		row.reasons[r.Level] = r.Reason
		return
	}
	delete(row.reasons, r.Level)
	if row.known[r.Level] = r.Verdict; !r.Certified {
		t.Errorf("%s, %s: %s without a verified proof: %s", row.file, r.Level, r.Verdict, r.Reason)
	}
}

// consistent fails if a level is violated although a stronger one is satisfied.
func (row *anomalyRow) consistent(t *testing.T) {
	t.Helper()
	for strong, v := range row.known {
		for weak, w := range row.known {
			if strong.Implies(weak) && v == verdict.Satisfied && w == verdict.Violated {
				t.Errorf("%s: %s %s, but %s %s", row.file, strong, v, weak, w)
			}
		}
	}
}

// allSatisfied fails if a clean sibling violates a level. At LIN a lone write is an insertion, which must
// find the key absent.
func (row *anomalyRow) allSatisfied(t *testing.T) {
	t.Helper()
	for lvl, v := range row.known {
		if lvl != level.LIN && v != verdict.Satisfied {
			t.Errorf("%s, %s: %s", row.file, lvl, v)
		}
	}
}

// write adds the row to a table, and returns what is to be said of its unknown cells.
func (row *anomalyRow) write(b *strings.Builder) []string {
	fmt.Fprintf(b, "| [%s](../%s) |", row.name, strings.TrimPrefix(filepath.ToSlash(row.file), "../"))
	var notes []string
	levels := map[string][]string{} // by reason
	for _, lvl := range anomalyLevels() {
		cell, reason := "?", row.reasons[lvl]
		switch {
		case row.known[lvl] == verdict.Satisfied:
			cell = "–"
		case row.known[lvl] == verdict.Violated:
			cell = "✗"
		case lvl.RealTime() && !row.timed:
			cell = "t"
		case lvl == level.LIN && strings.Contains(reason, "is not a lightweight transaction"):
			cell = ""
		default:
			if len(levels[reason]) == 0 {
				notes = append(notes, reason)
			}
			levels[reason] = append(levels[reason], "`"+lvl.String()+"`")
		}
		b.WriteString(strings.TrimRight(" "+cell, " ") + " |")
	}
	b.WriteString("\n")
	for n, reason := range notes {
		notes[n] = fmt.Sprintf("%s, %s: %s", row.name, strings.Join(levels[reason], ", "), reason)
	}
	return notes
}
