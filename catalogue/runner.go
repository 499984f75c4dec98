package catalogue

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/generator"
)

// Result is the result of one scenario.
type Result struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Target Kind   `json:"target"`
	// Engine is the target in words, Server what the server reports about itself.
	Engine    string `json:"engine"`
	Server    string `json:"server,omitempty"`
	Isolation string `json:"isolation,omitempty"`
	Workload  string `json:"workload,omitempty"`
	Row       Row    `json:"row"`
	Expected  string `json:"expected"`
	MustFail  bool   `json:"must_fail"`

	Status Status `json:"status"`
	// Reason says why it failed or was not run.
	Reason     string                      `json:"reason,omitempty"`
	Findings   []Finding                   `json:"findings"`
	Judged     []Judged                    `json:"judged"`
	Invariants []generator.InvariantResult `json:"invariants,omitempty"`
	Committed  int64                       `json:"committed,omitempty"`
	// Seed is the seed of the last run, Tries how many runs there were.
	Seed    int64   `json:"seed,omitempty"`
	Tries   int     `json:"tries,omitempty"`
	Seconds float64 `json:"seconds"` // of all tries, without the start of the target
	// ExpectedSeconds is how long one run was expected to take.
	ExpectedSeconds float64 `json:"expected_seconds"`
	// Dir is the folder of the last run, Report its report, both relative to the results. Code
	// is the exit code of a failed run.
	Dir    string `json:"dir,omitempty"`
	Report string `json:"report,omitempty"`
	Code   int    `json:"exit_code,omitempty"`
}

// Runner runs scenarios by running isohound.
type Runner struct {
	// Command is the path of isohound; Env is added to its environment.
	Command string
	Env     []string
	// Out is the folder for all results.
	Out string
	// Jobs is how many targets run at once; less than 1 means 1.
	Jobs int
	// Tell is called with each result, Note with progress messages, and Holds with the targets
	// that are running, "" for none. They may be nil; calls do not overlap.
	Tell  func(Result)
	Note  func(string)
	Holds func(string)
	// Keep, if set, is called before the targets are stopped, which wait for its return.
	Keep func(what string)

	mu   sync.Mutex
	held map[*running]bool
}

// group are scenarios that share one started target.
type group struct{ all []*Scenario }

// groups groups scenarios that can share a target.
func groups(list []*Scenario) []*group {
	var out []*group
	by := map[string]*group{}
	for _, s := range list {
		key := ""
		if s.Target.Kind != Embedded {
			t := s.Target
			if !t.versioned() {
				t.Version = "" // the version does not change what runs
			}
			b, _ := json.Marshal(t)
			key = string(b)
			if s.Target.Kind == Docker {
				key += s.Driver
			}
		}
		g := by[key]
		if g == nil || key == "" {
			g = &group{}
			out = append(out, g)
			by[key] = g
		}
		g.all = append(g.all, s)
	}
	return out
}

// Run runs the scenarios and returns their results, in the order of list. Scenarios that share a
// target run one after another. When ctx ends, running scenarios are stopped and the others are
// not run.
func (r *Runner) Run(ctx context.Context, list []*Scenario) []Result {
	r.held = map[*running]bool{}
	index := map[*Scenario]int{}
	out := make([]Result, len(list))
	for n, s := range list {
		index[s] = n
	}
	states := &States{}
	queue := make(chan *group)
	var workers sync.WaitGroup
	for range max(1, r.Jobs) {
		workers.Go(func() {
			for g := range queue {
				r.group(ctx, g, func(s *Scenario, res *Result) {
					out[index[s]] = *res
					r.locked(func() {
						if r.Tell != nil {
							r.Tell(*res)
						}
					})
				})
			}
		})
	}
	for _, g := range groups(list) {
		if st := states.Of(ctx, g.all[0]); !st.Ready {
			for _, s := range g.all {
				res := blank(s)
				res.Status, res.Reason = NotRun, st.Text
				out[index[s]] = *res
				r.locked(func() {
					if r.Tell != nil {
						r.Tell(*res)
					}
				})
			}
			continue
		}
		queue <- g
	}
	close(queue)
	workers.Wait()
	return out
}

func blank(s *Scenario) *Result {
	return &Result{
		Name: s.Name, Title: s.Title, Target: s.Target.Kind, Engine: s.Engine(), Isolation: s.Isolation, Workload: s.Workload, Row: s.Row,
		Expected: s.Expected(), MustFail: s.MustFail(), Findings: []Finding{}, Judged: []Judged{}, ExpectedSeconds: time.Duration(s.Time).Seconds(),
	}
}

func (r *Runner) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func (r *Runner) note(text string) {
	r.locked(func() {
		if r.Note != nil {
			r.Note(text)
		}
	})
}

// group starts a target, runs its scenarios, and stops it.
func (r *Runner) group(ctx context.Context, g *group, done func(*Scenario, *Result)) {
	target, err := r.start(ctx, g.all[0])
	if err == nil {
		r.hold(target, true)
		defer func() {
			target.stop()
			r.hold(target, false)
		}()
	}
	for _, s := range g.all {
		res := blank(s)
		switch {
		case ctx.Err() != nil:
			res.Status, res.Reason = NotRun, "interrupted"
		case err != nil:
			res.Status, res.Code, res.Reason = Failed, codeUnavailable, "the target could not be started: "+err.Error()
		default:
			if err := r.scenario(ctx, s, target, res); err != nil {
				res.Status, res.Code, res.Reason = Failed, 70, err.Error()
				if ctx.Err() != nil {
					res.Status, res.Code, res.Reason = NotRun, 0, "interrupted"
				}
			}
		}
		done(s, res)
	}
	if err == nil {
		if kept := r.keepLogs(g.all[0], target); kept != nil {
			r.note("logs of servers: " + kept.Error())
		}
		if r.Keep != nil && target.what != "" && ctx.Err() == nil {
			r.Keep(target.what)
		}
	}
}

// start starts the target of a scenario.
func (r *Runner) start(ctx context.Context, s *Scenario) (*running, error) {
	switch s.Target.Kind {
	case Local:
		r.note("starting " + s.Target.Start)
		return starterOf(s.Target.Start).start(ctx, &s.Target)
	case Docker:
		r.note("starting " + s.Target.Image)
		return startDocker(ctx, s, r.note)
	}
	return &running{dsns: s.DSN, stop: func() {}}, nil
}

// hold reports which targets run, for a message if they are left behind.
func (r *Runner) hold(target *running, on bool) {
	r.locked(func() {
		if r.held[target] = on; !on {
			delete(r.held, target)
		}
		if r.Holds == nil || target.what == "" {
			return
		}
		all := ""
		for t := range r.held {
			if t.what != "" {
				all += "; " + t.what
			}
		}
		if all != "" {
			all = all[2:]
		}
		r.Holds(all)
	})
}

// keepLogs writes the logs of a target's servers to the folder of the first run.
func (r *Runner) keepLogs(s *Scenario, target *running) error {
	for name, log := range target.logs {
		dir := filepath.Join(r.Out, filepath.FromSlash(s.Name), "servers")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return errors.WithStack(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(log()), 0o666); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}

// scenario runs one scenario until the expectation is met, or its tries are used up.
func (r *Runner) scenario(ctx context.Context, s *Scenario, target *running, res *Result) error {
	begun := time.Now()
	for n := range max(1, s.Tries) {
		res.Tries, res.Seed = n+1, s.Seed+int64(n)
		res.Dir = s.Name
		if s.Tries > 1 {
			res.Dir += "/try-" + itoa(n+1)
		}
		dir := filepath.Join(r.Out, filepath.FromSlash(res.Dir))
		a, err := r.try(ctx, s, target, res.Seed, dir)
		if err != nil {
			return err
		}
		res.decide(s, a)
		res.describe(dir)
		if res.Seconds = time.Since(begun).Seconds(); res.Status == Met || res.Status == Failed {
			break
		}
	}
	return nil
}

func itoa(n int) string { return strconv.Itoa(n) }
