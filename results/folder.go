package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/generator"
)

// Names of the files in a run folder.
const (
	configFile = "config.json"
	// WorkloadFile is the file that describes the workload, as it was when the run began.
	WorkloadFile = "workload.yaml"
	statsFile    = "stats.json"
	verdictFile  = "verdict.json"
	// invariantsFile exists if the workload has invariants.
	invariantsFile = "invariants.json"
	reportFile     = "report.html"
	junitFile      = "junit.xml"
	elleFile       = "elle.json"
	summaryFile    = "summary.md"
)

// NotYet is the value of Config.Ended while a run has not ended.
const NotYet = "not yet"

// Killed is the value of Config.Ended for a run whose process was killed, if another process found that out.
const Killed = "isohound was killed"

// Stuck is the value of Config.Ended for a run that ended because of an error, such as a full disk, if its process could not write
// that, and another one did. Config.Cause has the error.
const Stuck = "isohound could not go on"

// ReproFolder is the folder of a violated run's reproduction.
const ReproFolder = "repro"

// Config is the configuration of a run.
type Config struct {
	Started time.Time `json:"started"`
	Version string    `json:"version"`
	Driver  string    `json:"driver"`
	Server  string    `json:"server"`
	// Nodes are the endpoints, if sessions are spread over several.
	Nodes     []string `json:"nodes,omitempty"`
	Isolation string   `json:"isolation"`
	// Promises names the levels that the isolation promises, separated by commas, and PromisedBy says
	// where that is documented.
	Promises   string `json:"promises,omitempty"`
	PromisedBy string `json:"promised_by,omitempty"`
	// Loses is the setting because of which the server may lose commits as documented, since the run kills it or, if Away is set,
	// since it could not be reached for a time, or "".
	Loses    string            `json:"loses,omitempty"`
	Away     bool              `json:"away,omitempty"`
	Workload string            `json:"workload"`
	Params   map[string]string `json:"params"`
	Sessions int               `json:"sessions"`
	Txns     int               `json:"txns_per_session"` // 0: no limit
	Keys     int64             `json:"keys"`
	Dist     string            `json:"dist"`
	Skew     float64           `json:"skew,omitempty"` // 0: the distribution's default
	Seed     int64             `json:"seed"`
	Rate     float64           `json:"rate,omitempty"` // transactions a second; 0: closed loop
	Duration string            `json:"duration,omitempty"`
	Levels   []string          `json:"levels"`
	// Faults is the script by which connections were disturbed.
	Faults string `json:"faults,omitempty"`
	// Notes are settings of the server that weaken a verdict, or that slowed the run.
	Notes []string `json:"notes,omitempty"`
	// Ended says why the run ended, in a few words. Cause is the error that ended it early, if one did.
	Ended string `json:"ended"`
	Cause string `json:"cause,omitempty"`
	// Schema is the name under which the run created everything on the server. Flags are the flags with which it
	// was started, except --dsn. Both are there if the run can be resumed. Resumed counts how often it was.
	Schema  string              `json:"schema,omitempty"`
	Flags   map[string][]string `json:"flags,omitempty"`
	Resumed int                 `json:"resumed,omitempty"`
	// Loaders says that load generators in other processes could join the run.
	Loaders bool `json:"loaders,omitempty"`
	// Joined counts how often one joined it. It is known at the end of the run.
	Joined int `json:"loaders_joined,omitempty"`
	// Repeat is the command that runs the same configuration again.
	Repeat string `json:"repeat"`
	// Command is the same for others, without the name of the program and without DSNs. DSN are those, with
	// passwords masked. Runs of earlier versions have neither.
	Command string   `json:"command,omitempty"`
	DSN     []string `json:"dsn,omitempty"`
	// Scenario is the run as a scenario in YAML, without what is expected of it; "" if scenarios cannot repeat the run.
	Scenario string `json:"scenario,omitempty"`
	// History is the name of the history's file in the folder.
	History string `json:"history"`
}

// Alone says that the command that repeats the run has no load generators, if the run had some, and is "" otherwise.
func (c *Config) Alone() string {
	var took string
	switch {
	case c.Joined > 0:
		took = "Load generators (isohound load) joined this run " + count(c.Joined, "time")
	case c.Loaders && (c.Ended == NotYet || c.Ended == Killed): // it was killed
		took = "Load generators (isohound load) may have joined this run"
	default:
		return ""
	}
	return took + ", and this command has none: it makes only the transactions of the run's own sessions. With --publish URL --loaders N added to it, load generators can join again."
}

// Recorded is what isohound check takes to judge the whole run again, in its folder.
func (c *Config) Recorded() string {
	if c.History == WindowsFolder || strings.HasPrefix(c.History, WindowsFolder+string(filepath.Separator)) {
		return "." // the folder stands for all windows
	}
	return c.History
}

// Run is the content of a run folder except the history.
type Run struct {
	Config   Config
	Stats    generator.Stats
	Outcomes []Outcome
	// Invariants are the invariants that were checked in the database after the run.
	Invariants []generator.InvariantResult
}

// Broken returns the violated invariants if a serial level was to be checked: no serial
// execution ends in such a state.
func (r *Run) Broken() []generator.InvariantResult {
	return r.invariants(func(i generator.InvariantResult) bool { return i.Problem != "" })
}

// unchecked returns the invariants that could not be checked, if a serial level was to be checked.
func (r *Run) unchecked() []generator.InvariantResult {
	return r.invariants(func(i generator.InvariantResult) bool { return i.Error != "" })
}

// invariants returns some of the invariants if a serial level was to be checked.
func (r *Run) invariants(which func(generator.InvariantResult) bool) []generator.InvariantResult {
	serial := func(name string) bool {
		l, err := level.Parse(name)
		return err == nil && l.Serial()
	}
	if !slices.ContainsFunc(r.Config.Levels, serial) {
		return nil
	}
	var out []generator.InvariantResult
	for _, i := range r.Invariants {
		if which(i) {
			out = append(out, i)
		}
	}
	return out
}

// HasFigures reports whether the figures of the recording are known. A process that was killed wrote none.
func (r *Run) HasFigures() bool { return r.Stats.Seconds > 0 }

// Violated reports whether a level or an invariant is violated.
func (r *Run) Violated() bool { return worst(r) == verdict.Violated }

// Save writes the run's files and its reports into dir, and returns the path
// of the report.
func Save(dir string, r *Run, page Page) (string, error) {
	if err := saveFiles(dir, r, true); err != nil {
		return "", err
	}
	elle, err := Elle(r.Outcomes)
	if err == nil {
		err = write(dir, elleFile, elle)
	}
	if err != nil {
		return "", err
	}
	return Draw(dir, r, page)
}

// SaveRecorded writes all that is known of a run when its recording has ended, before it is judged.
func SaveRecorded(dir string, r *Run) error {
	return saveFiles(dir, r, false)
}

// saveFiles writes the run's files, with the verdicts or before there are any.
func saveFiles(dir string, r *Run, judged bool) error {
	for _, f := range []struct {
		name string
		data any
		has  bool
	}{{configFile, r.Config, true}, {statsFile, r.Stats, true}, {verdictFile, r.Outcomes, judged}, {invariantsFile, r.Invariants, len(r.Invariants) > 0}} {
		if !f.has {
			continue
		}
		b, err := json.MarshalIndent(f.data, "", "  ")
		if err != nil {
			return errors.Wrap(err, f.name)
		}
		if err := write(dir, f.name, append(b, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Load reads what Save wrote. Files that are missing because the run was cut off are left empty,
// but the configuration must exist.
func Load(dir string) (*Run, error) {
	r := &Run{}
	for _, f := range []struct {
		name     string
		data     any
		required bool
	}{{configFile, &r.Config, true}, {statsFile, &r.Stats, false}, {verdictFile, &r.Outcomes, false}, {invariantsFile, &r.Invariants, false}} {
		path := filepath.Join(dir, f.name)
		if err := Regular(path); err != nil {
			return nil, err
		}
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) && !f.required {
			continue
		}
		if err != nil {
			return nil, errors.Wrapf(err, "%s is not the folder of a run", dir)
		}
		if err := json.Unmarshal(b, f.data); err != nil {
			remedy := "put back the file that the run wrote"
			switch {
			case f.name == verdictFile:
				remedy = "remove it, and isohound report judges the run again, if its history is there"
			case !f.required:
				remedy += ", or remove it"
			}
			return nil, errors.Errorf("%s is damaged: %s; %s", path, JSONWords(err), remedy)
		}
	}
	if len(r.Outcomes) == 0 {
		var err error
		if r.Outcomes, err = windowOutcomes(dir, &r.Config); err != nil {
			return nil, err
		}
	}
	if r.Config.Driver == "" {
		return nil, errors.Errorf("%s does not describe a run", filepath.Join(dir, configFile))
	}
	for n := range r.Outcomes {
		o := &r.Outcomes[n]
		if o.Promised == nil { // the folder is older than this field
			r.Config.Weigh(o)
		}
		if o.Verdict == verdict.Violated && len(o.Anomalies) == 0 && o.Reason == "" {
			return nil, errors.Errorf("%s: a violation without an anomaly", filepath.Join(dir, verdictFile))
		}
	}
	return r, nil
}

// Holds reports whether dir holds a run.
func Holds(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, configFile))
	return err == nil
}

// Judged reports whether the run in dir has verdicts.
func Judged(dir string) bool { return exists(filepath.Join(dir, verdictFile)) }

// Unjudge removes the verdicts of a run that goes on.
func Unjudge(dir string) error {
	err := os.Remove(filepath.Join(dir, verdictFile))
	if os.IsNotExist(err) {
		return nil
	}
	return errors.WithStack(err)
}

// HasHistory reports whether something was recorded of a run.
func HasHistory(dir string, r *Run) bool {
	st, err := os.Stat(filepath.Join(dir, r.Config.History))
	return err == nil && st.Mode().IsRegular() && st.Size() > 0
}

// HistoryFile returns the path of the history of the run in dir, or path itself if it is not the folder
// of a run.
func HistoryFile(path string) (string, error) {
	if !isFolder(path) || !Holds(path) {
		return path, nil
	}
	r, err := Load(path)
	if err != nil {
		return "", err
	}
	return filepath.Join(path, r.Config.History), nil
}

// Claim marks the folder as the folder of a run. If another run has claimed it, os.IsExist is
// true for the error.
func Claim(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, configFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// SaveConfig writes only the configuration, before the run, so that a run that is cut off can be
// understood and repeated.
func SaveConfig(dir string, c *Config) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return errors.Wrap(err, configFile)
	}
	return write(dir, configFile, append(b, '\n'))
}

// write replaces a file of the folder atomically.
func write(dir, name string, data []byte) error {
	tmp, err := os.CreateTemp(dir, name+".*")
	if err != nil {
		return errors.WithStack(err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Chmod(tmp.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, name))
	}
	return errors.WithStack(err)
}
