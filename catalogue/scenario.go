// Package catalogue reads scenarios, says whether they can run here, runs them, and compares the
// results with the expectations. Each scenario is a separate data file; package scenarios holds
// those of the project.
package catalogue

import (
	"slices"
	"strings"
	"time"
)

// Kind is how a scenario's target is started.
type Kind string

const (
	// Embedded targets run in the process of the run. Recorded histories also count as embedded.
	Embedded Kind = "embedded"
	// Local targets are private servers from packages of the distribution, on loopback.
	Local Kind = "local"
	// Docker targets are containers of images with exact versions.
	Docker Kind = "docker"
)

// Kinds lists the kinds, for help texts and messages.
var Kinds = []Kind{Embedded, Local, Docker}

// Scenario is a configuration with the expected results. docs/scenarios.md describes each key.
type Scenario struct {
	Name    string   `yaml:"name"`
	Title   string   `yaml:"title"`
	About   string   `yaml:"about"`
	Sources []string `yaml:"sources"`
	// NeverRun says why it has not been run yet, "" if it has.
	NeverRun string `yaml:"never-run"`
	Target   Target `yaml:"target"`

	Driver string `yaml:"driver"`
	// DSN are the endpoints: for embedded targets as they are; for local ones with {1}, {2}, …
	// for the DSNs of the servers.
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
	// Tries is the maximum number of runs, with consecutive seeds, until the anomaly is found.
	Tries int `yaml:"tries"`

	// Check are the levels to check; if empty, those of Expect.
	Check  List          `yaml:"check"`
	Expect []Expectation `yaml:"expect"`
	Time   Duration      `yaml:"time"`
	// Twin is the scenario with the same defect that needs no containers.
	Twin string `yaml:"twin"`
	Row  Row    `yaml:"row"`

	// File is the path of the scenario's file.
	File string `yaml:"-"`
	// History is the text of a recorded history, "" for a scenario with a run.
	History string `yaml:"-"`
}

// Target is the database that a scenario runs against.
type Target struct {
	Kind Kind `yaml:"kind"`
	// Version is exact for containers, and selects what runs for dgraph. For other local servers
	// it only says what the expectation was observed with; the package's version runs.
	Version string `yaml:"version"`

	// Start names the local servers.
	Start   string            `yaml:"start"`
	Nodes   int               `yaml:"nodes"`
	Options map[string]string `yaml:"options"`

	// Image and the following fields are for containers.
	Image string `yaml:"image"`
	// Dockerfile builds the image if none is published.
	Dockerfile string      `yaml:"dockerfile"`
	Containers []Container `yaml:"containers"`
	Setup      []Step      `yaml:"setup"`
	Disturb    []Disturb   `yaml:"disturb"`
}

// Container is one node. Containers find one another by name.
type Container struct {
	Name    string            `yaml:"name"`
	Env     map[string]string `yaml:"env"`
	Command []string          `yaml:"command"`
	// Port is the port for clients. DSN is the container's endpoint, with {addr} for host and
	// port. A container without a DSN is not an endpoint.
	Port int    `yaml:"port"`
	DSN  string `yaml:"dsn"`
}

// Step is a command in a container that is repeated until it succeeds.
type Step struct {
	Node string   `yaml:"node"`
	Exec []string `yaml:"exec"`
}

// Disturb is a disturbance of a container during a run.
type Disturb struct {
	// At counts from the start of the run; For is the duration.
	At     Duration `yaml:"at"`
	For    Duration `yaml:"for"`
	Action string   `yaml:"action"`
	Node   string   `yaml:"node"`
}

// Disturbances of a container.
const (
	// Disconnect disconnects it from the other containers, but not from clients.
	Disconnect = "disconnect"
	// Pause freezes its processes.
	Pause = "pause"
)

// Expectation is the expected verdict at a level, or the expected state of an invariant of the
// workload.
type Expectation struct {
	Level   string `yaml:"level"`
	Verdict string `yaml:"verdict"`
	// Anomaly must be among the names of the reported anomalies.
	Anomaly string `yaml:"anomaly"`
	// Refuted are exactly the weakest levels of snapshot isolation and serializability that the history
	// violates.
	Refuted List `yaml:"refuted"`

	Invariant string `yaml:"invariant"`
	Holds     *bool  `yaml:"holds"`
}

// violation reports whether a violation is expected.
func (e *Expectation) violation() bool {
	return e.Verdict == "violated" || e.Holds != nil && !*e.Holds
}

// outcome describes the expected result, without the level.
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

// Row overrides the scenario's place in the table of results, which otherwise follows from the
// run.
type Row struct {
	Engine  string `yaml:"engine" json:"engine,omitempty"`
	Anomaly string `yaml:"anomaly" json:"anomaly,omitempty"`
}

// MustFail reports whether the scenario expects a violation.
func (s *Scenario) MustFail() bool {
	return slices.ContainsFunc(s.Expect, func(e Expectation) bool { return e.violation() })
}

// Levels are the levels that are checked.
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

// Expected describes the expected results in a few words.
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

// Engine is the target in words, with its version if that is known before the run.
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
	case !s.Target.versioned(): // the package's version runs
		name += " (seen with " + v + ")"
	default:
		name += " " + v
	}
	return name
}

// List is a list of words. A single word may be written without a list.
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
