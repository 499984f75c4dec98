package bench

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/plot/plotter"
)

const effectName = "effectiveness"

// Save writes the points as CSV, a picture, and a report in Markdown with both, and returns the
// path of the report. repeat is the command that repeats the measurement; about describes the
// machine and the database.
func (e *Effectiveness) Save(dir, repeat, about string) (string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", errors.WithStack(err)
	}
	table, err := e.csv()
	if err != nil {
		return "", err
	}
	if err := save(filepath.Join(dir, effectName+".csv"), table); err != nil {
		return "", err
	}
	if len(e.Points) > 0 {
		if err := picture(dir, effectName, e.charts()); err != nil {
			return "", errors.Wrap(err, effectName)
		}
	}
	path := filepath.Join(dir, effectName+".md")
	return path, save(path, e.markdown(repeat, about))
}

// charts are the number of trials that found the defect, their share, and the time of a trial.
func (e *Effectiveness) charts() []chart {
	sizes := []float64{}
	for _, s := range e.Sizes {
		sizes = append(sizes, float64(s))
	}
	charts := []chart{
		{x: "max_txn_len", y: "trials that found it", ticks: sizes, counts: true},
		{x: "max_txn_len", y: "of the trials, %", ticks: sizes},
		{x: "max_txn_len", y: "seconds a trial", ticks: sizes, log: true, least: 0.01},
	}
	measures := []func(p *EffectPoint) float64{
		func(p *EffectPoint) float64 { return float64(p.Found) },
		func(p *EffectPoint) float64 { return 100 * float64(p.Found) / float64(max(1, p.Trials)) },
		func(p *EffectPoint) float64 { return p.GenerateSeconds + p.CheckSeconds },
	}
	for i := range charts {
		for _, k := range e.Contestants {
			line := series{name: k.Name}
			for n := range e.Points {
				p := &e.Points[n]
				switch {
				case p.Contestant != k.Name || p.Trials == 0:
				case k.Length == "": // a single length: a line to compare the others with
					for _, x := range sizes {
						line.points = append(line.points, plotter.XY{X: x, Y: measures[i](p)})
					}
				default:
					line.points = append(line.points, plotter.XY{X: float64(p.MaxTxnLen), Y: measures[i](p)})
				}
			}
			charts[i].series = append(charts[i].series, line)
		}
	}
	return charts
}

func (e *Effectiveness) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"contestant", "max_txn_len", "trials", "found", "undecided", "committed", "abort_rate", "generate_seconds", "check_seconds", "wall_seconds", "first_seed", "anomalies"})
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for n := range e.Points {
		p := &e.Points[n]
		_ = w.Write([]string{p.Contestant, strconv.Itoa(p.MaxTxnLen), strconv.Itoa(p.Trials), strconv.Itoa(p.Found), strconv.Itoa(p.Undecided),
			num(p.Committed), num(p.AbortRate), num(p.GenerateSeconds), num(p.CheckSeconds), num(p.WallSeconds), strconv.FormatInt(p.FirstSeed, 10), p.anomalies()})
	}
	w.Flush()
	return b.Bytes(), errors.WithStack(w.Error())
}

// anomalies lists the anomalies found, the most frequent first.
func (p *EffectPoint) anomalies() string {
	names := slices.Sorted(maps.Keys(p.Anomalies))
	slices.SortStableFunc(names, func(a, b string) int { return p.Anomalies[b] - p.Anomalies[a] })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, p.Anomalies[n])
	}
	return strings.Join(names, ", ")
}

func (e *Effectiveness) markdown(repeat, about string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Effectiveness\n\n%s\n\n    %s\n\n", about, repeat)
	fmt.Fprintf(&b, "Trials that find a violation of `%s` in %s for each workload and length, as in Figure 13 of the MTC paper. A trial is a run of %d transactions over %d sessions on %d keys, %s, with a fresh seed. Mini-transactions have at most %d operations whatever the length of the others; they are measured once.\n",
		e.Level, e.Budget, e.Txns, e.Sessions, e.Keys, e.Dist, MiniLength)
	if e.MaxTrials > 0 {
		fmt.Fprintf(&b, "No more than %d trials were made of each.\n", e.MaxTrials)
	}
	fmt.Fprintf(&b, "\n![%s](%s.png)\n\n", effectName, effectName)
	b.WriteString("| workload | max_txn_len | found | trials | undecided | committed each | aborted | generate s | check s | whole s | anomalies, by trials |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for n := range e.Points {
		p := &e.Points[n]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %.0f | %.1f %% | %.2f | %.3f | %.2f | %s |\n", p.Contestant, p.MaxTxnLen, p.Found, p.Trials, p.Undecided,
			p.Committed, 100*p.AbortRate, p.GenerateSeconds, p.CheckSeconds, p.WallSeconds, p.anomalies())
	}
	return b.Bytes()
}
