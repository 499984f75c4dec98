package hunt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/workloads"
)

// leastSessions is the least number of sessions of a run: one alone cannot show what isolation is about.
const leastSessions = 2

// size is one setting of a run that can be made smaller.
type size struct {
	name  string
	param bool
	// start is its value where a run does not set it.
	start string
	least int64    // of a whole number; 0 if it is none
	plain string   // the value at which a parameter does nothing, "" if there is none
	list  bool     // of weights, from which names can be left out
	all   []string // the list for which "all" stands
}

// sizes are what can be made smaller of a run of a cell, in the order in which it is tried. Fewer transactions come
// first, because all later runs are then quicker. Lists of names come last, because each name costs a run or more.
func (c *Cell) sizes(base *Run) []size {
	spec, err := workloads.Find(c.Workload.Workload)
	if err != nil {
		return nil
	}
	sessions := either(spec.Defaults.Sessions, 20)
	out := []size{{name: "txns", least: 1}, {name: "sessions", start: strconv.Itoa(sessions), least: leastSessions}}
	if n, err := strconv.Atoi(base.Settings.Flags["sessions"]); err == nil {
		sessions = n
	}
	if done := (base.Commits + base.Aborts) / int64(max(sessions, 1)); done > 0 { // what a session did until the run ended
		out[0].start = strconv.FormatInt(done, 10)
	}
	if !spec.OwnKeys {
		out = append(out, size{name: "keys", start: strconv.FormatInt(either(spec.Defaults.Keys, 100), 10), least: 1})
	}
	for _, p := range spec.Params {
		if p.Least > 0 {
			out = append(out, size{name: p.Name, param: true, start: p.Default, least: p.Least})
		}
	}
	for _, p := range spec.Params {
		if p.Plain != "" {
			out = append(out, size{name: p.Name, param: true, start: p.Default, plain: p.Plain})
		}
	}
	for _, p := range spec.Params {
		if p.Weights {
			out = append(out, size{name: p.Name, param: true, start: p.Default, list: true, all: p.All})
		}
	}
	return out
}

// of is the value of the setting in a run.
func (z *size) of(s *Settings) string {
	value := s.get(z.name, z.param)
	if value == "" {
		value = z.start
	}
	if z.list && value == "all" && len(z.all) > 0 {
		value = strings.Join(z.all, ",")
	}
	return value
}

// smaller are the values to try in place of one, the smallest first.
func (z *size) smaller(value string) []string {
	switch {
	case z.list:
		return fewer(strings.Split(value, ","))
	case z.plain != "":
		if strings.TrimSuffix(value, "%") == strings.TrimSuffix(z.plain, "%") {
			return nil
		}
		return []string{z.plain}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= z.least {
		return nil
	}
	try := []int64{max(n/4, z.least), max(n/2, z.least)}
	if n <= 8 {
		try = append(try, n-1)
	}
	var out []string
	for _, v := range slices.Compact(try) {
		out = append(out, strconv.FormatInt(v, 10))
	}
	return out
}

// fewer are lists with fewer names: either half, then the list without each name (the order of delta debugging: Zeller
// and Hildebrandt 2002).
func fewer(names []string) []string {
	n := len(names)
	if n < 2 {
		return nil
	}
	var out []string
	if n > 3 {
		out = append(out, strings.Join(names[:n/2], ","), strings.Join(names[n/2:], ","))
	}
	for i := range names {
		out = append(out, strings.Join(slices.Concat(names[:i], names[i+1:]), ","))
	}
	return out
}

// with is a copy of settings with another value of the setting.
func (z *size) with(s Settings, value string) Settings {
	out := s.clone()
	out.set(z.name, z.param, value)
	return out
}
