package hunt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/workloads"
)

// Cell is one square of what a plan asks for. Runs of a cell differ in what is drawn.
type Cell struct {
	Target    *Target
	Isolation string
	Workload  *Workload
	Fault     string // a script, or noFault
	Levels    List
	Run       time.Duration // how long a run is recorded
	Check     time.Duration // the time limit for judging it at each level
}

// ID names the cell, the same from night to night.
func (c *Cell) ID() string {
	id := c.Target.Name + " / " + c.Isolation + " / " + c.Workload.Name
	if c.Fault != noFault {
		id += " / " + c.Fault
	}
	return id
}

// slug is the ID as the name of a folder.
func (c *Cell) slug() string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, c.Target.Name+"-"+c.Isolation+"-"+c.Workload.Name)
	return name[:min(len(name), 60)]
}

// digest identifies what the plan says of the cell, and what the file says that describes its workload; a cell whose digest is
// another one has changed. Passwords and the addresses of servers do not count.
func (c *Cell) digest() string {
	w := c.Workload
	text := fmt.Sprintf("%s|%s|%s|%s|%v|%v|%v|%v|%v|%v|%v|%v|%v", c.Target.Driver, c.Target.Server, c.dsnOfEmbedded(), c.Levels, w.Workload, w.Params, w.Sessions, w.Txns, w.Keys, w.Dist, w.Skew, w.Rate, c.Run)
	if w.raw != nil {
		text += "|" + string(w.raw)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func (c *Cell) dsnOfEmbedded() string {
	if d, err := drivers.Find(c.Target.Driver); err == nil && d.Info().Embedded {
		return strings.Join(c.Target.DSN, " ")
	}
	return ""
}

// LeftOut is a cell that cannot be run, and why.
type LeftOut struct{ Cell, Why string }

// Check checks the arguments of isohound run before anything is run.
type Check func(args []string) error

// Cells are the cells of the plan, in the plan's order. Settings that isohound run does not take are a *yamldoc.Error.
func (p *Plan) Cells(check Check) ([]*Cell, []LeftOut, error) {
	var cells []*Cell
	var left []LeftOut
	refused := map[int][]LeftOut{} // by the workload
	seen := map[string]bool{}      // an isolation or a script may be in its list twice
	p.check = check
	for tn := range p.Targets {
		t := &p.Targets[tn]
		driver, err := drivers.Find(t.Driver)
		if err != nil {
			return nil, nil, err
		}
		info := driver.Info()
		for wn := range p.Workloads {
			w := &p.Workloads[wn]
			if len(t.Workloads) > 0 && !slices.Contains(t.Workloads, w.Name) {
				continue
			}
			isolations, why := p.isolations(t, w, info)
			if why != "" {
				left = append(left, LeftOut{t.Name + " / " + w.Name, why})
				continue
			}
			for _, iso := range isolations {
				for _, fault := range p.faults(t) {
					c := &Cell{Target: t, Isolation: iso.Name, Workload: w, Fault: fault, Levels: p.cellLevels(t), Run: p.runTime(w), Check: p.checkTime()}
					if seen[c.ID()] {
						continue
					}
					seen[c.ID()] = true
					if why := unsuitable(c, iso, info); why != "" {
						left = append(left, LeftOut{c.ID(), why})
						continue
					}
					if t.unset != "" { // a DSN that is not known cannot be checked
						cells = append(cells, c)
						continue
					}
					if err := p.settings(c, tn, wn); err != nil {
						refused[wn] = append(refused[wn], LeftOut{c.ID(), inPlan(err)})
						continue
					}
					cells = append(cells, c)
				}
			}
		}
	}
	for wn := range p.Workloads {
		for _, l := range Together(refused[wn]) {
			p.document.Add(p.document.Line("workloads", wn), "%s: %s", l.Cell, l.Why)
		}
	}
	if err := p.document.Err(); err != nil {
		return nil, nil, err
	}
	if len(cells) == 0 {
		p.document.Add(0, "the plan has no run: %s", why(left))
		return nil, nil, p.document.Err()
	}
	return cells, left, nil
}

// Together puts what was left out for the same reason into one entry, in the order of the first of each.
func Together(left []LeftOut) []LeftOut {
	var out []LeftOut
	cells := map[string]int{}
	for _, l := range left {
		if cells[l.Why]++; cells[l.Why] == 1 {
			out = append(out, l)
		}
	}
	for n, l := range out {
		if more := cells[l.Why]; more > 1 {
			out[n].Cell = fmt.Sprintf("%d cells, such as %s", more, l.Cell)
		}
	}
	return out
}

func why(left []LeftOut) string {
	var all []string
	for _, l := range Together(left) {
		all = append(all, l.Cell+": "+l.Why)
	}
	return strings.Join(all, "; ")
}

func (p *Plan) cellLevels(t *Target) List {
	switch {
	case len(t.Levels) > 0:
		return t.Levels
	case len(p.Levels) > 0:
		return p.Levels
	}
	return List{"claimed"}
}

// faults are the scripts for a target, the run without faults first.
func (p *Plan) faults(t *Target) List {
	list := t.Faults
	if len(list) == 0 {
		list = p.Faults
	}
	if len(list) == 0 {
		list = List{noFault}
	}
	return list
}

// isolations are those to request of a target; why says why there is none.
func (p *Plan) isolations(t *Target, w *Workload, info drivers.Info) (list []drivers.Isolation, why string) {
	for _, need := range needs(w) {
		if !slices.Contains(info.Can, need) {
			return nil, fmt.Sprintf("the workload needs %s, which driver %s does not have", need, info.Name)
		}
	}
	if len(t.Isolations) == 0 && len(p.Isolations) == 0 {
		return info.Isolations, ""
	}
	names := t.Isolations
	if len(names) == 0 {
		names = p.Isolations
	}
	for _, name := range names {
		if iso, err := info.FindIsolation(name); err == nil {
			list = append(list, iso)
		}
	}
	if len(list) == 0 {
		return nil, "driver " + info.Name + " has none of the isolations " + strings.Join(names, ", ")
	}
	return list, ""
}

// needs are the capabilities that a workload needs, as far as they do not depend on its parameters.
func needs(w *Workload) []drivers.Capability {
	spec, err := workloads.Find(w.Workload)
	if err != nil {
		return nil
	}
	all := slices.Clone(spec.Needs)
	values, err := spec.Resolve(nil)
	if err != nil {
		return all
	}
	for name, v := range w.Params {
		if ends := v.ends(); len(ends) > 0 {
			values[name] = ends[0]
		}
	}
	work, err := spec.New(workloads.Common{Sessions: max(spec.Defaults.Sessions, 2), Keys: max(spec.Defaults.Keys, 100), Dist: "uniform", Seed: 1}, values)
	if n, ok := work.(generator.Needer); ok && err == nil {
		all = append(all, n.Needs()...)
	}
	return all
}

// unsuitable says why a cell cannot be run, "" if it can.
func unsuitable(c *Cell, iso drivers.Isolation, info drivers.Info) string {
	needs := needs(c.Workload)
	lightweight := slices.Contains(needs, drivers.Lightweight)
	lacks := iso.Lacks(needs)
	switch {
	case lacks != "":
		return "the isolation does not have " + string(lacks)
	case lightweight && iso.Lightweight == "":
		return "the isolation promises nothing for lightweight transactions"
	case !lightweight && iso.Promises == "" && !iso.ByServer:
		return "the isolation is for lightweight transactions"
	case c.Fault == noFault:
		return ""
	}
	events, err := faults.Parse(c.Fault, c.Target.endpoints())
	if err != nil {
		return "fault: " + err.Error()
	}
	for _, e := range events {
		switch {
		case e.Function != "" && !c.Target.spec().Breaks():
			return fmt.Sprintf("%q is for a PostgreSQL server that isohound starts", e)
		case e.Backends && slices.Contains(info.Can, drivers.Pauses):
		case e.Action.Server() && c.Target.Server == "":
			return fmt.Sprintf("%q is for a server that isohound starts", e)
		case e.Standby && !c.Target.spec().Standby():
			return fmt.Sprintf("%q is for a server with a standby", e)
		case e.Action == faults.Fill && !c.Target.spec().Disk():
			return fmt.Sprintf("%q is for a server that can have a disk of its own", e)
		case e.Backends && info.Name != "postgres":
			return fmt.Sprintf("%q is for PostgreSQL, which has a process for each session", e)
		case e.Action.Connections() && !slices.Contains(info.Can, drivers.Disturb):
			return fmt.Sprintf("%q is for a driver with connections that can be disturbed", e)
		}
	}
	return ""
}

// endpoints is how many endpoints a target has.
func (t *Target) endpoints() int {
	if t.Server != "" {
		return t.spec().Nodes()
	}
	return max(len(t.DSN), 1)
}
