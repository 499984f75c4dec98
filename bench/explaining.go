package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/internal/group"
	"github.com/isohound/isohound/results"
)

// Explaining is the cost of explaining violated histories at a level.
type Explaining struct {
	Level string `json:"level"`
	// Files is how many histories were judged, Violated how many of them were violated. The
	// following fields only count those.
	Files    int `json:"files"`
	Violated int `json:"violated"`
	// Check is the time for reading and checking, Explained the time including the explanation,
	// in milliseconds per file.
	Check     Spread `json:"check_ms"`
	Explained Spread `json:"explained_ms"`
	// Txns is the number of transactions in an explanation. Minimal is how many files have a
	// counterexample from which nothing can be left out.
	Txns    Spread `json:"txns"`
	Minimal int    `json:"minimal"`
	// Undecided is the number of files without a verdict.
	Undecided int `json:"undecided"`
}

// Spread is the median, the 90th percentile and the maximum of some numbers. The percentiles are the nearest ranks: numbers that
// were measured.
type Spread struct {
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Max    float64 `json:"max"`
}

func spread(all []float64) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	return Spread{all[(len(all)-1)/2], all[(len(all)*9+9)/10-1], all[len(all)-1]}
}

// Breaks reports whether histories are made that violate a level.
func Breaks(l level.Level) bool {
	return l == level.SER || l == level.SERNoSO || l == level.SI || l == level.SINoSO
}

// explainedTxns is the size of generated histories.
const explainedTxns = 300

// violated returns the configuration of the n-th history for a level, which nearly all these
// histories violate: at ser snapshots, which have write skew; at si snapshots whose writers lose
// updates. Half of the histories have duplicate values.
func violated(lvl level.Level, n int, seed uint64) synth.GeneralConfig {
	cfg := synth.GeneralConfig{
		Sessions: 5 + n%4*5, Txns: explainedTxns, Ops: 4 + n%3*4, Keys: 10 + n%5*10, Reads: 0.5,
		Snapshot: true, LoseUpdates: lvl.Snapshot(), Seed: seed + uint64(n),
	}
	if n%2 == 1 {
		cfg.Duplicates, cfg.Values, cfg.Theta = 0.5, 10, 0.5
	}
	return cfg
}

// MeasureExplaining measures the explanations at each level, for the files at paths, or for
// count generated histories if there are no paths.
func (c *Checker) MeasureExplaining(ctx context.Context, paths []string, count int, levels []level.Level, seed uint64) ([]Explaining, error) {
	dir, err := newFolder()
	if err != nil {
		return nil, err
	}
	defer dir.remove()
	var out []Explaining
	for _, lvl := range levels {
		list := paths
		if len(paths) == 0 {
			for n := range count {
				path := filepath.Join(dir.path, fmt.Sprintf("%s-%d.bincode", lvl, n))
				if err := write(path, synth.General(violated(lvl, n, seed)), file.Dbcop); err != nil {
					return out, err
				}
				list = append(list, path)
			}
		}
		x, err := c.explain(ctx, list, lvl)
		if err != nil {
			return out, err
		}
		out = append(out, x)
		if c.Progress != nil && x.Violated > 0 {
			c.Progress(fmt.Sprintf("%s: %.1f ms in the middle, %.1f ms with the explanation", lvl, x.Check.Median, x.Explained.Median))
		}
	}
	return out, nil
}

// explain judges files at a level, without explanations and with them.
func (c *Checker) explain(ctx context.Context, paths []string, lvl level.Level) (Explaining, error) {
	x := Explaining{Level: lvl.String(), Files: len(paths)}
	plain, err := c.each(ctx, paths, lvl, "--explain-timeout", "0")
	if err != nil {
		return x, err
	}
	full, err := c.each(ctx, paths, lvl)
	if err != nil {
		return x, err
	}
	var without, with, txns []float64
	for n, o := range full {
		switch {
		case o.outcome.Verdict == verdict.Unknown:
			x.Undecided++
		case o.outcome.Verdict == verdict.Violated:
			x.Violated++
			without, with = append(without, plain[n].ms), append(with, o.ms)
			if a := o.outcome.Anomalies; len(a) > 0 {
				txns = append(txns, float64(len(a[0].Transactions)))
				if a[0].Counterexample != nil && a[0].Counterexample.Minimal {
					x.Minimal++
				}
			}
		}
	}
	x.Check, x.Explained, x.Txns = spread(without), spread(with), spread(txns)
	return x, nil
}

// judged is the result for one of several files, and the time it took.
type judged struct {
	outcome results.Outcome
	ms      float64
}

// each makes one process judge files one after another, and measures the time of each answer.
// The first file is judged twice, and its first time does not count, because it includes the
// start of the process.
func (c *Checker) each(ctx context.Context, paths []string, lvl level.Level, flags ...string) ([]judged, error) {
	args := append([]string{"check", "--level", lvl.String(), "--json", "--no-progress"}, flags...)
	args = append(args, c.Flags...)
	if c.Timeout > 0 {
		args = append(args, "--timeout", c.Timeout.String())
	}
	cmd := exec.CommandContext(ctx, c.Command, append(append(args, "--", paths[0]), paths...)...)
	group.Kill(cmd)
	var msg bytes.Buffer
	cmd.Stderr = &msg
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.WithStack(err)
	}
	var all []judged
	lines := bufio.NewReader(out)
	at := time.Now()
	for {
		line, err := lines.ReadBytes('\n')
		now := time.Now()
		if err == io.EOF {
			break
		}
		j := judged{ms: float64(now.Sub(at).Microseconds()) / 1000}
		if err == nil {
			err = json.Unmarshal(line, &j.outcome)
		}
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return nil, errors.WithStack(err)
		}
		all = append(all, j)
		at = time.Now()
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(all) != len(paths)+1 {
		text := strings.TrimPrefix(strings.TrimSpace(msg.String()), "isohound: ")
		for _, path := range paths {
			// A violation of another file determines the exit code of all.
			if _, err := c.once(ctx, path, lvl, Contestant{}); err != nil {
				return nil, err
			}
		}
		return nil, errors.Errorf("%d of %d files have a verdict at %s: %s", len(all)-1, len(paths), lvl, text)
	}
	return all[1:], nil
}

// ExplainingTable writes the measurements as a table.
func ExplainingTable(w io.Writer, all []Explaining) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "level\tviolated\tcheck ms: median\t90 %\tmax\twith explanation ms: median\t90 %\tmax\ttransactions shown: median\tmax\tminimal\tundecided")
	for _, x := range all {
		if x.Violated == 0 { // there are no times
			fmt.Fprintf(t, "%s\t0 of %d\t\t\t\t\t\t\t\t\t\t%d\n", x.Level, x.Files, x.Undecided)
			continue
		}
		fmt.Fprintf(t, "%s\t%d of %d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%d\t%d\n", x.Level, x.Violated, x.Files,
			x.Check.Median, x.Check.P90, x.Check.Max, x.Explained.Median, x.Explained.P90, x.Explained.Max, x.Txns.Median, x.Txns.Max, x.Minimal, x.Undecided)
	}
	return errors.WithStack(t.Flush())
}
