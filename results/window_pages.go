package results

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/isohound/isohound/checker/verdict"
)

// WindowPages bounds the violated windows of a run that are explained, and that have a page.
const WindowPages = 20

// windowPage is the page of a violated window.
type windowPage struct {
	Number int
	// File is its name in the run's folder, with slashes.
	File string
	// Levels are those at which the window is violated; Names those of its anomalies.
	Levels, Names []string
	outcomes      []Outcome
}

func pageOf(n int) *windowPage {
	return &windowPage{Number: n, File: WindowsFolder + fmt.Sprintf("/%06d.html", n)}
}

func (p *windowPage) add(o *Outcome) {
	p.outcomes = append(p.outcomes, *o)
	p.Levels = append(p.Levels, o.Level)
	for _, a := range o.Anomalies {
		if !slices.Contains(p.Names, a.Name) {
			p.Names = append(p.Names, a.Name)
		}
	}
}

// draw writes the page into the run's folder.
func (p *windowPage) draw(dir string, c *Config, page Page) error {
	data := struct {
		Config   *Config
		Title    string
		Number   int
		Outcomes []Outcome
		Findings []finding
		legend
		Files []fileLink
	}{Config: c, Number: p.Number, Outcomes: p.outcomes, Findings: findings(p.outcomes)}
	data.Title = fmt.Sprintf("Window %d: %s, %s – isohound", p.Number, c.Driver, c.Isolation)
	data.legend = legendOf(data.Findings)
	for _, plain := range []bool{false, true} {
		for _, f := range []struct {
			n    int
			what string
		}{{p.Number, "the history of this window"}, {p.Number - 1, "that of the window before"}} {
			name := WindowFile(f.n, plain)
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				data.Files = append(data.Files, fileLink{filepath.Base(name), f.what})
			}
		}
	}
	b, err := page("window", data)
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, WindowsFolder), filepath.Base(p.File), b)
}

// DrawWindow writes the page of window n, whose outcomes at all levels are given, into the run's folder. It
// writes nothing if none is violated.
func DrawWindow(dir string, c *Config, n int, outcomes []Outcome, page Page) error {
	p := pageOf(n)
	for i := range outcomes {
		if outcomes[i].Verdict == verdict.Violated {
			p.add(&outcomes[i])
		}
	}
	if len(p.outcomes) == 0 {
		return nil
	}
	return p.draw(dir, c, page)
}

// drawWindows writes the pages of the first WindowPages violated windows, from their verdicts on disk. It
// returns them, and how many more are violated.
func drawWindows(dir string, c *Config, page Page) (all []*windowPage, more int, err error) {
	last := 0 // the violated window before
	err = EachWindow(dir, func(n, _ int, o *Outcome) error {
		switch {
		case o.Verdict != verdict.Violated:
			return nil
		case n != last && len(all) < WindowPages:
			all = append(all, pageOf(n))
		case n != last:
			more++
		}
		last = n
		if more == 0 {
			all[len(all)-1].add(o)
		}
		return nil
	})
	if os.IsNotExist(err) { // not a run in windows
		return nil, 0, nil
	}
	for _, p := range all {
		if err == nil {
			err = p.draw(dir, c, page)
		}
	}
	return all, more, err
}
