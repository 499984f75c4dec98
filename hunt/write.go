package hunt

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/internal/link"
	"github.com/isohound/isohound/results"
)

// Write writes the page, the summary and the JUnit file into the folder of the hunt, and returns the path of the page.
func (m *Morning) Write(dir string, page results.Page) (string, error) {
	if err := m.keepScenarios(dir); err != nil {
		return "", err
	}
	html, err := page("hunt", m)
	if err != nil {
		return "", err
	}
	junit, err := m.JUnit()
	if err != nil {
		return "", err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{PageFile, html}, {SummaryFile, []byte(m.Summary())}, {JUnitFile, junit}} {
		if err := replace(filepath.Join(dir, f.name), f.text); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, PageFile), nil
}

// replace replaces a file at once, so that a reader never sees half of it.
func replace(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return errors.WithStack(err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(tmp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return errors.WithStack(err)
}

// Words is the night in a few words.
func (m *Morning) Words() string {
	by := m.Total.ByStatus
	var parts []string
	for _, s := range []struct {
		status Status
		one    string
		many   string
	}{
		{Unexpected, "1 cell is violated", "%d cells are violated"}, {Lacking, "1 expected violation is missing", "%d expected violations are missing"},
		{Failed, "1 cell failed", "%d cells failed"}, {Unknown, "1 cell is unknown", "%d cells are unknown"},
		{Vacuous, "1 cell tested nothing", "%d cells tested nothing"}, {EndedEarly, "1 cell ended early", "%d cells ended early"},
	} {
		switch n := by[s.status]; {
		case n == 1:
			parts = append(parts, s.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf(s.many, n))
		}
	}
	if len(parts) > 2 { // the counts below the headline have all
		parts = append(parts[:2], "and more")
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	if len(m.Cells) == by[NotRun] {
		return "Nothing was run"
	}
	return "All as expected"
}

// Verdict is the colour of the night.
func (m *Morning) Verdict() string {
	by := m.Total.ByStatus
	switch {
	case by[Unexpected]+by[Lacking] > 0:
		return violated
	case by[Failed]+by[Unknown]+by[Vacuous]+by[EndedEarly] > 0 || len(m.Cells) == by[NotRun]:
		return unknown
	}
	return satisfied
}

// Fresh are the violations that nobody expects.
func (m *Morning) Fresh() []*Group { return m.split(true) }

// Usual are the violations that are expected, or not promised.
func (m *Morning) Usual() []*Group { return m.split(false) }

func (m *Morning) split(fails bool) []*Group {
	var out []*Group
	for _, g := range m.Groups {
		if fails == (g.Status == Unexpected) {
			out = append(out, g)
		}
	}
	return out
}

// Counted is a number of cells with one status.
type Counted struct {
	Status Status
	N      int
}

// Counts are the cells by status, the worst first.
func (m *Morning) Counts() []Counted {
	var out []Counted
	for s := Unexpected; s <= NotRun; s++ {
		if n := m.Total.ByStatus[s]; n > 0 {
			out = append(out, Counted{s, n})
		}
	}
	return out
}

// When says when the night was, and whether it is over.
func (m *Morning) When() string {
	text := fmt.Sprintf("Night %d, %s, lasted %s", m.Night.ID, m.Night.Began.Format("2006-01-02 15:04"), m.Night.Lasted())
	if !m.Over {
		text += "; it is not over: it goes on, or was interrupted"
	}
	return text
}

// Summary is the night in Markdown, for a file in the folder of the hunt.
func (m *Morning) Summary() string { return m.SummaryFrom("") }

// SummaryFrom is Summary for a file elsewhere, from which base is the path of the folder of the hunt, with slashes.
func (m *Morning) SummaryFrom(base string) string {
	var b strings.Builder
	linked := func(name, file string) string { return "[" + name + "](" + link.To(path.Join(base, file)) + ")" }
	fmt.Fprintf(&b, "### isohound hunt %s: %s\n\n", plain(m.Plan), plain(m.Words()))
	t := &m.Total
	fmt.Fprintf(&b, "%s. %s: %d judged, %d with a violation, %d ended early, %d failed; %s commits.%s\n\n", plain(m.When()), count(t.Runs, "run"), t.Judged, t.Violated, t.Early, t.Failed, results.Thousands(t.Commits), t.shrinking())
	for n, a := range m.Away {
		fmt.Fprintf(&b, "- %s\n", plain(a.Words()))
		if n == len(m.Away)-1 {
			b.WriteString("\n")
		}
	}
	if len(m.New) > 0 {
		b.WriteString("New since the night before:\n\n")
		for _, n := range m.New {
			fmt.Fprintf(&b, "- %s\n", plain(n))
		}
		b.WriteString("\n")
	}
	b.WriteString("| target | isolation | workload | faults | verdict | levels | runs | ended early | commits | distance | what |\n|---|---|---|---|---|---|---:|---:|---:|---|---|\n")
	for n, c := range m.Cells {
		if n == maxListed {
			fmt.Fprintf(&b, "| … and %d more | | | | | | | | | | |\n", len(m.Cells)-n)
			break
		}
		words := c.Status.String()
		if c.Status < Expected {
			words = "**" + words + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d | %d | %s | %s | %s |\n", plain(c.Cell.Target.Name), plain(c.Cell.Isolation), plain(c.Cell.Workload.Name), plain(c.Cell.Fault), words, strings.Join(c.Levels, ", "),
			c.Runs, c.Early, results.Thousands(c.Commits), strings.TrimPrefix(c.Distance(), "distance "), plain(c.Text))
	}
	b.WriteString("\n")
	for n, g := range m.Groups {
		if n == 0 {
			b.WriteString("Violations:\n\n")
		}
		if n == 50 {
			fmt.Fprintf(&b, "- … and %d more, which the page has\n", len(m.Groups)-n)
			break
		}
		fmt.Fprintf(&b, "- **%s**%s violates %s on %s, %s: %s; %s%s\n", plain(g.Name), plain(inBrackets(g.Edges)), strings.Join(g.Levels, ", "), plain(g.Target), plain(g.Isolation), g.Status, plain(g.Rate()), g.where(linked))
		if x := g.Shrunk; x != nil {
			fmt.Fprintf(&b, "  - %s", plain(x.Words()))
			if g.Scenario != "" {
				fmt.Fprintf(&b, " %s.", linked("Scenario", g.Scenario))
			}
			b.WriteString("\n")
			if c := x.Command(); c != "" {
				fmt.Fprintf(&b, "\n    ```sh\n    %s\n    ```\n", strings.ReplaceAll(c, "\n", " "))
			}
		}
	}
	return b.String()
}

// shrinking says how many of the runs were made to shrink a violation.
func (t *Total) shrinking() string {
	if t.Shrinking == 0 {
		return ""
	}
	return fmt.Sprintf(" %d of the runs were made to find a smaller workload for a violation; only the counts of cells leave them out.", t.Shrinking)
}

// where names the run to look at.
func (g *Group) where(link func(name, file string) string) string {
	if g.Best == nil || g.Best.Report == "" {
		return ""
	}
	return "; " + link(fmt.Sprintf("run %d", g.Best.ID), g.Best.Report)
}

// Rate says how often the violation was seen.
func (g *Group) Rate() string {
	text := fmt.Sprintf("%d of %s", g.Runs, count(g.Of, "run"))
	if g.OfSame > 0 {
		text += fmt.Sprintf("; %d of %d with the same seed", g.Same, g.OfSame)
	}
	if g.OfNear > 0 {
		text += fmt.Sprintf("; %d of %d with parameters near", g.Near, g.OfNear)
	}
	if g.Besides > 0 {
		text += fmt.Sprintf("; %s that repeated another violation", count(g.Besides, "run"))
	}
	if g.Shrinking > 0 {
		text += fmt.Sprintf("; %s of shrinking besides", count(g.Shrinking, "run"))
	}
	return text
}

// History says whether the violation was seen before.
func (g *Group) History() string {
	if g.Before == 0 {
		return "new"
	}
	return fmt.Sprintf("%s before, since night %d", count(g.Before, "run"), g.Since)
}

// promise says whether a level is promised.
func promise(promised *bool) string {
	switch {
	case promised == nil:
		return "promise not known"
	case *promised:
		return "promised"
	}
	return "not promised"
}

var markdown = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "\\<", "&", "\\&", "|", "\\|", "~", "\\~", "#", "\\#", "\r", " ", "\n", " ")

// plain escapes text for Markdown, on one line.
func plain(s string) string { return markdown.Replace(s) }

type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Started  string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
		Skipped *junitProblem `xml:"skipped,omitempty"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit renders the night as a test suite with a case for each cell. An unexpected violation and an expected one that
// was not found are failures; cells that failed, are unknown or vacuous, or only ended early are errors; cells that
// were not run are skipped.
func (m *Morning) JUnit() ([]byte, error) {
	s := junitSuite{Name: "isohound hunt " + m.Plan, Tests: len(m.Cells), Time: fmt.Sprintf("%.3f", m.Night.Spent.Seconds()), Started: m.Night.Began.UTC().Format("2006-01-02T15:04:05")}
	for _, n := range m.Cells {
		c := n.Cell
		name := c.Isolation + ", " + c.Workload.Name
		if c.Fault != noFault {
			name += ", " + c.Fault
		}
		jc := junitCase{Class: "isohound.hunt." + c.Target.Name, Name: name, Time: fmt.Sprintf("%.3f", n.Seconds)}
		p := &junitProblem{Type: n.Status.String(), Message: n.Status.String() + ": " + n.Text}
		if n.Worst != nil {
			p.Text = n.Worst.Command + "\n"
		}
		switch n.Status {
		case Unexpected, Lacking:
			jc.Failure = p
			s.Failures++
		case Failed, Unknown, Vacuous, EndedEarly:
			jc.Error = p
			s.Errors++
		case NotRun:
			text := n.Text
			if text == "" {
				text = "the night ended before it"
			}
			jc.Skipped = &junitProblem{Message: text}
			s.Skipped++
		}
		s.Cases = append(s.Cases, jc)
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return nil, errors.Wrap(err, JUnitFile)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// Round is how long a run took, in words.
func (r *Run) Round() string { return r.Took.Round(100 * time.Millisecond).String() }
