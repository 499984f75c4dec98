package link

import (
	"html/template"
	"net/url"
	"path"
	"strings"
	"testing"
)

// TestTo: a link has nothing that HTML, Markdown or an address takes for its own, and leads back to the path.
func TestTo(t *testing.T) {
	for name, want := range map[string]string{
		"runs/1/report.html":   "runs/1/report.html",
		"/h/a.yaml":            "/h/a.yaml",
		"../my hunts (2)/a":    "../my%20hunts%20%282%29/a",
		"a#b/r.html":           "a%23b/r.html",
		"a?b/r.html":           "a%3Fb/r.html",
		"a%20b/r.html":         "a%2520b/r.html",
		"a:b/r.html":           "./a:b/r.html",
		"javascript:alert(1)":  "./javascript:alert%281%29",
		"runs/a:b/r.html":      "runs/a:b/r.html",
		"a&lt;b|c]<d>\\'\"/r":  "a%26lt;b%7Cc%5D%3Cd%3E%5C%27%22/r",
		"//host/r.html":        "/host/r.html",
		"./a//b/":              "a/b/",
		"/":                    "/",
		"größe\n\xff/`x`.html": "gr%C3%B6%C3%9Fe%0A%FF/%60x%60.html",
	} {
		got := To(name)
		if got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
		if u, err := url.Parse(got); err != nil || u.Scheme != "" || u.Host != "" || path.Clean(u.Path) != path.Clean(name) {
			t.Errorf("%q: %s leads to %+v, %v", name, got, u, err)
		}
		var page strings.Builder
		if err := template.Must(template.New("").Parse(`<a href="{{.}}">`)).Execute(&page, template.URL(got)); err != nil || page.String() != `<a href="`+got+`">` {
			t.Errorf("%q: %s, %v", name, page.String(), err)
		}
	}
}
