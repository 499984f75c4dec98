package catalogue

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/workloads"
)

// decided reports whether a verdict can be expected.
func decided(verdict string) bool { return verdict == "satisfied" || verdict == "violated" }

var properName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// validate checks everything that can be checked before the scenario runs, like isohound run,
// and records all problems.
func (d *document) validate(s *Scenario) {
	if base := strings.TrimSuffix(path.Base(s.File), path.Ext(s.File)); s.Name != base {
		d.At([]any{"name"}, "name: expected %q, the name of the file", base)
	} else if !properName.MatchString(s.Name) {
		d.At([]any{"name"}, "name: expected small letters, digits, points and hyphens")
	}
	for _, k := range []struct{ key, value string }{{"title", s.Title}, {"about", s.About}, {"driver", s.Driver}, {"isolation", s.Isolation}, {"workload", s.Workload}} {
		if strings.TrimSpace(k.value) == "" {
			d.At([]any{k.key}, "%s is missing", k.key)
		}
	}
	if len(s.Sources) == 0 {
		d.At([]any{"sources"}, "sources are missing: say where this is known from")
	}
	if s.Time <= 0 {
		d.At([]any{"time"}, "time is missing: say how long a run takes")
	}
	if s.Seed == 0 {
		d.At([]any{"seed"}, "seed is missing, or 0")
	}
	if s.Tries < 0 || s.Tries > 1 && !s.MustFail() {
		d.At([]any{"tries"}, "tries: only what must be found may be tried several times")
	}
	d.target(s)
	d.run(s)
	d.expectations(s)
}

// run checks driver, isolation and workload.
func (d *document) run(s *Scenario) {
	var info drivers.Info
	engine, err := drivers.Find(s.Driver)
	if err == nil {
		info = engine.Info()
		if _, err := info.FindIsolation(s.Isolation); err != nil {
			d.At([]any{"isolation"}, "%v", err)
		}
		if info.Embedded != (s.Target.Kind == Embedded) && s.Target.Kind != "" {
			d.At([]any{"target", "kind"}, "driver %s and a target of kind %s do not go together", s.Driver, s.Target.Kind)
		}
	} else if s.Driver != "" {
		d.At([]any{"driver"}, "%v", err)
	}
	for _, k := range []struct {
		key string
		ok  bool
	}{{"sessions", s.Sessions >= 0}, {"txns", s.Txns >= 0}, {"keys", s.Keys >= 0}, {"rate", s.Rate >= 0}, {"skew", s.Skew >= 0}, {"retries", s.Retries == nil || *s.Retries >= 0}} {
		if !k.ok {
			d.At([]any{k.key}, "%s must not be negative", k.key)
		}
	}
	if n := s.endpoints(); n > 1 && info.Name != "" && !slices.Contains(info.Can, drivers.Endpoints) {
		d.At([]any{"target"}, "driver %s takes one endpoint, and there are %d", s.Driver, n)
	}
	for n, script := range s.Faults {
		if _, err := faults.Parse(script, max(1, s.endpoints())); err != nil {
			d.At([]any{"faults", n}, "faults: %v", err)
		} else if info.Name != "" && !slices.Contains(info.Can, drivers.Disturb) {
			d.At([]any{"faults", n}, "faults: driver %s has no connections to disturb", s.Driver)
		}
	}
	d.workload(s, info)
}

func (d *document) workload(s *Scenario, info drivers.Info) {
	if s.Workload == "" {
		return
	}
	spec, err := workloads.Find(s.Workload)
	if err != nil {
		d.At([]any{"workload"}, "%v", err)
		return
	}
	var params []string
	for _, name := range sorted(s.Params) {
		pair := name + "=" + s.Params[name]
		if _, err := spec.Resolve([]string{pair}); err != nil {
			d.At([]any{"params", name}, "%s", strings.TrimPrefix(err.Error(), "-p "))
			continue
		}
		params = append(params, pair)
	}
	values, err := spec.Resolve(params)
	if err != nil {
		return // already reported above
	}
	w, err := spec.New(s.common(spec.Defaults), values)
	if err != nil {
		d.At([]any{"params"}, "workload %s: %s", s.Workload, strings.TrimPrefix(err.Error(), "-p "))
		return
	}
	needs := slices.Clone(spec.Needs)
	if n, ok := w.(generator.Needer); ok {
		needs = append(needs, n.Needs()...)
	}
	for _, need := range needs {
		if info.Name != "" && !slices.Contains(info.Can, need) {
			d.At([]any{"workload"}, "workload %s needs %s, which driver %s does not have", s.Workload, need, s.Driver)
		}
	}
	d.invariants(s, w)
}

// common returns the settings that every workload has, with the defaults of run.
func (s *Scenario) common(own workloads.Common) workloads.Common {
	c := workloads.Common{Sessions: 20, Keys: 100, Dist: "uniform", Skew: s.Skew, Seed: s.Seed}
	for _, from := range []workloads.Common{own, {Sessions: s.Sessions, Keys: s.Keys, Dist: s.Dist}} {
		if from.Sessions > 0 {
			c.Sessions = from.Sessions
		}
		if from.Keys > 0 {
			c.Keys = from.Keys
		}
		if from.Dist != "" {
			c.Dist = from.Dist
		}
	}
	return c
}

// invariants checks that the expected invariants exist.
func (d *document) invariants(s *Scenario, w generator.Workload) {
	var names []string
	if with, ok := w.(generator.Invariants); ok {
		for _, i := range with.Invariants() {
			names = append(names, i.Name)
		}
	}
	for n, e := range s.Expect {
		if e.Invariant != "" && !slices.Contains(names, e.Invariant) {
			d.At([]any{"expect", n, "invariant"}, "with these parameters workload %s has no invariant %q; it has %s", s.Workload, e.Invariant, orNone(names))
		}
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (d *document) expectations(s *Scenario) {
	for n, name := range s.Check {
		if _, err := level.Parse(name); err != nil {
			d.At([]any{"check", n}, "%v", err)
		}
	}
	if len(s.Expect) == 0 {
		d.At([]any{"expect"}, "expect is missing: say what must come out")
	}
	if len(s.Expect) > 0 && len(s.Levels()) == 0 {
		d.At([]any{"check"}, "no level is checked")
	}
	for n := range s.Expect {
		e := &s.Expect[n]
		at := func(key, format string, args ...any) { d.At([]any{"expect", n, key}, format, args...) }
		if (e.Level == "") == (e.Invariant == "") {
			at("level", "an expectation is either of a level or of an invariant")
			continue
		}
		if e.Invariant != "" {
			if e.Holds == nil || e.Verdict != "" || e.Anomaly != "" || len(e.Refuted) > 0 {
				at("invariant", "an invariant has the key holds, true or false, and no other")
			}
			continue
		}
		if _, err := level.Parse(e.Level); err != nil {
			at("level", "%v", err)
		} else if !slices.Contains(s.Levels(), e.Level) {
			at("level", "level %s is expected and not among those of check", e.Level)
		}
		if !decided(e.Verdict) {
			at("verdict", "verdict: expected satisfied or violated, not %q", e.Verdict)
		}
		if e.Verdict != "violated" && (e.Anomaly != "" || len(e.Refuted) > 0) {
			at("verdict", "only what is violated has an anomaly and refutes a level")
		}
		if e.Anomaly != "" && !explain.Known(e.Anomaly) {
			at("anomaly", "no anomaly is called %q", e.Anomaly)
		}
		for i, name := range e.Refuted {
			if _, err := level.Parse(name); err != nil {
				d.At([]any{"expect", n, "refuted", i}, "%v", err)
			}
		}
		if e.Holds != nil {
			at("holds", "holds is for invariants")
		}
	}
}
