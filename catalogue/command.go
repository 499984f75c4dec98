package catalogue

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Engines are the checkers that judge a recorded history. Each of them must return the expected
// verdict.
var Engines = []string{"auto", "polygraph"}

// Args are the arguments of isohound that run the scenario once. dsns are the endpoints. out is
// the run's folder; if it is "", isohound chooses one.
func (s *Scenario) Args(dsns []string, seed int64, out string) []string {
	args := []string{"run", "--driver", s.Driver}
	for _, dsn := range dsns {
		args = append(args, "--dsn", dsn)
	}
	args = append(args, "--isolation", s.Isolation, "--workload", s.Workload)
	for _, name := range sorted(s.Params) {
		args = append(args, "-p", name+"="+s.Params[name])
	}
	add := func(set bool, flag, value string) {
		if set {
			args = append(args, flag, value)
		}
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	add(s.Sessions > 0, "--sessions", strconv.Itoa(s.Sessions))
	add(s.Txns > 0, "--txns", strconv.Itoa(s.Txns))
	add(s.Keys > 0, "--keys", strconv.FormatInt(s.Keys, 10))
	add(s.Dist != "", "--dist", s.Dist)
	add(s.Skew > 0, "--skew", number(s.Skew))
	add(s.Rate > 0, "--rate", number(s.Rate))
	add(s.Duration > 0, "--duration", s.Duration.String())
	add(s.CallTimeout > 0, "--call-timeout", s.CallTimeout.String())
	if s.Retries != nil {
		args = append(args, "--retries", strconv.Itoa(*s.Retries))
	}
	for _, script := range s.Faults {
		args = append(args, "--fault", script)
	}
	args = append(args, "--seed", strconv.FormatInt(seed, 10), "--check", strings.Join(s.Levels(), ","))
	add(out != "", "--out", out)
	return args
}

// CheckArgs are the arguments that judge a recorded history, which is at path, with one engine.
// They are nil if the engine judges none of the levels.
func (s *Scenario) CheckArgs(path, engine string) []string {
	var levels []string
	for _, l := range s.Levels() {
		if l != "lin" || engine == "auto" { // only the linear engine judges lin
			levels = append(levels, l)
		}
	}
	if len(levels) == 0 {
		return nil
	}
	return []string{"check", path, "--level", strings.Join(levels, ","), "--engine", engine, "--certify"}
}

// Commands are the command lines that run the scenario, without the name of the program.
func (s *Scenario) Commands() [][]string {
	if s.History != "" {
		var out [][]string
		for _, e := range Engines {
			if args := s.CheckArgs(filepath.Base(s.File), e); args != nil {
				out = append(out, args)
			}
		}
		return out
	}
	dsns := []string(s.DSN)
	switch {
	case s.Target.Kind == Docker:
		for _, c := range s.Target.Containers {
			if c.DSN != "" {
				dsns = append(dsns, c.DSN)
			}
		}
	case s.Target.Kind == Local && len(dsns) == 0:
		for n := range s.endpoints() {
			dsns = append(dsns, "{"+strconv.Itoa(n+1)+"}")
		}
	}
	return [][]string{s.Args(dsns, s.Seed, "")}
}

// limit is how long a run may take before it counts as hanging. It is generous, because the
// machine may be busy and the expected time is only an estimate.
func (s *Scenario) limit() time.Duration { return 10*time.Duration(s.Time) + 2*time.Minute }

// keepHistory writes a recorded history into dir, for isohound check.
func (s *Scenario) keepHistory(dir string) (string, error) {
	file := filepath.Join(dir, "history"+filepath.Ext(s.File))
	return file, os.WriteFile(file, []byte(s.History), 0o666)
}
