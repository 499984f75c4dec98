package hunt

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/explain"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/internal/suggest"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
)

// properName keeps names usable as parts of paths and of the names of tests.
var properName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

const properHelp = "expected letters, digits, points, hyphens, + and _"

// maxEndpoints is the number up to which a script may name endpoints, before the endpoints of its target are known.
const maxEndpoints = 100

// validate checks what the plan says about drivers, workloads and levels. Settings of runs are checked
// when the runs are made of it, by the command that runs them.
func (p *Plan) validate() {
	d := p.document
	targets, entries := map[string]bool{}, map[string]bool{}
	for n := range p.Workloads {
		w := &p.Workloads[n]
		own := w.Name != ""
		if !own {
			w.Name = w.Workload
		}
		if spec, err := workloads.Find(w.Workload); err != nil {
			d.Add(d.Line("workloads", n, "workload"), "%v", err)
		} else {
			w.raw = spec.Raw
		}
		switch proper := properName.MatchString(w.Name); {
		case !proper && own:
			d.Add(d.Line("workloads", n, "name"), "name %q: %s", w.Name, properHelp)
		case !proper:
			d.Add(d.Line("workloads", n), "%s needs a name in the plan: the key name, of letters, digits, points, hyphens, + and _", w.Workload)
		}
		if entries[w.Name] {
			d.Add(d.Line("workloads", n), "a second workload is called %q; give it a name of its own", w.Name)
		}
		entries[w.Name] = true
		for _, name := range slices.Sorted(maps.Keys(w.Params)) {
			if v := w.Params[name]; !v.set() {
				d.Add(d.Line("workloads", n, "params", name), "%s has no value", name)
			}
		}
		if v := &w.Sessions; v.Range && v.Low == 1 && v.High >= leastSessions {
			v.Low = leastSessions // drawn by chance, 1 would make a vacuous run
		}
		p.inTime(n, w)
	}
	p.levels(p.Levels, "levels")
	p.scripts(p.Faults, "faults")
	for n := range p.Targets {
		t := &p.Targets[n]
		if !properName.MatchString(t.Name) {
			d.Add(d.Line("targets", n, "name"), "name %q: %s", t.Name, properHelp)
		}
		if targets[t.Name] {
			d.Add(d.Line("targets", n, "name"), "a second target is called %q", t.Name)
		}
		targets[t.Name] = true
		p.levels(t.Levels, "targets", n, "levels")
		p.scripts(t.Faults, "targets", n, "faults")
		for i, name := range t.Workloads {
			if !entries[name] {
				d.Add(d.Line("targets", n, "workloads", i), "no workload of the plan is called %q%s", name, suggest.Meant(name, keys(entries)))
			}
		}
		p.target(n, t)
	}
	for n := range p.Expect {
		p.expectation(n, targets, entries)
	}
}

// inTime checks that a run of a workload fits into the night. One that does not is never begun, and a night in which none
// fits would end at once. Judging and the start of a server take their part, so equal times do not fit either.
func (p *Plan) inTime(n int, w *Workload) {
	d, night, run := p.document, time.Duration(p.Budget.Time), p.runTime(w)
	if night == 0 || run < night {
		return
	}
	line, whose := d.Line("budget", "time"), "run (its default)"
	switch {
	case w.Run > 0:
		line, whose = d.Line("workloads", n, "run"), "run of "+w.Name
	case p.Budget.Run > 0:
		line, whose = d.Line("budget", "run"), "run of the budget"
	}
	d.Add(line, "%s is %s, and time of the budget is %s: no such run fits into a night; make time longer than run", whose, run, night)
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func driverNames() []string {
	var out []string
	for _, d := range drivers.All() {
		out = append(out, d.Info().Name)
	}
	return out
}

// target checks where a target is, and finds its driver.
func (p *Plan) target(n int, t *Target) {
	d := p.document
	for i, dsn := range t.DSN {
		expanded, missing := expand(dsn)
		switch {
		case missing == "":
			t.DSN[i] = expanded
		case p.driverBefore == nil:
			d.Add(d.Line("targets", n, "dsn", i), "the environment variable %s %s", missing, notSet(missing))
		}
		if missing != "" && t.unset == "" {
			t.unset = missing
		}
	}
	switch {
	case t.Server != "" && len(t.DSN) > 0:
		d.Add(d.Line("targets", n), "server and dsn do not go together")
		return
	case t.Server != "":
		spec, err := servers.ParseSpec(t.Server)
		if err != nil {
			d.Add(d.Line("targets", n, "server"), "server %q: %v", t.Server, err)
			return
		}
		if t.Driver == "" {
			t.Driver = spec.Driver
		}
	case t.Driver == "" && len(t.DSN) > 0:
		t.Driver = drivers.OfScheme(t.DSN[0])
	}
	if t.Driver == "" && t.unset != "" { // the DSN would tell the driver
		if p.driverBefore == nil {
			return
		}
		if t.Driver = p.driverBefore(p.Name, t.Name); t.Driver == "" {
			d.Add(d.Line("targets", n, "dsn"), "the environment variable %s %s, and no run of the target %s tells its driver; set the variable, or give the target a driver", t.unset, notSet(t.unset), t.Name)
			return
		}
	}
	if t.Driver == "" {
		d.Add(d.Line("targets", n), "the target %s needs a driver, a server, or a DSN whose scheme is a driver's name", t.Name)
		return
	}
	driver, err := drivers.Find(t.Driver)
	if err != nil {
		d.Add(d.Line("targets", n, "driver"), "%v", err)
		return
	}
	info := driver.Info()
	if !info.Embedded && t.Server == "" && len(t.DSN) == 0 {
		d.Add(d.Line("targets", n), "the target %s needs a dsn, for example %s, or a server", t.Name, info.DSN)
	}
	for i, dsn := range t.DSN {
		var bad *drivers.DSNError
		if _, err := info.Address(dsn); errors.As(err, &bad) && t.unset == "" && p.driverBefore == nil {
			d.Add(d.Line("targets", n, "dsn", i), "the DSN of the target %s: %v", t.Name, bad.Err)
		}
	}
	for i, name := range t.Isolations {
		iso, err := info.FindIsolation(name)
		if err != nil {
			d.Add(d.Line("targets", n, "isolations", i), "%v", err)
			continue
		}
		t.Isolations[i] = iso.Name
	}
}

// spec is the target's private server, or none.
func (t *Target) spec() servers.Spec {
	s, _ := servers.ParseSpec(t.Server) // target has looked at it
	return s
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// expand replaces ${NAME} by environment variables. missing is the name of one that is not set, or is empty.
func expand(text string) (expanded, missing string) {
	return variable.ReplaceAllStringFunc(text, func(m string) string {
		name := m[2 : len(m)-1]
		value := os.Getenv(name)
		if value == "" && missing == "" {
			missing = name
		}
		return value
	}), missing
}

func notSet(name string) string {
	if _, has := os.LookupEnv(name); has {
		return "is empty"
	}
	return "is not set"
}

func (p *Plan) levels(list List, path ...any) {
	for n, name := range list {
		if slices.ContainsFunc(list[:n], func(s string) bool { return strings.EqualFold(s, name) }) {
			p.document.Add(p.document.Line(append(path, n)...), "%s stands here twice", name)
		}
		if strings.EqualFold(name, "claimed") {
			continue
		}
		if _, err := level.Parse(name); err != nil {
			p.document.Add(p.document.Line(append(path, n)...), "%v; claimed stands for what is promised", err)
		}
	}
}

func (p *Plan) scripts(list List, path ...any) {
	for n, script := range list {
		if script == noFault {
			continue
		}
		if _, err := faults.Parse(script, maxEndpoints); err != nil {
			p.document.Add(p.document.Line(append(path, n)...), "fault: %v", err)
		}
	}
}

// known reports whether an anomaly has this name, in small or capital letters.
func known(name string) bool {
	return explain.Known(name) || slices.ContainsFunc(explain.Names(), func(k string) bool { return strings.EqualFold(k, name) })
}

// expectation checks that an expectation fits something that is in the plan.
func (p *Plan) expectation(n int, targets, entries map[string]bool) {
	d, e := p.document, &p.Expect[n]
	if e.Target != "" && !targets[e.Target] {
		d.Add(d.Line("expect", n, "target"), "no target of the plan is called %q%s", e.Target, suggest.Meant(e.Target, keys(targets)))
	}
	if e.Workload != "" && !entries[e.Workload] {
		d.Add(d.Line("expect", n, "workload"), "no workload of the plan is called %q%s", e.Workload, suggest.Meant(e.Workload, keys(entries)))
	}
	if e.Level != "" {
		if _, err := level.Parse(e.Level); err != nil {
			d.Add(d.Line("expect", n, "level"), "%v", err)
		}
	}
	if len(e.Anomaly) > 0 && e.Verdict != "violated" {
		d.Add(d.Line("expect", n, "anomaly"), "anomaly goes with verdict violated only")
	}
	for _, name := range e.Anomaly { // that of an invariant may be anything, and short names are all alike
		if guess := suggest.Closest(name, explain.Names()); len(name) > 5 && guess != "" && !known(name) {
			d.Add(d.Line("expect", n, "anomaly"), "no anomaly is called %q; did you mean %q?", name, guess)
		}
	}
	if e.Isolation == "" {
		return
	}
	fits := false
	for _, t := range p.Targets {
		if e.Target != "" && e.Target != t.Name {
			continue
		}
		driver, err := drivers.Find(t.Driver)
		if err != nil { // which is told at the target
			fits = true
			continue
		}
		if iso, err := driver.Info().FindIsolation(e.Isolation); err == nil {
			e.Isolation, fits = iso.Name, true
		}
	}
	if !fits {
		d.Add(d.Line("expect", n, "isolation"), "no target that this is about has an isolation %q", e.Isolation)
	}
}
