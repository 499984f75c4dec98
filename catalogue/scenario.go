// Package catalogue reads scenarios, says whether they can run here, runs them,
// and compares what comes out with what must. A scenario is a file of its own,
// data and not code; package scenarios holds those of the project.
package catalogue

import (
	"slices"
	"strings"
	"time"
)

// Kind is how a scenario's target comes into being.
type Kind string

const (
	// Embedded targets live in the process of the run; recorded histories count
	// as embedded, too.
	Embedded Kind = "embedded"
	// Local targets are servers from distribution packages, private, on loopback.
	Local Kind = "local"
	// Docker targets are containers of exact images.
	Docker Kind = "docker"
)

// Kinds lists the kinds, for help texts and messages.
var Kinds = []Kind{Embedded, Local, Docker}

// Scenario is a recipe and what must come out of it. docs/scenarios.md says what
// each key means.
type Scenario struct {
	Name    string   `yaml:"name"`
	Title   string   `yaml:"title"`
	About   string   `yaml:"about"`
	Sources []string `yaml:"sources"`
	// NeverRun says why nobody has run it yet, "" if somebody has.
	NeverRun string `yaml:"never-run"`
	Target   Target `yaml:"target"`

	Driver string `yaml:"driver"`
	// DSN are the endpoints: of embedded targets as they are, of local ones with
	// {1}, {2}, … for those that the servers give.
	DSN         List              `yaml:"dsn"`
	Isolation   string            `yaml:"isolation"`
	Workload    string            `yaml:"workload"`
	Params      map[string]string `yaml:"params"`
	Sessions    int               `yaml:"sessions"`
	Txns        int               `yaml:"txns"` // per session
	Keys        int64             `yaml:"keys"`
	Dist        string            `yaml:"dist"`
	Skew        float64           `yaml:"skew"`
	Rate        float64           `yaml:"rate"` // transactions a second; 0: closed loop
	Duration    Duration          `yaml:"duration"`
	CallTimeout Duration          `yaml:"call-timeout"`
	Retries     *int              `yaml:"retries"`
	Seed        int64             `yaml:"seed"`
	Faults      List              `yaml:"faults"`
	// Tries is how many runs, with one seed after the other, may be needed until
	// the anomaly shows.
	Tries int `yaml:"tries"`

	// Check are the levels, those of Expect where it is empty.
	Check  List          `yaml:"check"`
	Expect []Expectation `yaml:"expect"`
	Time   Duration      `yaml:"time"`
	// Twin is the scenario with the same defect that runs without containers.
	Twin string `yaml:"twin"`
	Row  Row    `yaml:"row"`

	// File is where the scenario stands.
	File string `yaml:"-"`
	// History is the text of a recorded history, "" if there is a run to do.
	History string `yaml:"-"`
}

// Target is what a scenario runs against.
type Target struct {
	Kind Kind `yaml:"kind"`
	// Version is exact for containers. For local servers it says what the
	// expectation was seen with, and what runs is what the package has; but of
	// dgraph it chooses what runs.
	Version string `yaml:"version"`

	// Start names the local servers.
	Start   string            `yaml:"start"`
	Nodes   int               `yaml:"nodes"`
	Options map[string]string `yaml:"options"`

	// Image and the rest are of containers.
	Image string `yaml:"image"`
	// Dockerfile builds the image where nobody publishes one.
	Dockerfile string      `yaml:"dockerfile"`
	Containers []Container `yaml:"containers"`
	Setup      []Step      `yaml:"setup"`
	Disturb    []Disturb   `yaml:"disturb"`
}

// Container is one node. Several find one another by their names.
type Container struct {
	Name    string            `yaml:"name"`
	Env     map[string]string `yaml:"env"`
	Command []string          `yaml:"command"`
	// Port is where it listens for clients, and DSN its endpoint, with {addr} for
	// host and port. A container without a DSN is none.
	Port int    `yaml:"port"`
	DSN  string `yaml:"dsn"`
}

// Step is a command within a container, which is repeated until it succeeds.
type Step struct {
	Node string   `yaml:"node"`
	Exec []string `yaml:"exec"`
}

// Disturb is something that happens to a container during a run.
type Disturb struct {
	// At counts from the start of the run, For is how long it lasts.
	At     Duration `yaml:"at"`
	For    Duration `yaml:"for"`
	Action string   `yaml:"action"`
	Node   string   `yaml:"node"`
}

// What can happen to a container.
const (
	// Disconnect separates it from the others, but not from its clients.
	Disconnect = "disconnect"
	// Pause freezes its processes.
	Pause = "pause"
)

// Expectation is a verdict that must come out at a level, or the state in which
// an invariant of the workload must be found.
type Expectation struct {
	Level   string `yaml:"level"`
	Verdict string `yaml:"verdict"`
	// Anomaly must be among the names of the anomalies that are reported.
	Anomaly string `yaml:"anomaly"`
	// Refuted are the weakest levels that the anomalies refute, exactly.
	Refuted List `yaml:"refuted"`

	Invariant string `yaml:"invariant"`
	Holds     *bool  `yaml:"holds"`
}

// violation reports whether something must be found.
func (e *Expectation) violation() bool {
	return e.Verdict == "violated" || e.Holds != nil && !*e.Holds
}

// outcome is what must come out, without saying where.
func (e *Expectation) outcome() string {
	switch {
	case e.Invariant != "" && e.violation():
		return "invariant " + e.Invariant + " broken"
	case e.Invariant != "":
		return "invariant " + e.Invariant + " holds"
	}
	text := e.Verdict
	if e.Anomaly != "" {
		text += ": " + e.Anomaly
	}
	if len(e.Refuted) > 0 {
		text += ", refuting " + strings.Join(e.Refuted, " and ")
	}
	return text
}

// Row says how the scenario stands in the table of results, where that is not
// told by the run.
type Row struct {
	Engine  string `yaml:"engine" json:"engine,omitempty"`
	Anomaly string `yaml:"anomaly" json:"anomaly,omitempty"`
}

// MustFail reports whether the scenario is to show something, and not that there
// is nothing.
func (s *Scenario) MustFail() bool {
	return slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.violation() })
}

// Levels are what is checked.
func (s *Scenario) Levels() []string {
	if len(s.Check) > 0 {
		return s.Check
	}
	var out []string
	for _, e := range s.Expect {
		if e.Level != "" && !slices.Contains(out, e.Level) {
			out = append(out, e.Level)
		}
	}
	return out
}

// Expected says in a few words what must come out.
func (s *Scenario) Expected() string {
	var parts []string
	levels := map[string][]string{}
	for n := range s.Expect {
		e := &s.Expect[n]
		if text := e.outcome(); levels[text] == nil {
			parts = append(parts, text)
			levels[text] = []string{e.Level}
		} else {
			levels[text] = append(levels[text], e.Level)
		}
	}
	for n, text := range parts {
		if at := strings.Join(levels[text], ", "); at != "" {
			parts[n] = at + " " + text
		}
	}
	return strings.Join(parts, "; ")
}

// Engine is the target in words, with its version as far as it is known before
// anything runs.
func (s *Scenario) Engine() string {
	name := s.Row.Engine
	switch {
	case name != "":
	case s.History != "":
		return "recorded history"
	case s.Target.Start != "":
		name = s.Target.Start
	default:
		name = s.Driver
	}
	switch v := s.Target.Version; {
	case v == "" || strings.Contains(name, v):
	case !s.Target.versioned(): // what runs is what the package has
		name += " (seen with " + v + ")"
	default:
		name += " " + v
	}
	return name
}

// List is a list of words, of which one may stand alone.
type List []string

// Duration is a time such as 1m30s.
type Duration time.Duration

func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}
