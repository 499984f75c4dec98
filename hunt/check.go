package hunt

import (
	"fmt"
	"regexp"
	"strings"
)

// settings checks the settings of a cell at the ends of all ranges, and every value of a list. What isohound run refuses becomes
// a problem of the plan where the plan has it, once for all cells. An error that has no such place is returned.
func (p *Plan) settings(c *Cell, tn, wn int) error {
	d, all := p.document, c.Workload.all()
	base := Settings{Flags: map[string]string{}, Params: map[string]string{}, Seed: 1}
	for _, v := range all {
		base.set(v.name, v.param, v.values.ends()[0])
	}
	refuses := func(s Settings) error { return p.check(c.arguments(s, true)) }
	add := func(v named, value string, err error) {
		text, path := inPlan(err), []any{"workloads", wn, v.name}
		if v.param {
			path = []any{"workloads", wn, "params", v.name}
		}
		if !strings.Contains(text, v.name) {
			text = fmt.Sprintf("%s %s: %s", v.name, value, text)
		}
		d.Add(d.Line(path...), "%s", text)
	}
	for err := refuses(base); err != nil; err = refuses(base) {
		without := base.clone()
		at := guilty(all, base, err, refuses)
		switch {
		case at >= 0:
			v := all[at]
			add(v, base.get(v.name, v.param), err)
			without.drop(v.name, v.param) // and look for the next one
			all = append(all[:at:at], all[at+1:]...)
		case strings.Contains(err.Error(), "--dsn"):
			d.Add(d.Line("targets", tn, "dsn", 0), "%s", inPlan(err))
			return nil
		default:
			return err
		}
		base = without
	}
	for _, v := range all {
		for _, end := range v.values.ends()[1:] {
			other := base.clone()
			other.set(v.name, v.param, end)
			if err := refuses(other); err != nil {
				add(v, end, err)
			}
		}
	}
	return nil
}

// guilty is the first setting without which isohound run would not refuse the settings, or for another reason; -1 if there is
// none.
func guilty(all []named, s Settings, err error, refuses func(Settings) error) int {
	for n, v := range all {
		without := s.clone()
		without.drop(v.name, v.param)
		if other := refuses(without); other == nil || other.Error() != err.Error() {
			return n
		}
	}
	return -1
}

var (
	flagOfKey   = regexp.MustCompile(`--(dsn|server|driver|isolation|workload|sessions|txns|keys|dist|skew|rate)\b`)
	otherInPlan = strings.NewReplacer("--duration", "run", "--fault", "faults", "--check", "levels", "-p ", "")
)

// inPlan is an error of isohound run in the words of a plan.
func inPlan(err error) string {
	return otherInPlan.Replace(flagOfKey.ReplaceAllString(err.Error(), "$1"))
}
