package bench

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/plot/plotter"

	"github.com/isohound/isohound/checker/verdict"
)

// Save writes the points as CSV, the pictures, and a report in Markdown with both, and returns
// the path of the report. repeat is the command that repeats the measurement; about describes
// the machine.
func (runs *Runs) Save(dir, repeat, about string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", errors.WithStack(err)
	}
	table, err := runs.csv()
	if err != nil {
		return "", err
	}
	if err := save(filepath.Join(dir, runs.Name+".csv"), table); err != nil {
		return "", err
	}
	if len(runs.Points) > 0 {
		for _, p := range runs.Pictures {
			if err := picture(dir, p.Name, runs.charts(&p)); err != nil {
				return "", errors.Wrap(err, p.Name)
			}
		}
	}
	path := filepath.Join(dir, runs.Name+".md")
	return path, save(path, runs.markdown(repeat, about))
}

func (runs *Runs) charts(of *RunPicture) []chart {
	var charts []chart
	for _, a := range runs.Axes {
		c := chart{x: a.Label, y: of.Label, ticks: a.Points, log: !of.Percent, least: of.least}
		for _, k := range runs.Contestants {
			for _, l := range of.lines {
				line := series{name: k.Name + l.suffix}
				for i := range runs.Points {
					if p := &runs.Points[i]; p.Axis == a.Name && p.Contestant == k.Name && p.Verdict != verdict.Unknown {
						line.points = append(line.points, plotter.XY{X: p.X, Y: l.of(p)})
					}
				}
				c.series = append(c.series, line)
			}
		}
		charts = append(charts, c)
	}
	return charts
}

func (runs *Runs) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"axis", "x", "contestant", "verdict", "committed", "aborted", "unknown_outcome", "abort_rate", "generate_seconds", "check_seconds", "peak_mb",
		"sessions", "txns_per_session", "operations", "keys", "reason"})
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, p := range runs.Points {
		s := &p.Settings
		_ = w.Write([]string{p.Axis, num(p.X), p.Contestant, p.Verdict.String(), count(p.Committed), count(p.Aborted), count(p.Unknown), num(p.AbortRate),
			num(p.GenerateSeconds), num(p.CheckSeconds), num(p.PeakMB),
			strconv.Itoa(s.Sessions), strconv.Itoa(s.TxnsEach), strconv.Itoa(s.Operations), strconv.Itoa(s.Keys), p.Reason})
	}
	w.Flush()
	return b.Bytes(), errors.WithStack(w.Error())
}

func (runs *Runs) markdown(repeat, about string) []byte {
	var b bytes.Buffer
	u := runsUsual
	fmt.Fprintf(&b, "# %s\n\n%s\n\n    %s\n\n%s\n\n%d sessions, %d transactions each, %d keys, uniform, %d operations in a general transaction, where the axis says nothing else.\n",
		runs.Title, about, repeat, runs.Explanation, u.Sessions, u.TxnsEach, u.Keys, u.Operations)
	for _, line := range runs.Violated() {
		fmt.Fprintf(&b, "\n**%s**\n", line)
	}
	for _, p := range runs.Pictures {
		fmt.Fprintf(&b, "\n![%s](%s.png)\n", p.Name, p.Name)
	}
	for _, a := range runs.Axes {
		fmt.Fprintf(&b, "\n## %s\n\n| %s |", a.Name, a.Label)
		for _, k := range runs.Contestants {
			fmt.Fprintf(&b, " %s |", k.Name)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(runs.Contestants)) + "\n")
		for _, x := range a.Points {
			fmt.Fprintf(&b, "| %g |", x)
			for _, k := range runs.Contestants {
				fmt.Fprintf(&b, " %s |", runs.cell(a.Name, x, k.Name))
			}
			b.WriteString("\n")
		}
	}
	return b.Bytes()
}

// cell is the result of a contestant at a point, in words.
func (runs *Runs) cell(axis string, x float64, contestant string) string {
	for _, p := range runs.Points {
		if p.Axis != axis || p.X != x || p.Contestant != contestant {
			continue
		}
		text := fmt.Sprintf("%.1f %% aborted, %d committed in %.2f s, checked in %.3f s, %.0f MB", 100*p.AbortRate, p.Committed, p.GenerateSeconds, p.CheckSeconds, p.PeakMB)
		if p.Verdict != verdict.Satisfied {
			text += ", **" + p.Verdict.String() + "**"
		}
		return text
	}
	return "not run"
}
