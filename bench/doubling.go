package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"text/tabwriter"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
)

// Shape is a kind of history that is hard to check for its size. It is measured at an eighth, a
// quarter, half and all of its size.
type Shape struct {
	Name string
	// Size is the largest size; Label says what it counts.
	Size  int
	Label string
	make  func(size int, seed uint64) *history.History
	// scans: the history has statements with conditions, which not every format can hold.
	scans bool
}

func (s *Shape) format() file.Format {
	if s.scans {
		return file.Native
	}
	return file.Text
}

// doublings are how often the size doubles.
const doublings = 3

// shapes are histories with easy executions, but with many candidate writers for a read, very
// large transactions, or very many sessions on one key.
var shapes = []Shape{
	{"bulk load", 1_000_000, "keys, all written by one transaction", func(size int, seed uint64) *history.History {
		return synth.Bulk(20, 20_000, size, false, seed)
	}, false},
	{"bulk read", 1_000_000, "keys, all read by one transaction", func(size int, seed uint64) *history.History {
		return synth.Bulk(20, 20_000, size, true, seed)
	}, false},
	{"counter", 200_000, "transactions that count one key modulo 10", func(size int, seed uint64) *history.History {
		return synth.Counter(20, size, 10, seed)
	}, false},
	{"blind writes", 200_000, "transactions of 5000 sessions, each one write or read of one key", func(size int, seed uint64) *history.History {
		return synth.Hot(5000, size, 1, 1, 0, seed)
	}, false},
	{"blind duplicates", 200_000, "the same, with 10 values", func(size int, seed uint64) *history.History {
		return synth.Hot(5000, size, 1, 1, 10, seed)
	}, false},
	{"duplicates", 200_000, "transactions of 4 operations on 1000 keys of 5 values", func(size int, seed uint64) *history.History {
		return synth.Hot(20, size, 4, 1000, 5, seed)
	}, false},
	{"three hot keys", 200_000, "transactions of 3 operations on 3 keys", func(size int, seed uint64) *history.History {
		return synth.Hot(20, size, 3, 3, 0, seed)
	}, false},
	{"three hot keys, duplicates", 200_000, "the same, with 10 values", func(size int, seed uint64) *history.History {
		return synth.Hot(20, size, 3, 3, 10, seed)
	}, false},
}

// scanShapes are histories with statements with conditions, and one that reads the same rows without
// them.
var scanShapes = []Shape{
	{"BlindW-Pred", 100_000, "transactions of 24 sessions, each 8 reads or updates of ranges of about 4 of 10,000 rows", func(size int, seed uint64) *history.History {
		return synth.Pred(24, size, 10_000, 8, 4, seed)
	}, true},
	{"BlindW-Pred, one row", 100_000, "the same with ranges of about one row", func(size int, seed uint64) *history.History {
		return synth.Pred(24, size, 10_000, 8, 1, seed)
	}, true},
	{"narrow scans", 100_000, "transactions of 24 sessions, each a scan of 4 of ten times as many rows and a write", func(size int, seed uint64) *history.History {
		return synth.Narrow(24, size, 10*size, 4, true, seed)
	}, true},
	{"narrow reads", 100_000, "the same, but the rows are read by their keys", func(size int, seed uint64) *history.History {
		return synth.Narrow(24, size, 10*size, 4, false, seed)
	}, true},
}

// Shapes returns the shapes, with sizes multiplied by scale: those with statements with conditions if
// scans is set, else the others.
func Shapes(scans bool, scale float64) []Shape {
	all := shapes
	if scans {
		all = scanShapes
	}
	out := make([]Shape, len(all))
	for n, s := range all {
		s.Size = scaled(s.Size, scale)
		out[n] = s
	}
	return out
}

// Step is a measurement at one size, with the ratios of time and memory to those at half the
// size, 0 if there is none.
type Step struct {
	Size        int     `json:"size"`
	TimeTimes   float64 `json:"time_times,omitempty"`
	MemoryTimes float64 `json:"memory_times,omitempty"`
	Measurement
}

// Doubling is the result of measurements with doubling sizes, and the wrong verdicts.
type Doubling struct {
	Steps []Step
	Wrong []string
}

// Undecided counts the steps without a verdict.
func (d *Doubling) Undecided() int {
	n := 0
	for i := range d.Steps {
		if d.Steps[i].Verdict == verdict.Unknown {
			n++
		}
	}
	return n
}

// notMeasured is the reason of a step that follows an undecided one.
const notMeasured = "not measured: half the size was not decided"

// MeasureDoubling measures each shape at each level and size. After an undecided size, larger
// ones are not measured.
func (c *Checker) MeasureDoubling(ctx context.Context, all []Shape, levels []level.Level, contestants []Contestant, seed uint64, d *Doubling) error {
	dir, err := newFolder()
	if err != nil {
		return err
	}
	defer dir.remove()
	path := filepath.Join(dir.path, "history")
	for _, s := range all {
		last := map[string]Step{} // by level and contestant
		for n := range doublings + 1 {
			size := max(1, s.Size>>(doublings-n))
			if err := write(path, s.make(size, seed), s.format()); err != nil {
				return err
			}
			debug.FreeOSMemory() // the check may need the memory
			for _, lvl := range levels {
				var able []Contestant
				for _, k := range contestants {
					if before := last[of(lvl.String(), k.Name)]; n == 0 || before.Verdict != verdict.Unknown {
						able = append(able, k)
					}
				}
				ms, err := c.measure(ctx, s.Name, path, lvl, able)
				if err != nil {
					return err
				}
				for _, k := range contestants {
					step := Step{Size: size, Measurement: Measurement{History: s.Name, Level: lvl.String(), Contestant: k.Name, Reason: notMeasured}}
					for _, m := range ms {
						if m.Contestant == k.Name {
							step.Measurement = m
						}
					}
					before := last[of(step.Level, k.Name)]
					if n > 0 && before.Verdict != verdict.Unknown && step.Verdict != verdict.Unknown {
						step.TimeTimes, step.MemoryTimes = times(before.WallSeconds, step.WallSeconds), times(before.PeakMB, step.PeakMB)
					}
					d.Steps = append(d.Steps, step)
					last[of(step.Level, k.Name)] = step
				}
				d.Wrong = append(d.Wrong, Wrong(ms, verdict.Satisfied)...)
			}
		}
	}
	return nil
}

// times returns the ratio of after to before, to a hundredth.
func times(before, after float64) float64 {
	if before <= 0 {
		return 0
	}
	return math.Round(100*after/before) / 100
}

// of returns a map key for a level and a contestant.
func of(lvl, contestant string) string { return lvl + " " + contestant }

// DoublingTable writes the steps as a table, the sizes of each shape one below the other.
func DoublingTable(w io.Writer, all []Shape, d *Doubling) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var ms []Measurement
	for i := range d.Steps {
		ms = append(ms, d.Steps[i].Measurement)
	}
	fmt.Fprintln(t, "history\tsize\tlevel\tcontestant\tverdict\treading s\tchecking s\ttotal s\tgrowth\tpeak MB\tgrowth"+reasonHead(ms))
	for _, s := range all {
		done := map[string]bool{}
		for i := range d.Steps {
			row := of(d.Steps[i].Level, d.Steps[i].Contestant)
			if d.Steps[i].History != s.Name || done[row] {
				continue
			}
			done[row] = true
			for _, step := range d.Steps[i:] {
				if step.History == s.Name && of(step.Level, step.Contestant) == row {
					fmt.Fprintln(t, step.row())
				}
			}
		}
	}
	if err := t.Flush(); err != nil {
		return errors.WithStack(err)
	}
	fmt.Fprintln(w)
	for _, s := range all {
		if _, err := fmt.Fprintf(w, "%s: size counts %s\n", s.Name, s.Label); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}

func (s *Step) row() string {
	head := fmt.Sprintf("%s\t%d\t%s\t%s\t", s.History, s.Size, s.Level, s.Contestant)
	switch {
	case s.Reason == notMeasured:
		return head + "not measured\t\t\t\t\t\t"
	case s.Verdict == verdict.Unknown:
		return head + fmt.Sprintf("unknown after %.0f s\t%.2f\t%.2f\t%.2f\t\t%.0f\t%s", s.WallSeconds, s.ReadSeconds, s.CheckSeconds, s.WallSeconds, s.PeakMB, s.why())
	}
	ratio := func(x float64) string {
		if x == 0 {
			return ""
		}
		return "x" + strconv.FormatFloat(x, 'f', 1, 64)
	}
	return head + fmt.Sprintf("%s\t%.2f\t%.2f\t%.2f\t%s\t%.0f\t%s", s.Verdict, s.ReadSeconds, s.CheckSeconds, s.WallSeconds, ratio(s.TimeTimes), s.PeakMB, ratio(s.MemoryTimes))
}
