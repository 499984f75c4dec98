package results

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
)

//go:embed report.tmpl
var reportText string

// reportTemplate is parsed once it is needed: few commands draw reports.
var reportTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"graph":   func(a Anomaly) template.HTML { return graph(&a) },
		"seconds": func(s float64) string { return fmt.Sprintf("%.3f s", s) },
		"count":   thousands,
		"percent": func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
		"ms":      func(x float64) string { return fmt.Sprintf("%.2f ms", x) },
		"join":    func(s []string) string { return strings.Join(s, ", ") },
		"span":    span,
		"inc":     func(n int) int { return n + 1 },
		"shown":   func(a Anomaly) []Txn { t, _ := a.Shown(); return t },
		"unshown": func(a Anomaly) int { _, n := a.Shown(); return n },
		"lines":   func(s string) []string { return strings.Split(s, "\n") },
	}).Parse(reportText))
})

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

type causeCount struct {
	Cause string
	Count int64
}

// Draw writes the report and the JUnit file of a run into dir and returns the
// path of the report.
func Draw(dir string, r *Run) (string, error) {
	junit, err := JUnit(r)
	if err != nil {
		return "", err
	}
	if err := write(dir, junitFile, junit); err != nil {
		return "", err
	}
	page, err := render(r)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, reportFile), write(dir, reportFile, page)
}

func render(r *Run) ([]byte, error) {
	data := struct {
		*Run
		Worst            verdict.Verdict
		Rates, Latencies template.HTML
		Causes           []causeCount
		Findings         []finding
		Notes            []string
	}{Run: r, Worst: worst(r), Findings: findings(r.Outcomes), Notes: slices.Clone(r.Config.Notes)}
	if len(r.Outcomes) > 0 {
		data.Notes = append(data.Notes, r.Outcomes[0].Notes...) // of the file, so the same for all levels
		if r.Outcomes[0].Predicates != "" {
			data.Notes = append(data.Notes, "Transactions read or changed rows by predicates. The rows count as reads and writes of items; that other rows were not among them is recorded, and not judged.")
		}
	}
	// A chart needs two points.
	if len(r.Stats.Intervals) > 2 && r.Stats.IntervalSeconds > 0 {
		var err error
		if data.Rates, err = rateChart(&r.Stats); err != nil {
			return nil, err
		}
		if data.Latencies, err = latencyChart(&r.Stats); err != nil {
			return nil, err
		}
	}
	for cause, n := range r.Stats.AbortsByCause {
		data.Causes = append(data.Causes, causeCount{cause, n})
	}
	slices.SortFunc(data.Causes, func(a, b causeCount) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return strings.Compare(a.Cause, b.Cause)
	})
	var b bytes.Buffer
	if err := reportTemplate().Execute(&b, data); err != nil {
		return nil, errors.Wrap(err, reportFile)
	}
	return b.Bytes(), nil
}

// finding is an anomaly with all the levels that it violates.
type finding struct {
	Anomaly
	Levels []string
}

func findings(outcomes []Outcome) []finding {
	var out []finding
	at := map[string]int{}
	for _, o := range outcomes {
		for _, a := range o.Anomalies {
			id := fmt.Sprint(a.Name, a.Txns)
			n, ok := at[id]
			if !ok {
				n = len(out)
				at[id] = n
				out = append(out, finding{Anomaly: a})
			}
			out[n].Levels = append(out[n].Levels, o.Level)
		}
	}
	return out
}

// worst returns the verdict that the page leads with.
func worst(r *Run) verdict.Verdict {
	outcomes := r.Outcomes
	if len(r.Broken()) > 0 {
		return verdict.Violated
	}
	for _, v := range []verdict.Verdict{verdict.Violated, verdict.Unknown, verdict.Vacuous} {
		if slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Verdict == v }) {
			return v
		}
	}
	if len(outcomes) == 0 {
		return verdict.Unknown
	}
	return verdict.Satisfied
}
