package bench

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pkg/errors"
	"gonum.org/v1/plot/plotter"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

// Shares is the experiment of King Cobra (Clark, Rigger, Wickerson and Donaldson, Figure 14): how long a check takes when
// only a share of the version order is known. A share of the transactions, chosen at random, keeps its position.
type Shares struct {
	// Percent are the shares, the easy ones first.
	Percent []float64
	Levels  []level.Level
	Scale   float64
	Seed    uint64
	Points  []SharePoint
	Wrong   []string
}

// SharePoint is one measurement.
type SharePoint struct {
	Workload string
	Percent  float64
	Measurement
}

// NewShares returns the experiment at serializability with and without session order.
func NewShares(scale float64, seed uint64) *Shares {
	return &Shares{Percent: []float64{100, 90, 75, 50, 25, 0}, Levels: []level.Level{level.SER, level.SERNoSO}, Scale: scale, Seed: seed}
}

// shareRows are the paper's read/write and heavy write workloads, and one in which values occur again.
var shareRows = []struct {
	name string
	cfg  synth.GeneralConfig
}{
	{"half writes", synth.GeneralConfig{Sessions: 20, Txns: 10_000, Ops: 8, Keys: 1000, Reads: 0.5}},
	{"90% writes", synth.GeneralConfig{Sessions: 20, Txns: 10_000, Ops: 8, Keys: 1000, Reads: 0.1}},
	{"duplicates", synth.GeneralConfig{Sessions: 20, Txns: 10_000, Ops: 8, Keys: 1000, Reads: 0.5, Duplicates: 0.8, Values: 10, Theta: 0.5}},
}

// assuming has the engine named so that the order is not tried as an execution first.
var assuming = []Contestant{{Name: "assume", Flags: []string{"--versions", "assume", "--engine", "polygraph"}}}

// MeasureShares measures every point.
func (c *Checker) MeasureShares(ctx context.Context, s *Shares) error {
	dir, err := newFolder()
	if err != nil {
		return err
	}
	defer dir.remove()
	path := filepath.Join(dir.path, "history")
	for _, row := range shareRows {
		cfg := row.cfg
		cfg.Txns, cfg.Keys, cfg.Claims, cfg.Seed = scaled(cfg.Txns, s.Scale), scaled(cfg.Keys, s.Scale), true, s.Seed
		whole := synth.General(cfg)
		for _, percent := range s.Percent {
			if err := write(path, keepShare(whole, percent/100, s.Seed), file.Native); err != nil {
				return err
			}
			for _, lvl := range s.Levels {
				ms, err := c.measure(ctx, fmt.Sprintf("%s, %g%%", row.name, percent), path, lvl, assuming)
				if err != nil {
					return err
				}
				for _, m := range ms {
					s.Points = append(s.Points, SharePoint{row.name, percent, m})
				}
				s.Wrong = append(s.Wrong, Wrong(ms, verdict.Satisfied)...)
			}
		}
	}
	return nil
}

// keepShare returns h with the positions of a share of its transactions.
func keepShare(h *history.History, share float64, seed uint64) *history.History {
	rng := rand.New(rand.NewPCG(seed, 14))
	claims := make([]history.Claim, len(h.Txns))
	for i, at := range rng.Perm(len(claims)) {
		if float64(i) < share*float64(len(claims)) {
			claims[at].Commit = h.Claim(at).Commit
		}
	}
	return h.WithClaims(claims)
}

// Measurements lists the measurements of the points.
func (s *Shares) Measurements() []Measurement {
	var out []Measurement
	for _, p := range s.Points {
		out = append(out, p.Measurement)
	}
	return out
}

// Save writes the points as shares.csv, and their picture as shares.png and shares.svg.
func (s *Shares) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return errors.WithStack(err)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"workload", "percent", "level", "verdict", "read_seconds", "check_seconds", "wall_seconds", "peak_mb", "txns"})
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for _, p := range s.Points {
		_ = w.Write([]string{p.Workload, num(p.Percent), p.Level, p.Verdict.String(), num(p.ReadSeconds), num(p.CheckSeconds), num(p.WallSeconds), num(p.PeakMB), strconv.Itoa(p.Txns)})
	}
	if w.Flush(); w.Error() != nil {
		return errors.WithStack(w.Error())
	}
	if err := save(filepath.Join(dir, "shares.csv"), b.Bytes()); err != nil {
		return err
	}
	var charts []chart
	for _, lvl := range s.Levels {
		c := chart{x: "known positions, %, " + lvl.String(), y: "seconds, reading included", ticks: s.Percent, log: true, least: 0.01}
		for _, row := range shareRows {
			line := series{name: row.name}
			for _, p := range s.Points {
				if p.Workload == row.name && p.Level == lvl.String() && p.Verdict != verdict.Unknown {
					line.points = append(line.points, plotter.XY{X: p.Percent, Y: p.WallSeconds})
				}
			}
			c.series = append(c.series, line)
		}
		charts = append(charts, c)
	}
	return picture(dir, "shares", charts)
}
