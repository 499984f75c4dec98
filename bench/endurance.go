package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pkg/errors"
	"gonum.org/v1/plot/plotter"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/internal/group"
	"github.com/isohound/isohound/results"
)

// Endurance is one run in windows that is judged as it goes on, measured from outside.
type Endurance struct {
	// Command is the program, Flags are those of its command run, Env is added to its environment.
	Command    string
	Flags, Env []string
	// DiskBound is how many bytes the windows may take.
	DiskBound int64
	Progress  func(line string)

	Samples []EnduranceSample
	Sum     EnduranceSum
}

// EnduranceSample is what was seen at one moment.
type EnduranceSample struct {
	Seconds   float64 `json:"seconds"` // since the start of the process
	MemoryMB  float64 `json:"memory_mb"`
	DiskMB    float64 `json:"disk_mb"`
	Committed int64   `json:"committed"`
	Lag       float64 `json:"lag_seconds"`
}

// EnduranceSum are the figures of a run.
type EnduranceSum struct {
	Verdict   verdict.Verdict `json:"verdict"`
	Reason    string          `json:"reason,omitempty"`
	Seconds   float64         `json:"seconds"`
	Committed int64           `json:"committed"`
	// CommitsPerSecond is of the database, with the checker beside it.
	CommitsPerSecond float64 `json:"commits_per_second"`
	Windows          int     `json:"windows"`
	// Second and Last are the means of the memory of the process in the second and the last quarter.
	Second float64 `json:"memory_second_quarter_mb"`
	Last   float64 `json:"memory_last_quarter_mb"`
	Disk   float64 `json:"disk_peak_mb"`
	// Lag is the longest time from the end of a window to its verdict. Waited is how long the run waited for the
	// checker.
	Lag    float64 `json:"lag_longest_seconds"`
	Waited float64 `json:"waited_seconds"`
	// CutShare is the part of the time in which the sessions stood still for cuts.
	CutShare float64 `json:"cut_share"`
	// JudgedPerSecond is the number of transactions that one core reads and judges in a second.
	JudgedPerSecond float64 `json:"judged_per_second_and_core"`
}

// sampleEvery is the interval of samples.
const sampleEvery = time.Second

// progressLine is what the command prints every few seconds.
var progressLine = regexp.MustCompile(`: (\d+) committed, .*the checker is ([0-9.]+) s behind`)

// Measure runs the command and writes its run into the folder dir. The error is a *CheckError if the run ended with an error, or the
// cause of ctx's end.
func (e *Endurance) Measure(ctx context.Context, dir string) error {
	c := exec.CommandContext(ctx, e.Command, append([]string{"run", "--out", dir, "--json"}, e.Flags...)...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 30 * time.Second
	group.Lead(c) // else ctrl-C would reach it twice, and it would drop nothing
	c.Env = append(os.Environ(), e.Env...)
	msg, err := c.StderrPipe()
	if err != nil {
		return errors.WithStack(err)
	}
	if err := c.Start(); err != nil {
		return errors.WithStack(err)
	}
	var mu sync.Mutex
	var committed int64
	var lag float64
	var last message
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(msg); lines.Scan(); {
			for _, line := range last.next(lines.Text()) {
				e.tell(line)
			}
			mu.Lock()
			if m := progressLine.FindStringSubmatch(lines.Text()); m != nil {
				committed, _ = strconv.ParseInt(m[1], 10, 64)
				lag, _ = strconv.ParseFloat(m[2], 64)
			}
			mu.Unlock()
		}
	}()
	begun := time.Now()
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-read:
			running = false
		case <-tick.C:
			mu.Lock()
			s := EnduranceSample{time.Since(begun).Seconds(), resident(c.Process.Pid), sizeOf(filepath.Join(dir, results.WindowsFolder)), committed, lag}
			mu.Unlock()
			e.Samples = append(e.Samples, s)
		}
	}
	err = c.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.Exited() && exit.ExitCode() <= 3) { // up to 3 it is a verdict
		if exit != nil && exit.Exited() && len(last) > 0 {
			return &CheckError{"", exit.ExitCode(), strings.TrimPrefix(strings.Join(last, "\n"), prefix)}
		}
		return errors.Wrap(err, "isohound run")
	}
	for _, line := range last {
		e.tell(line)
	}
	return errors.Wrap(e.sum(dir), "isohound run")
}

func (e *Endurance) tell(line string) {
	if e.Progress != nil {
		e.Progress(line)
	}
}

// prefix begins every message of isohound, the last of which is the error that ends it.
const prefix = "isohound: "

// message is the latest message that isohound printed. It is held back, as an error is printed by who gets it.
type message []string

// next takes a line and returns the lines to show: all but those of the latest message.
func (m *message) next(line string) []string {
	switch {
	case strings.HasPrefix(line, prefix):
		show := *m
		*m = message{line}
		return show
	case len(*m) > 0 && !progressLine.MatchString(line):
		*m = append(*m, line)
		return nil
	}
	show := append(*m, line)
	*m = nil
	return show
}

// megabyte is the MB of what is measured, printed and saved here, as in --disk.
const megabyte = 1e6

// resident is the memory of a process in MB, 0 where that is not known.
func resident(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()) / megabyte
}

// sizeOf is the size of the files in a folder in MB. Files that are removed meanwhile do not count.
func sizeOf(dir string) (mb float64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				mb += float64(info.Size()) / megabyte
			}
		}
		return nil
	})
	return mb
}

// sum reads the results of the run in dir.
func (e *Endurance) sum(dir string) error {
	run, err := results.Load(dir)
	if err != nil {
		return err
	}
	if len(run.Outcomes) == 0 || run.Outcomes[0].Windows == nil || run.Stats.Cuts == nil {
		return errors.New("the run ended without verdicts")
	}
	o, st, cuts := &run.Outcomes[0], &run.Stats, run.Stats.Cuts
	s := &e.Sum
	*s = EnduranceSum{Verdict: o.Verdict, Reason: o.Reason, Seconds: st.Seconds, Committed: int64(st.Committed), CommitsPerSecond: st.CommitsPerSec, Windows: o.Windows.Total(),
		Lag: cuts.LongestLag, Waited: cuts.Waited, CutShare: cutShare(st), JudgedPerSecond: float64(o.Txns) / max(o.ParseSeconds+o.CheckSeconds, 1e-9)}
	s.Second, s.Last = e.quarter(1), e.quarter(3)
	for _, at := range e.Samples {
		s.Disk = max(s.Disk, at.DiskMB)
	}
	return nil
}

// cutShare leaves out the time in which the run waited for the checker.
func cutShare(st *generator.Stats) float64 {
	return max(0, st.Cuts.Seconds-st.Cuts.Waited) / max(st.Seconds, 1e-9)
}

// quarter is the mean memory in a quarter of the recording, from 0.
func (e *Endurance) quarter(n float64) float64 {
	sum, count := 0.0, 0.0
	for _, at := range e.Samples {
		if from := n / 4 * e.Sum.Seconds; at.Seconds >= from && at.Seconds < from+e.Sum.Seconds/4 {
			sum += at.MemoryMB
			count++
		}
	}
	return sum / max(count, 1)
}

// Targets lists what was asked for, and whether it was reached.
func (e *Endurance) Targets() []string {
	s := &e.Sum
	line := func(ok bool, format string, args ...any) string {
		word := "reached"
		if !ok {
			word = "missed"
		}
		return word + ": " + fmt.Sprintf(format, args...)
	}
	return []string{
		line(s.Last <= 1.05*s.Second, "memory of the last quarter at most 5%% above that of the second: %.0f and %.0f MB", s.Last, s.Second),
		line(s.Disk <= float64(e.DiskBound)/megabyte, "windows on disk at most %v MB: %.0f MB", float64(e.DiskBound)/megabyte, s.Disk),
		line(s.Lag < 10, "every verdict less than 10 s after the end of its window: %.1f s", s.Lag),
		line(s.CutShare < 0.02, "cuts less than 2%% of the time: %.2f%%", 100*s.CutShare),
	}
}

// Save writes the samples, a plot, and a report, of which it returns the path.
func (e *Endurance) Save(dir, repeat, about string) (string, error) {
	b, err := json.MarshalIndent(struct {
		Sum     EnduranceSum      `json:"sum"`
		Samples []EnduranceSample `json:"samples"`
	}{e.Sum, e.Samples}, "", " ")
	if err != nil {
		return "", errors.WithStack(err)
	}
	if err := save(filepath.Join(dir, "endurance.json"), b); err != nil {
		return "", err
	}
	if err := e.draw(dir); err != nil {
		return "", err
	}
	s := &e.Sum
	var r strings.Builder
	fmt.Fprintf(&r, "# Endurance\n\n%s\n\n    %s\n\n![memory, disk, lag and commits](endurance.svg)\n\n", about, repeat)
	fmt.Fprintf(&r, "%s at the end of %.0f s: %d commits, %.0f a second, in %d windows. The run waited %.1f s for the checker.\n", s.Verdict, s.Seconds, s.Committed, s.CommitsPerSecond, s.Windows, s.Waited)
	fmt.Fprintf(&r, "One core reads and judges %.0f transactions a second.\n\n", s.JudgedPerSecond)
	for _, line := range e.Targets() {
		fmt.Fprintf(&r, "- %s\n", line)
	}
	path := filepath.Join(dir, "endurance.md")
	return path, save(path, []byte(r.String()))
}

func (e *Endurance) draw(dir string) error {
	if len(e.Samples) < 2 {
		return nil
	}
	end := e.Samples[len(e.Samples)-1].Seconds
	var at []float64
	for n := range 5 {
		at = append(at, float64(int(end*float64(n)/4)))
	}
	curve := func(y string, value func(n int) float64) chart {
		var points plotter.XYs
		step := max(1, len(e.Samples)/200) // marks would hide the line
		for n := 0; n < len(e.Samples); n += step {
			points = append(points, plotter.XY{X: e.Samples[n].Seconds, Y: value(n)})
		}
		return chart{x: "seconds", y: y, ticks: at, counts: true, series: []series{{y, points}}}
	}
	return picture(dir, "endurance", []chart{
		curve("memory, MB", func(n int) float64 { return e.Samples[n].MemoryMB }),
		curve("windows on disk, MB", func(n int) float64 { return e.Samples[n].DiskMB }),
		curve("checker behind, s", func(n int) float64 { return e.Samples[n].Lag }),
		curve("million commits", func(n int) float64 { return float64(e.Samples[n].Committed) / 1e6 }),
	})
}
