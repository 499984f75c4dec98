package catalogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/results"
)

// Names of the files in the folder with the results of scenarios.
const (
	resultsFile  = "scenarios.json"
	markdownFile = "scenarios.md"
	htmlFile     = "scenarios.html"
)

// Results are the results of one run of scenarios.
type Results struct {
	Started   time.Time `json:"started"`
	Version   string    `json:"version"`
	Machine   string    `json:"machine"`
	Command   string    `json:"command"`
	Scenarios []Result  `json:"scenarios"`

	// base is prepended to the links if the results are in another folder.
	base string
}

// Save writes the results and the pages made from them into dir, and returns the path of the
// page.
func (r *Results) Save(dir string) (string, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", errors.Wrap(err, resultsFile)
	}
	page, err := HTML(r)
	if err != nil {
		return "", err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{resultsFile, append(data, '\n')}, {markdownFile, []byte(Markdown(r))}, {htmlFile, page}} {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, 0o666); err != nil {
			return "", errors.WithStack(err)
		}
	}
	return filepath.Join(dir, htmlFile), nil
}

// LoadResults reads what Save wrote into dir.
func LoadResults(dir string) (*Results, error) {
	b, err := os.ReadFile(filepath.Join(dir, resultsFile))
	if err != nil {
		return nil, errors.Wrapf(err, "%s is not the folder of a run of scenarios", dir)
	}
	r := &Results{base: filepath.ToSlash(dir) + "/"}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, errors.Errorf("%s is damaged: %s; put back the file that the run of scenarios wrote", filepath.Join(dir, resultsFile), results.JSONWords(err))
	}
	return r, nil
}

// link is the path of a result's report, relative to the page, or "".
func (r *Results) link(s *Result) string {
	switch {
	case s.Report != "":
		return r.base + s.Report
	case s.Dir != "":
		return r.base + s.Dir + "/"
	}
	return ""
}

// Count says how many scenarios have each status.
func Count(list []Result) map[Status]int {
	n := map[Status]int{}
	for _, s := range list {
		n[s.Status]++
	}
	return n
}

// Tally returns the counts of Count in words.
func Tally(list []Result) string {
	n := Count(list)
	parts := []string{fmt.Sprintf("%d of %d as expected", n[Met], len(list))}
	for _, st := range []struct {
		status Status
		words  string
	}{{Unmet, "NOT as expected"}, {Undecided, "undecided"}, {Failed, "failed"}, {NotRun, "not run"}} {
		if n[st.status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[st.status], st.words))
		}
	}
	return strings.Join(parts, ", ")
}

// Mark returns a symbol and words for a status.
func (s Status) Mark() string {
	switch s {
	case Met:
		return "✓ as expected"
	case Unmet:
		return "✗ NOT AS EXPECTED"
	case Undecided:
		return "? undecided"
	case Failed:
		return "! failed"
	}
	return "– not run"
}

// CameOut says what was not as expected, or why there is no result.
func (r *Result) CameOut() string {
	var parts []string
	for _, f := range r.Findings {
		if f.Status != Met {
			parts = append(parts, fmt.Sprintf("%s was %s, expected %s", f.What, f.Got, f.Want))
		}
	}
	if r.Reason != "" {
		reason, _, more := strings.Cut(r.Reason, "\n") // the rest is from a log
		if more {
			reason += " …"
		}
		parts = append(parts, reason)
	}
	if len(parts) == 0 {
		return r.Expected
	}
	return strings.Join(parts, "; ")
}

// Line formats the result as one line.
func (r *Result) Line() string {
	line := fmt.Sprintf("%-18s %s: %s", r.Status.Mark(), r.Name, r.CameOut())
	if r.Tries > 0 {
		line += fmt.Sprintf("  (%.1f s", r.Seconds)
		if r.Tries > 1 {
			line += fmt.Sprintf(", %d tries", r.Tries)
		}
		switch {
		case r.Restarts == 1:
			line += ", the target started again once"
		case r.Restarts > 1:
			line += fmt.Sprintf(", the target started again %d times", r.Restarts)
		}
		line += ")"
	}
	return line
}

// Summary appends the results as Markdown to a file, the summary of a CI job, which may have
// other content.
func (r *Results) Summary(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return errors.WithStack(err)
	}
	_, err = bytes.NewBufferString(Markdown(r) + "\n").WriteTo(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return errors.WithStack(err)
}
