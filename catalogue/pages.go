package catalogue

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/internal/link"
)

// about explains the cells of a table.
const about = "Shown: a run has the anomaly. Prevented: a run was judged satisfied at a level that forbids it, or the invariant that it breaks held. Not tried: no run could have told."

// Markdown renders results and the table of anomalies as Markdown.
func Markdown(all ...*Results) string {
	var b strings.Builder
	var list []Result
	for _, r := range all {
		list = append(list, r.Scenarios...)
	}
	fmt.Fprintf(&b, "# Scenarios: %s\n", Tally(list))
	for _, r := range all {
		fmt.Fprintf(&b, "\n%s, isohound %s, %s.\n\n    %s\n", r.Started.Format("2006-01-02 15:04:05 MST"), r.Version, r.Machine, r.Command)
	}
	if t := Tabulate(all...); len(t.Rows) > 0 {
		fmt.Fprintf(&b, "\n## Anomalies\n\n%s\n\n| | %s |\n|---|%s\n", about, strings.Join(t.Columns, " | "), strings.Repeat("---|", len(t.Columns)))
		for _, row := range t.Rows {
			fmt.Fprintf(&b, "| %s |", cell(row.Engine))
			for _, c := range row.Cells {
				fmt.Fprintf(&b, " %s |", c.markdown())
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## Scenarios\n\n| scenario | expected | came out | | seconds |\n|---|---|---|---|---|\n")
	for _, r := range all {
		for n := range r.Scenarios {
			s := &r.Scenarios[n]
			name := cell(s.Name)
			if to := r.link(s); to != "" {
				name = fmt.Sprintf("[%s](%s)", name, link.To(to))
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, cell(s.Expected), cell(s.CameOut()), s.Status.Mark(), s.took())
		}
	}
	return b.String()
}

// took formats how long the runs took, and how long one was expected to take.
func (r *Result) took() string {
	if r.Tries == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f of %.0f", r.Seconds, r.ExpectedSeconds)
}

// cell escapes text for a cell of a table in Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}

func (c Cell) markdown() string {
	text := c.Text()
	if c.Unexpected {
		text = "**" + text + "**"
	}
	for n, to := range c.Links {
		if n == 0 {
			text = fmt.Sprintf("[%s](%s)", text, link.To(to))
		} else {
			text += fmt.Sprintf(" [%d](%s)", n+1, link.To(to))
		}
	}
	return text
}

//go:embed table.tmpl
var pageText string

// page is parsed when needed, because most programs do not draw it.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("table").Funcs(template.FuncMap{
		"link":  func(name string) template.URL { return template.URL(link.To(name)) },
		"inc":   func(n int) int { return n + 1 },
		"class": func(s Seen) string { return strings.ReplaceAll(string(s), " ", "-") },
		"state": func(s Status) string { return strings.ReplaceAll(string(s), " ", "-") },
	}).Parse(pageText))
})

// HTML renders the same as a self-contained page.
func HTML(all ...*Results) ([]byte, error) {
	type line struct {
		*Result
		Link, Took, Mark, CameOut string
	}
	data := struct {
		Tally, About, Worst string
		Runs                []*Results
		Table               *Table
		Lines               []line
	}{About: about, Runs: all, Table: Tabulate(all...)}
	var list []Result
	for _, r := range all {
		list = append(list, r.Scenarios...)
		for n := range r.Scenarios {
			s := &r.Scenarios[n]
			data.Lines = append(data.Lines, line{s, r.link(s), s.took(), s.Status.Mark(), s.CameOut()})
		}
	}
	data.Tally, data.Worst = Tally(list), string(Met)
	count := Count(list)
	for _, st := range []Status{NotRun, Undecided, Failed, Unmet} {
		if count[st] > 0 && (st != NotRun || count[Met] == 0) {
			data.Worst = strings.ReplaceAll(string(st), " ", "-")
		}
	}
	var b bytes.Buffer
	if err := page().Execute(&b, data); err != nil {
		return nil, errors.WithStack(err)
	}
	return b.Bytes(), nil
}
