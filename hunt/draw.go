package hunt

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/workloads"
)

// Settings are what is drawn for a run: flags of isohound run, parameters of the workload, and the seed.
type Settings struct {
	Flags  map[string]string `json:"flags,omitempty"`
	Params map[string]string `json:"params,omitempty"`
	Seed   int64             `json:"seed"`
}

func (s *Settings) set(name string, param bool, value string) {
	if param {
		s.Params[name] = value
	} else {
		s.Flags[name] = value
	}
}

func (s *Settings) get(name string, param bool) string {
	if param {
		return s.Params[name]
	}
	return s.Flags[name]
}

func (s *Settings) drop(name string, param bool) {
	if param {
		delete(s.Params, name)
	} else {
		delete(s.Flags, name)
	}
}

func (s *Settings) clone() Settings {
	out := Settings{Flags: map[string]string{}, Params: map[string]string{}, Seed: s.Seed}
	maps.Copy(out.Flags, s.Flags)
	maps.Copy(out.Params, s.Params)
	return out
}

// named are the values of one flag or parameter.
type named struct {
	name   string
	param  bool
	values *Values
}

// all are the settings that the plan names, in a fixed order, so that a seed always draws the same.
func (w *Workload) all() []named {
	var out []named
	for _, n := range []named{{"sessions", false, &w.Sessions}, {"txns", false, &w.Txns}, {"keys", false, &w.Keys}, {"dist", false, &w.Dist}, {"skew", false, &w.Skew}, {"rate", false, &w.Rate}} {
		if n.values.set() {
			out = append(out, n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Params)) {
		v := w.Params[name]
		out = append(out, named{name, true, &v})
	}
	return out
}

// draw draws the settings of a run.
func (c *Cell) draw(r *rand.Rand) Settings {
	s := Settings{Flags: map[string]string{}, Params: map[string]string{}, Seed: seed(r)}
	for _, v := range c.Workload.all() {
		s.set(v.name, v.param, v.values.draw(r))
	}
	return s
}

// near draws settings near those of another run, with another seed. Sessions and keys that the plan does not name
// vary by a quarter around what the run had.
func (c *Cell) near(r *rand.Rand, of Settings) Settings {
	s := of.clone()
	s.Seed = seed(r)
	for _, v := range c.Workload.all() {
		s.set(v.name, v.param, v.values.near(r, of.get(v.name, v.param)))
	}
	spec, err := workloads.Find(c.Workload.Workload)
	if err != nil {
		return s
	}
	around := func(name string, v *Values, was int64) {
		if v.set() {
			return
		}
		if n, err := strconv.ParseInt(of.Flags[name], 10, 64); err == nil {
			was = n
		}
		reach := max(1, was/4)
		s.Flags[name] = strconv.FormatInt(max(2, was+r.Int64N(2*reach+1)-reach), 10)
	}
	around("sessions", &c.Workload.Sessions, int64(either(spec.Defaults.Sessions, 20)))
	if !spec.OwnKeys {
		around("keys", &c.Workload.Keys, either(spec.Defaults.Keys, 100))
	}
	return s
}

func either[N int | int64](n, other N) N {
	if n > 0 {
		return n
	}
	return other
}

// seed draws a seed that is short enough to be read aloud, as isohound run does.
func seed(r *rand.Rand) int64 { return r.Int64N(1<<31-1) + 1 }

// arguments are those of isohound run, without the folder. Unless all, DSNs with passwords are left out: they
// go by the environment.
func (c *Cell) arguments(s Settings, all bool) []string {
	t := c.Target
	args := []string{"run", "--driver", t.Driver}
	if t.Server != "" {
		args = append(args, "--server", t.Server)
	} else if all || !c.secret() {
		for _, dsn := range t.DSN {
			args = append(args, "--dsn", dsn)
		}
	}
	args = append(args, "--isolation", c.Isolation, "--workload", c.Workload.Workload)
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		args = append(args, "-p", name+"="+s.Params[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Flags)) {
		args = append(args, "--"+name, s.Flags[name])
	}
	if !s.scout() {
		args = append(args, "--"+duration, c.Run.String())
	}
	if c.Fault != noFault {
		args = append(args, "--fault", c.Fault)
	}
	return append(args, "--check", strings.Join(c.Levels, ","), "--seed", strconv.FormatInt(s.Seed, 10))
}

// secret reports whether a DSN has a password.
func (c *Cell) secret() bool {
	driver, err := drivers.Find(c.Target.Driver)
	return err == nil && !driver.Info().Embedded && slices.ContainsFunc(c.Target.DSN, func(dsn string) bool { return drivers.MaskDSN(driver, dsn) != dsn })
}
