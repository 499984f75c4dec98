package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/group"
	"github.com/isohound/isohound/results"
)

// Runs compares workloads end to end: contestants run against a database with varying settings.
// Each run is a separate process that generates, records and checks.
type Runs struct {
	Name, Title string // such as "abort-rate"
	// Explanation describes in Markdown what was run.
	Explanation string
	Axes        []RunAxis
	Contestants []RunContestant
	Pictures    []RunPicture
	Points      []RunPoint
}

// RunAxis is one way of varying the settings. Its points become harder.
type RunAxis struct {
	Name, Label string
	Points      []float64
	Set         func(s *RunSettings, x float64)
}

// RunSettings are the settings that the axes vary.
type RunSettings struct {
	Sessions, TxnsEach, Operations, Keys int
}

// RunContestant is a workload at an isolation.
type RunContestant struct {
	Name             string // such as "GT-SER"
	Workload         string
	Isolation, Level string
	Engine           string
}

// RunPicture is a picture of one measure for all axes.
type RunPicture struct {
	Name, Label string
	Percent     bool
	least       float64
	// lines are the lines drawn for a contestant, by the suffix of its name.
	lines []runLine
}

type runLine struct {
	suffix string
	of     func(p *RunPoint) float64
}

// RunPoint is one run.
type RunPoint struct {
	Axis       string          `json:"axis"`
	X          float64         `json:"x"`
	Contestant string          `json:"contestant"`
	Settings   RunSettings     `json:"settings"`
	Committed  int64           `json:"committed"`
	Aborted    int64           `json:"aborted"`
	Unknown    int64           `json:"unknown_outcome"`
	AbortRate  float64         `json:"abort_rate"`
	Verdict    verdict.Verdict `json:"verdict"`
	Reason     string          `json:"reason,omitempty"`
	// Seconds for generating, and for checking including reading.
	GenerateSeconds float64 `json:"generate_seconds"`
	CheckSeconds    float64 `json:"check_seconds"`
	// PeakMB is the peak memory of the check.
	PeakMB float64 `json:"peak_mb"`
}

// runsUsual are the default settings. Section V of the MTC paper gives 20 operations; its other
// defaults are not in its text.
var runsUsual = RunSettings{Sessions: 10, TxnsEach: 100, Operations: 20, Keys: 1000}

// AbortRate is Figure 11 of the MTC paper: general transactions (GT) against mini-transactions
// (MT), at snapshot isolation and serializability.
func AbortRate(si, ser string) *Runs {
	return &Runs{
		Name: "abort-rate", Title: "Abort rates of general and mini-transactions",
		Explanation: "Share of the attempts that aborted, no attempt repeated, as in Figure 11 of the MTC paper. GT is the workload `general`, MT is `mini`.",
		Axes: []RunAxis{
			{"sessions", "sessions", []float64{2, 4, 8, 16, 32, 64}, func(s *RunSettings, x float64) { s.Sessions = int(x) }},
			{"skew", "transactions for each key", []float64{1, 2, 5, 10, 20, 40}, func(s *RunSettings, x float64) {
				s.Keys = max(2*s.Operations, int(float64(s.Sessions*s.TxnsEach)/x))
			}},
		},
		Contestants: []RunContestant{
			{"GT-SI", "general", si, "si", "polygraph"}, {"GT-SER", "general", ser, "ser", "polygraph"},
			{"MT-SI", "mini", si, "si", "linear"}, {"MT-SER", "mini", ser, "ser", "linear"},
		},
		Pictures: []RunPicture{{Name: "abort-rate", Label: "aborted, %", Percent: true,
			lines: []runLine{{"", func(p *RunPoint) float64 { return 100 * p.AbortRate }}}}},
	}
}

// EndToEnd is Figure 10 of the MTC paper, or at snapshot isolation its Figure 17: general
// transactions with the polygraph engine against mini-transactions with the linear one,
// generation and checking, as histories grow.
func EndToEnd(isolation, level string) *Runs {
	return &Runs{
		Name: "end-to-end-" + level, Title: "From end to end at " + level,
		Explanation: "Generation and checking, as in Figures 10 and 17 of the MTC paper: the workload `general` with the polygraph engine (GT) against `mini` with the linear engine (MT), the same number of transactions each. Mini-transactions have at most four operations whatever the axis says.",
		Axes: []RunAxis{
			{"txns", "transactions per session", []float64{100, 200, 400, 800, 1600}, func(s *RunSettings, x float64) { s.TxnsEach = int(x) }},
			{"operations", "operations per transaction", []float64{4, 8, 12, 16, 20, 28}, func(s *RunSettings, x float64) { s.Operations = int(x) }},
			{"keys", "keys", []float64{4000, 2000, 1000, 500, 250}, func(s *RunSettings, x float64) { s.Keys = int(x) }},
		},
		Contestants: []RunContestant{{"GT", "general", isolation, level, "polygraph"}, {"MT", "mini", isolation, level, "linear"}},
		Pictures: []RunPicture{
			{Name: "time-" + level, Label: "seconds", least: 0.001, lines: []runLine{
				{" generate", func(p *RunPoint) float64 { return p.GenerateSeconds }},
				{" check", func(p *RunPoint) float64 { return p.CheckSeconds }}}},
			{Name: "memory-" + level, Label: "peak memory of the check, MB", least: 1, lines: []runLine{
				{"", func(p *RunPoint) float64 { return p.PeakMB }}}},
		},
	}
}

// Runner runs isohound run.
type Runner struct {
	Command string
	// Flags select the database; Env holds its DSN.
	Flags, Env []string
	Scale      float64
	Points     int // of each axis, 0 is all
	Seed       int64
	Timeout    time.Duration // of each check
	Progress   func(line string)
}

// Measure runs every point. Measurements before an error are kept.
func (r *Runner) Measure(ctx context.Context, runs *Runs) error {
	dir, err := newFolder()
	if err != nil {
		return err
	}
	defer dir.remove()
	for n := range runs.Axes {
		a := &runs.Axes[n]
		if r.Points > 0 {
			a.Points = a.Points[:min(r.Points, len(a.Points))]
		}
		for _, x := range a.Points {
			s := runsUsual
			s.TxnsEach = scaled(s.TxnsEach, r.Scale)
			if a.Set(&s, x); a.Name == "txns" {
				s.TxnsEach = scaled(s.TxnsEach, r.Scale)
			}
			for _, k := range runs.Contestants {
				p, err := r.once(ctx, filepath.Join(dir.path, fmt.Sprintf("%d", len(runs.Points))), s, k)
				if err != nil {
					return err
				}
				p.Axis, p.X = a.Name, x
				runs.Points = append(runs.Points, *p)
				if r.Progress != nil {
					r.Progress(fmt.Sprintf("%s = %g, %s: %d committed, %.1f %% aborted, generated in %.2f s, %s in %.2f s, %.0f MB",
						a.Name, x, k.Name, p.Committed, 100*p.AbortRate, p.GenerateSeconds, p.Verdict, p.CheckSeconds, p.PeakMB))
				}
			}
		}
	}
	return nil
}

func (r *Runner) once(ctx context.Context, out string, s RunSettings, k RunContestant) (*RunPoint, error) {
	args := []string{"--retries", "0", "--isolation", k.Isolation, "--workload", k.Workload,
		"--sessions", strconv.Itoa(s.Sessions), "--txns", strconv.Itoa(s.TxnsEach), "--keys", strconv.Itoa(s.Keys), "--seed", strconv.FormatInt(r.Seed, 10),
		"--check", k.Level, "--engine", k.Engine, "--check-timeout", r.Timeout.String()}
	if k.Workload == "general" {
		args = append(args, "-p", "operations="+strconv.Itoa(s.Operations))
	} else {
		args = append(args, "-p", "rollback=0") // intended rollbacks would count as aborts
	}
	run, err := r.run(ctx, out, k.Name, args)
	if err != nil {
		return nil, err
	}
	o, st := &run.Outcomes[0], &run.Stats
	return &RunPoint{
		Contestant: k.Name, Settings: s, Committed: st.Committed, Aborted: st.Aborted, Unknown: st.Unknown, AbortRate: st.AbortRate,
		Verdict: o.Verdict, Reason: o.Reason, GenerateSeconds: st.Seconds, CheckSeconds: o.ParseSeconds + o.CheckSeconds, PeakMB: o.PeakRSSMB,
	}, nil
}

// run does one run and removes its files. The error is a *CheckError if the run ended with an
// error, or the cause of ctx's end.
func (r *Runner) run(ctx context.Context, out, contestant string, args []string) (*results.Run, error) {
	cmd := exec.CommandContext(ctx, r.Command, slices.Concat([]string{"run", "--out", out, "--quiet", "--no-progress"}, args, r.Flags)...)
	cmd.Env = append(os.Environ(), r.Env...)
	// An interrupt lets the run drop what it created on the server.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	group.Lead(cmd) // else ctrl-C would reach it twice, and it would drop nothing
	var msg bytes.Buffer
	cmd.Stderr = &msg
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	run, lerr := results.Load(out)
	if lerr != nil || len(run.Outcomes) == 0 {
		text := strings.TrimPrefix(strings.TrimSpace(msg.String()), "isohound: ")
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 && text != "" {
			return nil, &CheckError{contestant, exit.ExitCode(), text}
		}
		if err == nil {
			err = lerr
		}
		return nil, errors.Wrapf(err, "contestant %s: %s", contestant, text)
	}
	if err := os.RemoveAll(out); err != nil { // a history may be large
		return nil, errors.WithStack(err)
	}
	return run, nil
}

// Violated lists the runs whose histories violate the requested level.
func (runs *Runs) Violated() []string {
	var out []string
	for _, p := range runs.Points {
		if p.Verdict == verdict.Violated {
			out = append(out, fmt.Sprintf("%s = %g, %s: the database broke its promise", p.Axis, p.X, p.Contestant))
		}
	}
	return out
}

// Vacuous says how many runs tested next to nothing, and why the first of them did, or is "".
func (runs *Runs) Vacuous() string {
	count, first := 0, ""
	for _, p := range runs.Points {
		if p.Verdict != verdict.Vacuous {
			continue
		}
		if count++; count == 1 {
			first = fmt.Sprintf("%s = %g, %s: %s", p.Axis, p.X, p.Contestant, p.Reason)
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d runs were too small to test anything; the first is %s", count, len(runs.Points), first)
}
