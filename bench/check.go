// Package bench measures checkers: contestants judge the same histories. Each check is a
// separate process, so that its memory can be measured and a check that takes too long can be
// killed. Every verdict is compared with the known verdict of the history and with those of the
// other contestants.
package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/internal/group"
	"github.com/isohound/isohound/results"
)

// Contestant is a checker and the flags of isohound check that select it.
type Contestant struct {
	Name  string
	Flags []string
	// Command is the path of another isohound, or empty.
	Command string
}

// Contestants are the contestants with a name.
var Contestants = []Contestant{
	{Name: "polygraph", Flags: []string{"--engine", "polygraph"}},
	{Name: "paper", Flags: []string{"--engine", "polygraph", "--pipeline", "paper"}},
	{Name: "baseline", Flags: []string{"--engine", "baseline"}},
	{Name: "linear", Flags: []string{"--engine", "linear"}},
	{Name: "weak", Flags: []string{"--engine", "weak"}},
	{Name: "chains", Flags: []string{"--engine", "polygraph", "--accel", "chains"}},
	{Name: "bitset", Flags: []string{"--engine", "polygraph", "--accel", "bitset"}},
	{Name: "cuda", Flags: []string{"--engine", "polygraph", "--accel", "cuda"}},
}

// FindContestants returns the contestants in a comma-separated list.
func FindContestants(names string) ([]Contestant, error) {
	var out []Contestant
	for _, name := range strings.Split(names, ",") {
		i := slices.IndexFunc(Contestants, func(c Contestant) bool { return c.Name == strings.TrimSpace(name) })
		if i < 0 {
			var known []string
			for _, c := range Contestants {
				known = append(known, c.Name)
			}
			return nil, errors.Errorf("unknown contestant %q; known are %s", name, strings.Join(known, ", "))
		}
		out = append(out, Contestants[i])
	}
	return out, nil
}

// Against returns the contestants, each followed by the same contestant in another isohound.
func Against(all []Contestant, command string) []Contestant {
	var out []Contestant
	for _, k := range all {
		other := k
		other.Name, other.Command = k.Name+" (other)", command
		out = append(out, k, other)
	}
	return out
}

// Measurement is one check of one history.
type Measurement struct {
	History    string          `json:"history"`
	Level      string          `json:"level"`
	Contestant string          `json:"contestant"`
	Verdict    verdict.Verdict `json:"verdict"`
	// Reason says why the verdict is unknown.
	Reason   string `json:"reason,omitempty"`
	Sessions int    `json:"sessions"`
	Txns     int    `json:"txns"`
	Ops      int    `json:"ops"`
	// Seconds: reading and checking as the check itself measures them, and the whole process
	// from start to end.
	ReadSeconds  float64 `json:"read_seconds"`
	CheckSeconds float64 `json:"check_seconds"`
	WallSeconds  float64 `json:"wall_seconds"`
	PeakMB       float64 `json:"peak_mb"`
}

// Checker runs isohound check.
type Checker struct {
	// Command is the path of isohound.
	Command string
	// Timeout is the limit for a check, including reading; 0 is none.
	Timeout time.Duration
	// Flags are further flags of isohound check, for all contestants.
	Flags []string
	// Repeat is how often each check is measured. The measurement with the median time counts.
	Repeat int
	// Progress, if set, is called with each measurement.
	Progress func(line string)
}

// CheckError is a check that ended with an error instead of a verdict.
type CheckError struct {
	Contestant string // or ""
	ExitCode   int    // of isohound check
	Message    string
}

func (e *CheckError) Error() string {
	if e.Contestant == "" {
		return e.Message
	}
	return "contestant " + e.Contestant + ": " + e.Message
}

// measure lets contestants judge the history at path. If each judges it several times, they take
// turns, so that other load affects all equally.
func (c *Checker) measure(ctx context.Context, name, path string, lvl level.Level, contestants []Contestant) ([]Measurement, error) {
	runs := make([][]Measurement, len(contestants))
	for n := range max(c.Repeat, 1) {
		for i, k := range contestants {
			if n > 0 && runs[i][n-1].Verdict == verdict.Unknown {
				runs[i] = append(runs[i], runs[i][n-1]) // repeating it would take as long again
				continue
			}
			m, err := c.once(ctx, path, lvl, k)
			if err != nil {
				return nil, err
			}
			m.History, m.Level, m.Contestant = name, lvl.String(), k.Name
			runs[i] = append(runs[i], m)
		}
	}
	var out []Measurement
	for _, of := range runs {
		m := median(of)
		if c.Progress != nil {
			c.Progress(m.String())
		}
		out = append(out, m)
	}
	return out, nil
}

// median returns the run with the median time. A run with a verdict that differs from the others
// is returned instead, so that it is not lost.
func median(runs []Measurement) Measurement {
	for _, m := range runs {
		if m.Verdict != runs[0].Verdict {
			return m
		}
	}
	slices.SortFunc(runs, func(a, b Measurement) int {
		if a.WallSeconds < b.WallSeconds {
			return -1
		}
		return 1
	})
	return runs[(len(runs)-1)/2]
}

func (m Measurement) String() string {
	s := fmt.Sprintf("%s, %s, %s: %s in %.2f s (reading %.2f s, checking %.2f s), %.0f MB",
		m.History, m.Level, m.Contestant, m.Verdict, m.WallSeconds, m.ReadSeconds, m.CheckSeconds, m.PeakMB)
	if m.Verdict == verdict.Unknown {
		s += ": " + m.Reason
	}
	return s
}

func (c *Checker) once(ctx context.Context, path string, lvl level.Level, k Contestant) (Measurement, error) {
	args := append([]string{"check", path, "--level", lvl.String(), "--json", "--no-progress", "--explain-timeout", "0"}, append(slices.Clone(c.Flags), k.Flags...)...)
	limited := ctx
	if c.Timeout > 0 {
		args = append(args, "--timeout", c.Timeout.String())
		// A check that does not observe its own limit is killed.
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, c.Timeout+c.Timeout/2+grace)
		defer cancel()
	}
	command := c.Command
	if k.Command != "" {
		command = k.Command
	}
	cmd := exec.CommandContext(limited, command, args...)
	group.Kill(cmd)
	cmd.WaitDelay = grace // a child that left the group may hold the pipes
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	begun := time.Now()
	err := cmd.Run()
	m := Measurement{WallSeconds: time.Since(begun).Seconds()}
	switch {
	case ctx.Err() != nil:
		return m, context.Cause(ctx)
	case limited.Err() != nil:
		m.Reason = "the check did not end when its time ran out, and was killed"
		return m, nil
	}
	var o results.Outcome
	if jerr := json.Unmarshal(out.Bytes(), &o); jerr != nil {
		text := strings.TrimPrefix(strings.TrimSpace(msg.String()), "isohound: ")
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 && text != "" {
			return m, &CheckError{k.Name, exit.ExitCode(), text}
		}
		if k.Command != "" {
			return m, &CheckError{k.Name, foreign, fmt.Sprintf("%s printed no verdict (%s); is it an isohound?", k.Command, ended(err))}
		}
		if err == nil {
			err = jerr
		}
		return m, errors.Wrapf(err, "contestant %s at %s: %s", k.Name, path, text)
	}
	m.Verdict, m.Reason, m.Sessions, m.Txns, m.Ops = o.Verdict, o.Reason, o.Sessions, o.Txns, o.Ops
	m.ReadSeconds, m.CheckSeconds, m.PeakMB = o.ParseSeconds, o.CheckSeconds, o.PeakRSSMB
	return m, nil
}

// grace is the time for starting and ending a process, on a busy machine, too.
const grace = 3 * time.Second

// foreign is the exit code for a program of the user that is no isohound: a wrong flag.
const foreign = 64

// ended says how a process ended.
func ended(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// Wrong compares the verdicts on one history at one level. A decided verdict must be the
// expected one, or, if none is known (Unknown), the verdict of the other contestants.
func Wrong(ms []Measurement, expected verdict.Verdict) []string {
	var out []string
	by := "the history was made to be"
	for _, m := range ms {
		switch {
		case m.Verdict == verdict.Unknown:
		case expected == verdict.Unknown:
			expected, by = m.Verdict, m.Contestant+" says"
		case m.Verdict != expected:
			out = append(out, fmt.Sprintf("%s at %s: %s says %s, but %s %s", m.History, m.Level, m.Contestant, m.Verdict, by, expected))
		}
	}
	return out
}
