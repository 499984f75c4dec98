package bench

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
)

// Names of the files of a growth benchmark.
const (
	csvFile    = "growth.csv"
	reportFile = "growth.md"
)

// Table writes the measurements as a table.
func Table(w io.Writer, ms []Measurement) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "history\ttransactions\tlevel\tcontestant\tverdict\treading s\tchecking s\ttotal s\tpeak MB"+reasonHead(ms))
	for _, m := range ms {
		txns := "not counted" // by a check that ended early
		if m.Txns > 0 {
			txns = strconv.Itoa(m.Txns)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f\t%.0f%s\n",
			m.History, txns, m.Level, m.Contestant, m.Verdict, m.ReadSeconds, m.CheckSeconds, m.WallSeconds, m.PeakMB, m.why())
	}
	return errors.WithStack(t.Flush())
}

// reasonHead is the head of the column that says why verdicts are unknown, or "" if none is.
func reasonHead(ms []Measurement) string {
	for _, m := range ms {
		if m.why() != "" {
			return "\treason"
		}
	}
	return ""
}

// why is the cell of that column, or "".
func (m *Measurement) why() string {
	if m.Verdict != verdict.Unknown || m.Reason == notMeasured {
		return ""
	}
	return "\t" + m.Reason
}

// Save writes the points as CSV, the plots, and a report in Markdown with both, and returns the
// path of the report. repeat is the command that repeats the measurement; about describes the
// machine.
func (g *Growth) Save(dir, repeat, about string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", errors.WithStack(err)
	}
	table, err := g.csv()
	if err != nil {
		return "", err
	}
	if err := save(filepath.Join(dir, csvFile), table); err != nil {
		return "", err
	}
	pictures, err := g.plots(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, reportFile)
	return path, save(path, g.markdown(pictures, repeat, about))
}

func save(path string, data []byte) error { return errors.WithStack(os.WriteFile(path, data, 0o666)) }

func (g *Growth) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"axis", "x", "level", "contestant", "verdict", "read_seconds", "check_seconds", "wall_seconds", "peak_mb",
		"sessions", "txns", "ops_per_txn", "keys", "reads", "duplicates", "seed", "reason"})
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for _, p := range g.Points {
		c := &p.Config
		_ = w.Write([]string{p.Axis, num(p.X), p.Level, p.Contestant, p.Verdict.String(), num(p.ReadSeconds), num(p.CheckSeconds), num(p.WallSeconds), num(p.PeakMB),
			strconv.Itoa(c.Sessions), strconv.Itoa(c.Txns), strconv.Itoa(c.Ops), strconv.Itoa(c.Keys), num(c.Reads), num(c.Duplicates), strconv.FormatUint(c.Seed, 10), p.Reason})
	}
	w.Flush()
	return b.Bytes(), errors.WithStack(w.Error())
}

// markdown describes the measurement, with a table for each axis: a row for each of its points,
// a column for each contestant and level.
func (g *Growth) markdown(pictures []string, repeat, about string) []byte {
	var b bytes.Buffer
	u := usual
	fmt.Fprintf(&b, "# Growth\n\n%s\n\n    %s\n\n", about, repeat)
	fmt.Fprintf(&b, "Synthetic valid histories of %d sessions, %d transactions each of %d operations, %d keys, %.0f %% reads, %.0f %% of the keys with\n"+
		"values that occur again, where the axis says nothing else. Seconds are those of the whole process, reading included.\n",
		u.sessions, u.txnsEach, u.ops, u.keys, u.reads*100, u.duplicates*100)
	if g.Scale != 1 {
		fmt.Fprintf(&b, "Transactions and keys are scaled by %g.\n", g.Scale)
	}
	for _, wrong := range g.Wrong {
		fmt.Fprintf(&b, "\n**Wrong: %s**\n", wrong)
	}
	for _, p := range pictures {
		fmt.Fprintf(&b, "\n![%s](%s)\n", strings.TrimSuffix(p, ".png"), p)
	}
	for _, a := range g.Axes {
		fmt.Fprintf(&b, "\n## %s\n\n| %s |", a.Name, a.Label)
		for _, lvl := range g.Levels {
			for _, k := range g.Contestants {
				fmt.Fprintf(&b, " %s, %s |", k.Name, lvl)
			}
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(g.Levels)*len(g.Contestants)) + "\n")
		for _, x := range a.Points {
			fmt.Fprintf(&b, "| %g |", x)
			for _, lvl := range g.Levels {
				for _, k := range g.Contestants {
					fmt.Fprintf(&b, " %s |", g.cell(a.Name, x, lvl.String(), k.Name))
				}
			}
			b.WriteString("\n")
		}
	}
	return b.Bytes()
}

// cell is the result of a contestant at a point, in words.
func (g *Growth) cell(axis string, x float64, lvl, contestant string) string {
	for _, p := range g.Points {
		if p.Axis == axis && p.X == x && p.Level == lvl && p.Contestant == contestant {
			switch p.Verdict {
			case verdict.Satisfied:
				return fmt.Sprintf("%.2f s, %.0f MB", p.WallSeconds, p.PeakMB)
			case verdict.Unknown:
				return fmt.Sprintf("not decided in %.0f s", p.WallSeconds)
			}
			return "**" + p.Verdict.String() + "**"
		}
	}
	return "not asked"
}
