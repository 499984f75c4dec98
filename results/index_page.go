package results

import (
	"fmt"
	"os"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/internal/link"
)

// indexMark is in every index page and identifies it.
const indexMark = `<meta name="isohound" content="index">`

// HTML renders the index as one self-contained page. Its links are relative to folder.
func (x *Index) HTML(folder string, page Page) ([]byte, error) {
	type count struct {
		Verdict string
		N       int
	}
	linked := x.linked(folder)
	data := struct {
		*Index
		Title string
		By    []count
	}{Index: linked, Title: x.Total() + " – isohound"}
	for _, v := range indexVerdicts {
		if n := x.Counts[v]; n > 0 {
			data.By = append(data.By, count{v, n})
		}
	}
	return page("index", data)
}

// IsIndex reports whether a file may be overwritten: it is an index page, or does not exist.
func IsIndex(path string) (bool, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return false, nil // to open a pipe would wait for ever
	}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return true, nil
	}
	return strings.Contains(string(b), indexMark), errors.WithStack(err)
}

// Markdown renders the index. Its links are relative to folder.
func (x *Index) Markdown(folder string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "### isohound: %s\n\n", x.Total())
	b.WriteString("| database | isolation | level | workload | seed | verdict | anomaly or reason | commits | commits/s | date | report |\n|---|---|---|---|---:|---|---|---:|---:|---|---|\n")
	for _, r := range x.linked(folder).Rows {
		date, seed, commits, rate, verdict := "", "", "", "", r.Words()
		if !r.Started.IsZero() {
			date, seed = r.Started.Format("2006-01-02 15:04"), fmt.Sprint(r.Seed)
			commits, rate = Thousands(r.Commits), Thousands(fmt.Sprintf("%.0f", r.Rate))
		}
		if verdict != "satisfied" {
			verdict = "**" + verdict + "**"
		}
		report := plain(r.Folder)
		if r.Report != "" {
			report = fmt.Sprintf("[%s](%s)", report, link.To(r.Report))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", plain(r.Server), plain(r.Isolation), plain(r.Level), plain(r.Workload),
			seed, verdict, plain(r.Found()), commits, rate, date, report)
	}
	return []byte(b.String())
}

// Words is the verdict, of a violation whether it breaks a promise, and whether the run ended early.
func (r Row) Words() string {
	w := words(r.Verdict, r.Promised)
	if r.Early != "" {
		w += ", ended early"
	}
	return w
}

// Found is the text of a row next to the verdict.
func (r Row) Found() string {
	if r.Anomaly != "" && r.Reason != "" {
		return r.Anomaly + "; " + r.Reason
	}
	return r.Anomaly + r.Reason
}
