package bench

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"
	"gonum.org/v1/plot/plotter"
)

const compactName = "compact"

// Save writes the points as CSV, a picture, and a report in Markdown with both, and returns the
// path of the report. repeat is the command that repeats the measurement; about describes the
// machine.
func (c *Compact) Save(dir, repeat, about string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", errors.WithStack(err)
	}
	table, err := c.csv()
	if err != nil {
		return "", err
	}
	if err := save(filepath.Join(dir, compactName+".csv"), table); err != nil {
		return "", err
	}
	if len(c.graphs()) > 0 {
		if err := picture(dir, compactName, c.charts()); err != nil {
			return "", errors.Wrap(err, compactName)
		}
	}
	path := filepath.Join(dir, compactName+".md")
	text, err := c.markdown(repeat, about)
	if err != nil {
		return "", err
	}
	return path, save(path, text)
}

// graphs lists the measured graphs, each once.
func (c *Compact) graphs() []GraphFacts {
	var out []GraphFacts
	for _, p := range c.Points {
		if p.Status != StatusCyclic && (len(out) == 0 || out[len(out)-1] != p.GraphFacts) {
			out = append(out, p.GraphFacts)
		}
	}
	return out
}

func (c *Compact) charts() []chart {
	graphs := c.graphs()
	var charts []chart
	for _, part := range []string{construct, update} {
		ch := chart{y: part + ", s", log: true, least: 1e-4, names: []string{}}
		for i, g := range graphs {
			ch.ticks, ch.names = append(ch.ticks, float64(i)), append(ch.names, g.History)
		}
		for _, a := range compactAlgorithms(part) {
			line := series{name: a.name}
			for i, g := range graphs {
				if p := c.point(&g, part, a.name); p != nil && p.Status == StatusDone {
					line.points = append(line.points, plotter.XY{X: float64(i), Y: p.Seconds})
				}
			}
			ch.series = append(ch.series, line)
		}
		charts = append(charts, ch)
	}
	return charts
}

func (c *Compact) point(g *GraphFacts, part, algorithm string) *CompactPoint {
	for i := range c.Points {
		if p := &c.Points[i]; p.GraphFacts == *g && p.Part == part && p.Algorithm == algorithm {
			return p
		}
	}
	return nil
}

func (c *Compact) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"history", "level", "sessions", "txns", "edges", "inferred_edges", "part", "algorithm", "status", "seconds", "held_bytes", "added_edges", "reason"})
	for i := range c.Points {
		p := &c.Points[i]
		_ = w.Write([]string{p.History, p.Level, strconv.Itoa(p.Sessions), strconv.Itoa(p.Txns), strconv.Itoa(p.Edges), strconv.Itoa(p.Inferred),
			p.Part, p.Algorithm, p.Status, strconv.FormatFloat(p.Seconds, 'g', 6, 64), strconv.FormatInt(p.Bytes, 10), strconv.Itoa(p.Added), p.Reason})
	}
	w.Flush()
	return b.Bytes(), errors.WithStack(w.Error())
}

func (c *Compact) markdown(repeat, about string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Compact and full closures\n\n%s\n\n    %s\n\n", about, repeat)
	fmt.Fprintf(&b, `As in Figure 8 of the Vbox paper, on known graphs with real time: seconds to construct the
closure, and to add the edges that saturation infers one by one, "again" by constructing it
anew for each. Warshall, Purdom and Italiano keep the full closure, a byte for each pair, Purdom+
and Italiano+ the compact one, as in the paper's section 4.4. bitset and chains are the backends, on one
processor; "points" has real time as edges through further vertices, without intervals, "at once"
adds all edges in one go. At most %v each; what takes less than a second is the median of %d. A transaction comes before another in time
if its end is strictly before the other's begin.

![%s](%s.png)

`, c.Timeout, c.Repeat, compactName, compactName)
	for _, line := range c.Wrong {
		fmt.Fprintf(&b, "**Wrong: %s**\n\n", line)
	}
	for i := range c.Points {
		if p := &c.Points[i]; p.Status == StatusCyclic {
			fmt.Fprintf(&b, "%s: %s\n\n", &p.GraphFacts, p.Reason)
		}
	}
	for _, part := range []string{construct, update} {
		if err := c.table(&b, part); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// table has a row for each graph and a column for each algorithm.
func (c *Compact) table(b *bytes.Buffer, part string) error {
	header := []string{"history", "transactions", "edges", "longest path"}
	if part == update {
		header[3] = "inferred"
	}
	for _, a := range compactAlgorithms(part) {
		header = append(header, a.name)
	}
	rows := [][]string{header}
	for _, g := range c.graphs() {
		figure := g.LongestPath
		if part == update {
			figure = g.Inferred
		}
		row := []string{g.History, humanize.Comma(int64(g.Txns)), humanize.Comma(int64(g.Edges)), humanize.Comma(int64(figure))}
		for _, name := range header[4:] {
			p := c.point(&g, part, name)
			switch {
			case p == nil:
				row = append(row, "not measured")
			case p.Status == StatusDone:
				row = append(row, seconds(p.Seconds)+" s, "+size(p.Bytes))
			default:
				row = append(row, p.Status+": "+p.Reason)
			}
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(b, "## %s\n\n", part)
	if err := markdownTable(b, 1, rows); err != nil {
		return err
	}
	b.WriteString("\n")
	return nil
}
