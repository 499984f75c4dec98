// Package pages draws the pages of results: the report of a run, the index of several, and the night of a hunt. It is
// separate from results, so that programs without pages do not need the chart library, its fonts
// and the templates.
package pages

import (
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"sync"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/internal/link"
	"github.com/isohound/isohound/results"
)

//go:embed *.tmpl *.css *.js
var pageFiles embed.FS

// templates are those of all pages: "report" of one run, "index" of several, "hunt" of a night, "compare" of two,
// and their parts.
// They are parsed when needed, because few commands draw pages.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("pages").Funcs(template.FuncMap{
		"style":        func() template.CSS { return template.CSS(pageFile("style.css")) },
		"script":       func(name string) template.JS { return template.JS(pageFile(name)) },
		"rates":        rates,
		"latencies":    latencies,
		"pictures":     func(a results.Anomaly) template.HTML { return pictures(&a) },
		"timeline":     timeline,
		"faultLines":   faultLines,
		"perSecond":    perSecond,
		"pictureParts": func() template.HTML { return pictureParts },
		"seconds":      func(s float64) string { return fmt.Sprintf("%.3f s", s) },
		"count":        results.Thousands,
		"percent":      func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
		"ms":           func(x float64) string { return fmt.Sprintf("%.2f ms", x) },
		"join":         func(s []string) string { return strings.Join(s, ", ") },
		"semicolons":   func(s []string) string { return strings.Join(s, "; ") }, // of what may have commas
		"commas":       func(s []string) string { return strings.Join(s, ",") },
		"capital":      results.Capital,
		"clock":        func(a results.Anomaly) explain.Clock { return explain.ClockOf(a.Transactions...) },
		"span":         span,
		"inc":          func(n int) int { return n + 1 },
		"shown":        func(a results.Anomaly) []results.Txn { t, _ := a.Shown(); return t },
		"unshown":      func(a results.Anomaly) int { _, n := a.Shown(); return n },
		"command":      command,
		"link":         func(name string) template.URL { return template.URL(link.To(name)) },
		"links":        links,
		"numbers":      numbers,
		"lines":        func(s string) []string { return strings.Split(s, "\n") },
	}).ParseFS(pageFiles, "*.tmpl"))
})

var flag = regexp.MustCompile(`(^|\s)(--?[\w-]+)`)

// command is a command whose flags stay whole: a browser takes each of their hyphens for a place to break the line at.
func command(line string) template.HTML {
	return template.HTML(flag.ReplaceAllString(template.HTMLEscapeString(line), `$1<span class="flag">$2</span>`))
}

var address = regexp.MustCompile(`https?://[^\s()<>"']*[^\s()<>"'.,;:]`)

// links is a text whose web addresses are links.
func links(text string) template.HTML {
	var b strings.Builder
	at := 0
	for _, m := range address.FindAllStringIndex(text, -1) {
		url := template.HTMLEscapeString(text[m[0]:m[1]])
		b.WriteString(template.HTMLEscapeString(text[at:m[0]]) + `<a href="` + url + `">` + url + `</a>`)
		at = m[1]
	}
	b.WriteString(template.HTMLEscapeString(text[at:]))
	return template.HTML(b.String())
}

// numbers is a list of numbers with commas, whose lines break after these and not within a number.
func numbers(list string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(list), ",", ",<wbr>"))
}

// perSecond is a rate without decimals.
func perSecond(n int64, seconds float64) string {
	if seconds <= 0 {
		return ""
	}
	return results.Thousands(fmt.Sprintf("%.0f", float64(n)/seconds))
}

// pageFile returns an embedded file, which must exist.
func pageFile(name string) string {
	b, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(errors.Wrap(err, "embedded file"))
	}
	return string(b)
}

// Draw draws the page called name: "report", "index", "hunt" or "compare".
func Draw(name string, data any) ([]byte, error) {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		return nil, errors.Wrap(err, name)
	}
	return []byte(b.String()), nil
}

// span formats a transaction's interval in milliseconds.
func span(c explain.Clock, t results.Txn) string {
	show := func(ns *int64) string {
		if ns == nil {
			return "?"
		}
		return c.Millis(*ns)
	}
	return show(t.Begin) + " – " + show(t.End)
}
