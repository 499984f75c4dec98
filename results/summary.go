package results

import (
	"fmt"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
)

const (
	// maxRows bounds the rows of a summary's table, and maxWords the anomalies described in
	// words, because continuous integration systems show at most 1 MiB.
	maxRows, maxWords = 200, 10
)

// RunSummary is a run in Markdown, for the summary page of a CI job: the verdicts, the anomaly
// in words, how to repeat the run, and what the run's folder holds. repro says whether there is
// a reproduction folder.
func RunSummary(r *Run, repro bool) string {
	var b strings.Builder
	c := &r.Config
	fmt.Fprintf(&b, "### isohound: %s on %s, %s\n\n", r.Words(), plain(c.Server), plain(c.Isolation))
	fmt.Fprintf(&b, "%s\n\n", plain(sentence(r)))
	if text := r.Promise(); text != "" {
		fmt.Fprintf(&b, "%s\n\n", plain(text))
	}
	fmt.Fprintf(&b, "%s, %d sessions, seed %d", plain(c.Workload), c.Sessions, c.Seed)
	if r.HasFigures() {
		fmt.Fprintf(&b, "; %s committed, %s aborted, %s of unknown outcome in %.1f s",
			Thousands(r.Stats.Committed), Thousands(r.Stats.Aborted), Thousands(r.Stats.Unknown), r.Stats.Seconds)
	}
	if text := r.mostAborts(); text != "" {
		fmt.Fprintf(&b, "; %s", plain(text))
	}
	switch c.Ended {
	case generator.Complete:
	case NotYet:
		fmt.Fprintf(&b, "; %s", c.Early())
	default:
		fmt.Fprintf(&b, "; ended: %s", plain(c.EndedWords()))
	}
	b.WriteString("\n\n")
	if len(r.Outcomes) > 0 {
		b.WriteString("| level | verdict | anomaly or reason | proof | transactions |\n|---|---|---|---|---:|\n")
		for _, o := range r.Outcomes {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", o.Level, loud(&o), plain(what(&o)), proof(&o), Thousands(o.Txns))
		}
		b.WriteString("\n")
	}
	for _, i := range r.Invariants {
		if i.Problem != "" || i.Error != "" {
			fmt.Fprintf(&b, "The invariant **%s** %s (%s)\n\n", plain(i.Name), plain(c.InvariantWords(i)), plain(i.Text))
		}
	}
	inWords(&b, r.Outcomes)
	for _, n := range notes(r) {
		fmt.Fprintf(&b, "Note: %s\n\n", plain(n))
	}
	fmt.Fprintf(&b, "Repeat it:\n\n%s\n", fenced("sh", c.Repeat))
	if alone := c.Alone(); alone != "" {
		fmt.Fprintf(&b, "%s\n\n", plain(alone))
	}
	fmt.Fprintf(&b, "In the run's folder: `%s`, `%s` (the history)", reportFile, c.History)
	if repro {
		fmt.Fprintf(&b, ", `%s/` (all that someone else needs)", ReproFolder)
	}
	fmt.Fprintf(&b, ", `%s`, `%s`, `%s`, `%s`, `%s`.\n", verdictFile, elleFile, statsFile, configFile, junitFile)
	return b.String()
}

// CheckSummary is verdicts on histories in Markdown. unread are the errors of histories that
// could not be judged.
func CheckSummary(outcomes []Outcome, unread []error) string {
	var b strings.Builder
	counts := map[verdict.Verdict]int{}
	for _, o := range outcomes {
		counts[o.Verdict]++
	}
	var parts []string
	for _, v := range []verdict.Verdict{verdict.Violated, verdict.Unknown, verdict.Satisfied} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	if len(unread) > 0 {
		parts = append(parts, fmt.Sprintf("%d not judged", len(unread)))
	}
	fmt.Fprintf(&b, "### isohound check: %s\n\n", strings.Join(parts, ", "))
	if len(outcomes) > 0 {
		b.WriteString("| history | level | verdict | anomaly or reason | proof | transactions |\n|---|---|---|---|---|---:|\n")
	}
	for n, o := range outcomes {
		if n == maxRows {
			fmt.Fprintf(&b, "| … and %d more | | | | | |\n", len(outcomes)-n)
			break
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", plain(o.Path), o.Level, loud(&o), plain(what(&o)), proof(&o), Thousands(o.Txns))
	}
	b.WriteString("\n")
	inWords(&b, outcomes)
	for n, err := range unread {
		if n == maxWords {
			fmt.Fprintf(&b, "… and %d more\n", len(unread)-n)
			break
		}
		fmt.Fprintf(&b, "- %s\n", plain(err.Error()))
	}
	return b.String()
}

// AppendSummary appends Markdown to a file, as the summary pages of CI jobs require.
func AppendSummary(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return errors.WithStack(err)
	}
	_, err = f.WriteString(text + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return errors.WithStack(err)
}

// what names the anomalies of an outcome, or says why there are none.
func what(o *Outcome) string {
	var names []string
	for _, a := range o.Anomalies {
		names = append(names, a.Name)
	}
	if o.Reason != "" {
		names = append(names, o.Reason)
	}
	return strings.Join(names, ", ")
}

func proof(o *Outcome) string {
	if o.Certified {
		return "verified"
	}
	return ""
}

func loud(o *Outcome) string {
	if o.Verdict == verdict.Satisfied {
		return o.Words()
	}
	return "**" + o.Words() + "**"
}

// inWords describes anomalies in words, each once.
func inWords(b *strings.Builder, outcomes []Outcome) {
	all := map[string][]Outcome{}
	var paths []string
	for _, o := range outcomes {
		if _, ok := all[o.Path]; !ok {
			paths = append(paths, o.Path)
		}
		all[o.Path] = append(all[o.Path], o)
	}
	told := 0
	for _, path := range paths {
		for _, f := range findings(all[path]) {
			if told++; told > maxWords {
				continue
			}
			fmt.Fprintf(b, "**%s** violates %s", plain(f.Name), strings.Join(f.Levels, ", "))
			if len(paths) > 1 {
				fmt.Fprintf(b, " in %s", plain(path))
			}
			if times := f.Times(); times != "" {
				fmt.Fprintf(b, "; %s, this is one of them", times)
			}
			b.WriteString(":\n\n")
			for _, line := range strings.Split(f.Text, "\n") {
				fmt.Fprintf(b, "> %s<br>\n", plain(line))
			}
			var txns []string
			shown, more := f.Shown()
			for _, t := range shown {
				txns = append(txns, TxnLines(t, "the JSON output")...)
			}
			if more > 0 {
				txns = append(txns, fmt.Sprintf("… and %d more", more))
			}
			fmt.Fprintf(b, "\n%s\n", fenced("", strings.Join(txns, "\n")))
		}
	}
	if told > maxWords {
		fmt.Fprintf(b, "… and %d more anomalies\n\n", told-maxWords)
	}
}

// TxnLines formats a transaction as a line. If it has statements with conditions, each has a line. Of many operations, those
// that the anomaly names are among the ones that are shown, and a line says that all has the others.
func TxnLines(t Txn, all string) []string {
	var ops []explain.Op
	t.Brief(func(shown []explain.Op) { ops = append(ops, shown...) }, func(n int) {
		ops = append(ops, explain.Note(fmt.Sprintf("… %s more operations …", Thousands(n))))
	})
	lines := explain.Lines(ops)
	if len(ops) < len(t.Ops) {
		lines = append(lines, fmt.Sprintf("(%s has all %s operations)", all, Thousands(len(t.Ops))))
	}
	if len(lines) == 0 {
		lines = []string{""}
	}
	if place := t.Place(); place != "" {
		lines = append([]string{place}, lines...)
	}
	head := fmt.Sprintf("T%-6d session %-4d %-10s ", t.ID, t.Session, t.Status)
	for n := range lines {
		lines[n] = head + lines[n]
		head = strings.Repeat(" ", len(head))
	}
	return lines
}

var markdown = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "\\<", "&", "\\&",
	"|", "\\|", "~", "\\~", "#", "\\#", "\r", " ", "\n", " ")

// plain escapes text for Markdown, on one line.
func plain(s string) string { return markdown.Replace(s) }

// fenced returns a code block. Its fence is longer than any in the text.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}
