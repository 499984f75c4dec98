package catalogue

import (
	"context"
	"encoding/json"
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
	Seed  int64 `json:"seed,omitempty"`
	Tries int   `json:"tries,omitempty"`
	// Restarts is how often the target was started again between its tries, because it had not answered in time.
	Restarts int     `json:"restarts,omitempty"`
	Seconds  float64 `json:"seconds"` // of all tries, without the first start of the target
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
	// Keep, if set, is called before a target is stopped, which waits for its return. It is not called for a target that is started
	// again.
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

// group runs scenarios on one target, which is stopped then.
func (r *Runner) group(ctx context.Context, g *group, done func(*Scenario, *Result)) {
	at := &place{r: r, s: g.all[0]}
	defer at.leave(ctx)
	for _, s := range g.all {
		res := blank(s)
		if err := r.scenario(ctx, s, at, res); err != nil {
			res.Status, res.Code, res.Reason = Failed, 70, err.Error()
			if errors.As(err, new(*startError)) {
				res.Code = codeUnavailable
			}
			if ctx.Err() != nil {
				res.Status, res.Code, res.Reason = NotRun, 0, "interrupted"
			}
		}
		done(s, res)
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

// scenario runs one scenario until the expectation is met, or its tries are used up. A try whose target did not answer in time
// counts, and the next one has a new target; the second such try in a row is the last one.
func (r *Runner) scenario(ctx context.Context, s *Scenario, at *place, res *Result) error {
	var begun time.Time
	silent := 0 // tries in a row
	for n := range max(1, s.Tries) {
		before := at.starts
		target, err := at.ready(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			begun = time.Now()
		} else {
			res.Restarts += at.starts - before
		}
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
		res.Seconds = time.Since(begun).Seconds()
		if at.silent(a) {
			silent++
		} else {
			silent = 0
		}
		if res.Status == Met || silent > 1 || res.Status == Failed && silent == 0 {
			break
		}
		if silent > 0 && n+1 < s.Tries {
			r.note(s.Name + ": try " + itoa(n+1) + " failed: " + res.Reason)
		}
	}
	return nil
}

func itoa(n int) string { return strconv.Itoa(n) }
