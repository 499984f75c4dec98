package results

import (
	"embed"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"github.com/pkg/errors"
)

//go:embed *.tmpl *.css *.js
var pageFiles embed.FS

// pages are the templates of all pages: "report" of one run, "index" of
// several, and their parts. They are parsed once they are needed: few commands
// draw pages.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("pages").Funcs(template.FuncMap{
		"style":        func() template.CSS { return template.CSS(pageFile("style.css")) },
		"script":       func(name string) template.JS { return template.JS(pageFile(name)) },
		"pictures":     func(a Anomaly) template.HTML { return pictures(&a) },
		"pictureParts": func() template.HTML { return pictureParts },
		"seconds":      func(s float64) string { return fmt.Sprintf("%.3f s", s) },
		"count":        thousands,
		"percent":      func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
		"ms":           func(x float64) string { return fmt.Sprintf("%.2f ms", x) },
		"join":         func(s []string) string { return strings.Join(s, ", ") },
		"commas":       func(s []string) string { return strings.Join(s, ",") },
		"capital":      capital,
		"span":         span,
		"inc":          func(n int) int { return n + 1 },
		"shown":        func(a Anomaly) []Txn { t, _ := a.Shown(); return t },
		"unshown":      func(a Anomaly) int { _, n := a.Shown(); return n },
		"lines":        func(s string) []string { return strings.Split(s, "\n") },
	}).ParseFS(pageFiles, "*.tmpl"))
})

// pageFile returns an embedded file, which is there.
func pageFile(name string) string {
	b, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(errors.Wrap(err, "embedded file"))
	}
	return string(b)
}

// page draws a page.
func page(name string, data any) ([]byte, error) {
	var b strings.Builder
	if err := pages().ExecuteTemplate(&b, name, data); err != nil {
		return nil, errors.Wrap(err, name)
	}
	return []byte(b.String()), nil
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// thousands groups the digits of a count.
func thousands(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// span shows a transaction's interval in milliseconds.
func span(t Txn) string {
	show := func(ns *int64) string {
		if ns == nil {
			return "?"
		}
		return fmt.Sprintf("%.3f", float64(*ns)/1e6)
	}
	return show(t.Begin) + " – " + show(t.End)
}
