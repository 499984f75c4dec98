package results

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/verdict"
)

type causeCount struct {
	Cause string
	Count int64
}

// Page draws the page with a given name; package pages does.
type Page func(name string, data any) ([]byte, error)

// Draw writes the files that are derived from a run into dir, its reports for people and for
// programs, and returns the path of the HTML report. A reproduction folder also gets a report.
func Draw(dir string, r *Run, page Page) (string, error) {
	report := filepath.Join(dir, reportFile)
	repro := filepath.Join(dir, ReproFolder)
	_, err := os.Stat(repro)
	folders := []string{dir}
	if err == nil {
		folders = append(folders, repro)
	}
	junit, err := JUnit(r)
	if err == nil {
		err = write(dir, junitFile, junit)
	}
	if err != nil {
		return "", err
	}
	if err := write(dir, summaryFile, []byte(RunSummary(r, len(folders) > 1))); err != nil {
		return "", err
	}
	windows, more, err := drawWindows(dir, &r.Config, page)
	if err != nil {
		return "", err
	}
	for _, folder := range folders {
		if folder == repro { // which has one window
			windows, more = nil, 0
		}
		b, err := render(r, filesIn(folder, r), windows, more, page)
		if err == nil {
			err = write(folder, reportFile, b)
		}
		if err != nil {
			return "", err
		}
	}
	return report, nil
}

// fileLink is a file in the folder of a report.
type fileLink struct{ Name, What string }

// filesIn lists the files that a report can link to.
func filesIn(folder string, r *Run) []fileLink {
	var there []fileLink
	for _, f := range []fileLink{
		{r.Config.History, "everything that was recorded"},
		{ReproFolder + "/" + readmeFile, "the violation as a folder of its own, to send to whoever develops the database"},
		{readmeFile, "what this folder is"},
		{repeatFile, "the command as a script"},
		{verdictFile, "the verdicts and their anomalies"},
		{elleFile, "the same in Elle's shape"},
		{statsFile, "rates and latencies"},
		{configFile, "the parameters"},
		{invariantsFile, "what was looked at in the database after the run"},
		{junitFile, "the verdicts as tests"},
		{summaryFile, "this page in brief, as Markdown"},
		{serverFile, "the server"},
	} {
		if _, err := os.Stat(filepath.Join(folder, f.Name)); f.Name != "" && err == nil {
			there = append(there, f)
		}
	}
	return there
}

// render draws the report with links to files and to the pages of violated windows. more windows are violated, and
// have no page.
func render(r *Run, files []fileLink, windows []*windowPage, more int, page Page) ([]byte, error) {
	data := struct {
		*Run
		Title    string
		Worst    verdict.Verdict
		Sentence string
		Causes   []causeCount
		Findings []finding
		legend
		Notes   []string
		Files   []fileLink
		Pages   []*windowPage
		MoreBad int // violated windows without a page
	}{Run: r, Pages: windows, MoreBad: more, Worst: worst(r), Sentence: sentence(r), Findings: findings(r.Outcomes), Notes: notes(r), Files: files, Causes: causes(r)}
	data.legend = legendOf(data.Findings)
	data.Title = r.Words() + " on " + r.Config.Driver + ", " + r.Config.Isolation + " – isohound"
	return page("report", data)
}

// notes are the limits on the meaning of a run's verdicts.
func notes(r *Run) []string {
	all := slices.Clone(r.Config.Notes)
	if len(r.Outcomes) > 0 {
		all = append(all, r.Outcomes[0].Notes...) // about the file, so they are the same for all levels
		if p := r.Outcomes[0].Predicates; p != nil && p.Reason != "" {
			all = append(all, p.Reason+". The rows of these scans count as reads and writes of items. Rows that they did not return count for nothing.")
		}
	}
	if len(r.Outcomes) > 0 && r.Outcomes[0].Snapshots != nil {
		words := r.Outcomes[0].Snapshots.Words()
		all = append(all, strings.ToUpper(words[:1])+words[1:]+".")
	}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Claim != nil {
			words := o.Claim.Words(o.Level)
			all = append(all, strings.ToUpper(words[:1])+words[1:]+".")
		}
		if o := &r.Outcomes[i]; o.Assumes != nil {
			all = append(all, fmt.Sprintf("%s, %s: %s.", o.Level, o.Words(), o.Assumes.Words(o.Verdict)))
		}
	}
	return all
}

// mostAborts names the most frequent cause of aborts if most transactions aborted.
func (r *Run) mostAborts() string {
	all := causes(r)
	if len(all) == 0 || r.Stats.Aborted <= r.Stats.Committed+r.Stats.Unknown {
		return ""
	}
	return fmt.Sprintf("most aborts by %s (%s of %s)", all[0].Cause, Thousands(all[0].Count), Thousands(r.Stats.Aborted))
}

// causes are the reasons why transactions did not commit, the most frequent
// first.
func causes(r *Run) []causeCount {
	var all []causeCount
	for cause, n := range r.Stats.AbortsByCause {
		all = append(all, causeCount{cause, n})
	}
	slices.SortFunc(all, func(a, b causeCount) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return strings.Compare(a.Cause, b.Cause)
	})
	return all
}
