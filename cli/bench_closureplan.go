//go:build !front

package cli

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/bench"
	"github.com/isohound/isohound/checker/level"
)

// plan lists the graphs.
func (b *closing) plan(files []string) error {
	for _, path := range files {
		b.specs = append(b.specs, bench.GraphSpec{Path: path, Level: b.lvl})
	}
	if len(files) > 0 {
		return nil
	}
	if err := firstError(once("--workloads", b.workloads), once("--sizes", b.sizes), once("--sessions", b.sessions)); err != nil {
		return err
	}
	for _, name := range b.workloads {
		i := slices.Index(workloadNames(), strings.TrimSpace(name))
		if i < 0 {
			return usage("--workloads %s: known are %s", name, strings.Join(workloadNames(), ", "))
		}
		for _, text := range b.sizes {
			txns, err := parseCount(text)
			if err != nil || txns < 2 || txns > 10_000_000 {
				return usage("--sizes %s: expected numbers from 2 to 10M, such as 50k", text)
			}
			for _, sessions := range b.sessions {
				s := bench.GraphSpec{Workload: bench.ClosureWorkloads[i], Txns: txns, Level: b.lvl}
				if s.Sessions, err = parseCount(sessions); sessions == "n" {
					if s.Level, err = b.withoutSessions(); err != nil {
						return err
					}
				} else if err != nil || s.Sessions < 1 || s.Sessions > maxSessions {
					return usage("--sessions %s: expected numbers from 1 to %d, or n", sessions, maxSessions)
				}
				if s.Sessions <= txns {
					b.specs = append(b.specs, s)
				}
			}
		}
	}
	if len(b.specs) == 0 {
		return usage("nothing to measure: --workloads, --sizes and --sessions must not be empty, and one of --sizes must be at least one of --sessions")
	}
	return nil
}

// withoutSessions is the level without session order.
func (b *closing) withoutSessions() (level.Level, error) {
	for _, l := range level.All() {
		if with, ok := l.WithSessionOrder(); l == b.lvl && ok || ok && with == b.lvl {
			return l, nil
		}
	}
	return 0, usage("--sessions n leaves out session order, and level %s has no such variant; take ser or si, or other --sessions", b.lvl)
}

// parseCount reads a number such as 50k.
func parseCount(text string) (int, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	times := 1
	for suffix, t := range map[string]int{"k": 1000, "m": 1_000_000} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, times = rest, t
		}
	}
	n, err := strconv.Atoi(text)
	if err == nil && n > 1<<31 {
		err = errors.New("too large")
	}
	return n * times, err
}

// recorder makes the folder for the histories; done removes it if it is temporary.
func (b *closing) recorder(progress func(string)) (r *bench.Recorder, done func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, errors.WithStack(err)
	}
	r, done = &bench.Recorder{Command: self, Folder: b.histories, Seed: b.seed, Progress: progress}, func() {}
	if b.histories != "" {
		return r, done, withCode(exitIO, errors.Wrap(os.MkdirAll(b.histories, 0o777), "--histories"))
	}
	if r.Folder, err = os.MkdirTemp("", "isohound-bench-"); err != nil {
		return nil, nil, withCode(exitIO, err)
	}
	return r, func() { os.RemoveAll(r.Folder) }, nil
}
