// Package hunt runs a plan of many runs: it chooses which run is next, has it recorded and judged by processes
// of isohound, keeps an index of all runs in one SQLite file, and says what was found and what is new.
//
// Files in reading order:
//
//	plan.go, values.go, decode.go,            the plan and its file
//	validate.go, schema.go, init.go
//	cell.go, check.go, draw.go                what the plan asks for: cells, and runs of them
//	state.go, query.go                        the index of nights, runs and verdicts
//	choose.go, yield.go, bandit.go            which run is next
//	shrink.go, smaller.go                     a smaller workload for a violation
//	process.go, hunter.go, collect.go         runs: recorded, judged, entered
//	expect.go                                 what each cell's verdicts mean
//	morning.go, groups.go, write.go,          the page, the summary, JUnit, scenarios
//	smallest.go
//	sides.go, sides_words.go, fisher.go       two nights or two targets compared
//	trial.go                                  measures choosers
//
// A cell is a target, an isolation, a workload of the plan and a script of faults. A night is one hunt, which may
// have been interrupted and resumed. The package judges nothing: verdicts come from package results.
package hunt

import (
	"strings"
	"time"
)

// Plan is what to hunt. docs/hunt.md describes each key; the doc tags are the descriptions in the JSON schema.
type Plan struct {
	Name       string        `yaml:"name" doc:"Name of the hunt, for pages and tests. By default the name of the file."`
	Targets    []Target      `yaml:"targets" required:"true" doc:"The databases."`
	Isolations List          `yaml:"isolations" doc:"Isolations to request, by the databases' own names, of every target that names none. By default all that a target has."`
	Workloads  []Workload    `yaml:"workloads" required:"true" doc:"What transactions do."`
	Levels     List          `yaml:"levels" doc:"Levels to check, as --check of isohound run; claimed, the default, stands for what the isolation promises."`
	Faults     List          `yaml:"faults" doc:"Scripts of faults, as --fault of isohound run. Each is a cell of its own; none is a run without faults. A script that does not suit a target is left out there. By default none."`
	Budget     Budget        `yaml:"budget" doc:"When the night ends. Without time, runs and until, every cell is run once."`
	Expect     []Expectation `yaml:"expect" doc:"What is expected where it is not that promised levels are satisfied. The last one that fits counts."`
	Keep       string        `yaml:"keep" enum:"violated,reports,all" doc:"Which folders of runs stay: violated (the default: all but those of satisfied runs), reports (also the reports of satisfied runs, without their histories), or all."`
	Chooser    string        `yaml:"chooser" enum:"bandit,random,grid" doc:"How values are drawn from lists and ranges: bandit (by what earlier runs yielded), random, or grid (all combinations of the parts of ranges, one after the other)."`
	Repeats    *int          `yaml:"repeats" min:"0" doc:"How often a violation is repeated a night with the same seed, and then with parameters near it, to learn its rate. 3 by default, 0 is never."`
	Shrink     Shrink        `yaml:"shrink" doc:"How much is spent to find a smaller workload that shows a violation. Only violations that are not expected are shrunk, one for each target, isolation and anomaly a night."`
	Seed       int64         `yaml:"seed" doc:"Seed of all choices of the hunt. By default drawn for each night."`
	document   *document
	// driverBefore, if set, is the driver that a target of a plan had: nothing will be run, and DSNs need not be known.
	driverBefore func(plan, target string) string
	check        Check           // of settings, nil if they are not checked
	checked      map[string]bool // what it said of arguments
}

// Shrink says how much is spent to shrink one violation as a workload.
type Shrink struct {
	Runs  *int     `yaml:"runs" min:"0" doc:"How many runs may be made to find a smaller workload for one violation; 60 by default, 0 is none. Those that confirm the smallest come on top."`
	Time  Duration `yaml:"time" doc:"How long these runs may take, with judging; 10m by default."`
	Tries int      `yaml:"tries" min:"1" doc:"How often the same settings are tried; 3 by default. Smaller settings are kept if they show the anomaly at least half as often as the violated run did when it was repeated."`
}

// Target is a database.
type Target struct {
	Name       string `yaml:"name" required:"true" doc:"Name of the target, for pages. It must not change from night to night."`
	Driver     string `yaml:"driver" doc:"Driver; isohound drivers lists them. It follows from server and from the scheme of a DSN."`
	DSN        List   `yaml:"dsn" doc:"Where the database is; several are endpoints of one database. ${NAME} stands for an environment variable."`
	Server     string `yaml:"server" doc:"Start a private server for each run: postgres, mariadb, galera, firebird, postgres-failover (a primary, and a standby that is promoted when the primary is killed), postgres@18.4 (an exact version, fetched once; 18 is the newest of 18), postgres=FOLDER with PostgreSQL's programs, etcd, etcd-cluster (three nodes), redis, redis-sentinel, tidb@2024, tidb@2019, dgraph@25.0.0, dgraph@1.1.1, or a container: docker-NAME=IMAGE, such as docker-mongo=mongo:7.0.14, where NAME is cassandra, cockroach, etcd, mariadb, mongo, mysql, postgres, redis or yugabyte; docker-NAME-cluster=IMAGE is three of them, for cockroach, etcd and mongo. ?enable_seqscan=on and the like after it add to the DSN."`
	Isolations List   `yaml:"isolations" doc:"Isolations to request of this target."`
	Workloads  List   `yaml:"workloads" doc:"Names of the workloads to run on this target. By default all."`
	Levels     List   `yaml:"levels" doc:"Levels to check on this target."`
	Faults     List   `yaml:"faults" doc:"Scripts of faults for this target, in place of the plan's."`
	unset      string // an environment variable of its DSN that is not set, or ""
}

// Workload is a workload with its parameters.
type Workload struct {
	Name     string            `yaml:"name" doc:"Name of this entry, for pages; by default that of the workload. It must not change from night to night."`
	Workload string            `yaml:"workload" required:"true" doc:"The workload; isohound workloads lists them."`
	Params   map[string]Values `yaml:"params" doc:"Parameters of the workload: a value, a list or a range to draw from."`
	Sessions Values            `yaml:"sessions" doc:"Concurrent sessions."`
	Txns     Values            `yaml:"txns" doc:"Transactions per session; the run then ends with them, or with its duration."`
	Keys     Values            `yaml:"keys" doc:"Keys."`
	Dist     Values            `yaml:"dist" doc:"Distribution of keys."`
	Skew     Values            `yaml:"skew" doc:"Skew of the distribution."`
	Rate     Values            `yaml:"rate" doc:"Open loop: transactions per second over all sessions."`
	Run      Duration          `yaml:"run" doc:"Duration of a run of this workload."`
	raw      []byte            // what the file held that describes the workload, if it is not one in Go
}

// Budget says when a night ends. A run that would not end in time is not begun.
type Budget struct {
	Time  Duration `yaml:"time" doc:"How long the night lasts; what it lasted before an interruption counts."`
	Runs  int      `yaml:"runs" min:"1" doc:"How many runs the night has."`
	Until Clock    `yaml:"until" doc:"Time of day at which the night ends, by the machine's clock."`
	Run   Duration `yaml:"run" doc:"Duration of the recording of one run; 10s by default."`
	Check Duration `yaml:"check" doc:"Time limit for judging a run at each level; 2m by default."`
}

// Expectation says what is expected of the cells that it names.
type Expectation struct {
	Target    string `yaml:"target" doc:"A target; all by default."`
	Isolation string `yaml:"isolation" doc:"An isolation; all by default."`
	Workload  string `yaml:"workload" doc:"A workload of the plan; all by default."`
	Fault     string `yaml:"fault" doc:"A script of faults as in the plan, or none; all by default."`
	Level     string `yaml:"level" doc:"A level; all by default."`
	Verdict   string `yaml:"verdict" required:"true" enum:"satisfied,violated,unknown,any" doc:"satisfied; violated: a night without a violation fails; unknown: neither satisfied nor unknown fails; any: nothing fails."`
	Anomaly   List   `yaml:"anomaly" doc:"With violated: the names of the anomalies that are expected. Another one is unexpected, and one of them must be found."`
}

// defaults of a plan.
const (
	defaultRun     = 10 * time.Second
	defaultCheck   = 2 * time.Minute
	defaultRepeats = 3
	defaultShrinks = 60
	defaultShrink  = 10 * time.Minute
	defaultTries   = 3
	noFault        = "none"
	keepViolated   = "violated"
	keepReports    = "reports"
	keepAll        = "all"
)

// repeats is how often a violation is repeated.
func (p *Plan) repeats() int {
	if p.Repeats == nil {
		return defaultRepeats
	}
	return *p.Repeats
}

func (s *Shrink) runs() int {
	if s.Runs == nil {
		return defaultShrinks
	}
	return *s.Runs
}

func (s *Shrink) time() time.Duration {
	if s.Time > 0 {
		return time.Duration(s.Time)
	}
	return defaultShrink
}

func (s *Shrink) tries() int { return either(s.Tries, defaultTries) }

// valid reports whether isohound run would take settings of a cell.
func (p *Plan) valid(c *Cell, s Settings) bool {
	if p.check == nil {
		return true
	}
	args := c.arguments(s, true)
	key := strings.Join(args, "\n")
	is, known := p.checked[key]
	if !known {
		if p.checked == nil {
			p.checked = map[string]bool{}
		}
		is = p.check(args) == nil
		p.checked[key] = is
	}
	return is
}

// ChosenBy is how values are drawn: bandit, random or grid.
func (p *Plan) ChosenBy() string {
	if p.Chooser == "" {
		return byBandit
	}
	return p.Chooser
}

// once reports whether every cell is run once.
func (b *Budget) once() bool { return b.Time == 0 && b.Runs == 0 && b.Until == "" }

// runTime is how long a run of a workload is recorded.
func (p *Plan) runTime(w *Workload) time.Duration {
	for _, d := range []Duration{w.Run, p.Budget.Run} {
		if d > 0 {
			return time.Duration(d)
		}
	}
	return defaultRun
}

func (p *Plan) checkTime() time.Duration {
	if p.Budget.Check > 0 {
		return time.Duration(p.Budget.Check)
	}
	return defaultCheck
}

// deadline is when a night that began at a time, and has lasted for spent before now, ends; zero if it does not end
// by time.
func (b *Budget) deadline(began, now time.Time, spent time.Duration) time.Time {
	var end time.Time
	if b.Time > 0 {
		end = now.Add(time.Duration(b.Time) - spent)
	}
	if b.Until != "" {
		if until := b.Until.next(began); end.IsZero() || until.Before(end) {
			end = until
		}
	}
	return end
}
