package checker

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker/baseline"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/linear"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/psi"
	"github.com/isohound/isohound/checker/replay"
	"github.com/isohound/isohound/checker/weak"
)

// Engine is the name of an engine, or Auto.
type Engine string

const (
	// Auto takes the first engine that does not refuse the history.
	Auto Engine = "auto"
	// Replay judges histories in which the database tells where it placed transactions. It never says violated.
	Replay Engine = replay.Name
	// Linear judges histories of mini-transactions with unique values, scans among them, and of
	// lightweight transactions.
	Linear Engine = linear.Name
	// Polygraph judges every history, at the levels of serializability and snapshot isolation, and at PC.
	Polygraph Engine = polygraph.Name
	// Weak judges histories at CC and the levels below.
	Weak Engine = weak.Name
	// PSI judges histories at PSI.
	PSI Engine = psi.Name
	// Baseline does the same as the polygraph engine, but for PC, with an off-the-shelf SAT solver, for
	// comparison. It is slow, and it has no counterexample for a cycle.
	Baseline Engine = baseline.Name
)

// engines are all engines, in the order in which Auto asks them. A new engine needs a package and a
// row here.
var engines = []struct {
	name Engine
	make func(*Options) engine.Engine
	// byName: Auto leaves the engine out.
	byName bool
}{
	{name: Replay, make: func(*Options) engine.Engine { return replay.Engine{} }},
	{name: Linear, make: func(*Options) engine.Engine { return linear.Engine{} }},
	{name: Polygraph, make: func(o *Options) engine.Engine {
		return polygraph.Engine{Config: o.Pipeline, Accel: polygraph.Acceleration{Choice: o.Accel, Warn: o.Warn}}
	}},
	{name: Weak, make: func(*Options) engine.Engine { return weak.Engine{} }},
	{name: PSI, make: func(*Options) engine.Engine { return psi.Engine{} }},
	{name: Baseline, make: func(*Options) engine.Engine { return baseline.Engine{} }, byName: true},
}

// Engines lists the names of the engines, for help texts.
var Engines = []Engine{Auto, Replay, Linear, Polygraph, Weak, PSI, Baseline}

// asked returns the engines to ask for a level, in turn.
func (o *Options) asked(lvl level.Level) []engine.Engine {
	var out []engine.Engine
	for _, row := range engines {
		e := row.make(o)
		switch o.Engine {
		case row.name:
			return []engine.Engine{e}
		case "", Auto:
			if row.name == Replay && o.Versions == Ignore {
				continue
			}
			if !row.byName && slices.Contains(e.Levels(), lvl) {
				out = append(out, e)
			}
		}
	}
	return out
}

// Versions says what a check does with the order that the database claims.
type Versions string

const (
	// Hint tries it first, as an execution. Nothing is trusted. It is the default, also as "".
	Hint Versions = "hint"
	// Ignore does not look at it.
	Ignore Versions = "ignore"
	// Assume takes the order of versions that it gives for true, at serializability, snapshot isolation and their
	// variants and at prefix consistency. Other levels are unknown. At snapshot levels it takes the snapshots that the
	// database claims for true, too. Without claims it is Hint.
	Assume Versions = "assume"
)

// VersionsHelp lists the values of Versions for help texts.
const VersionsHelp = "hint (try it first, trust nothing), assume (take its order of versions, and its snapshots, for true) or ignore"

// ParseVersions reads a Versions, and checks that it does not contradict the engine.
func ParseVersions(name string, with Engine) (Versions, error) {
	switch v := Versions(name); {
	case v == Ignore && with == Replay:
		return "", errors.New("the replay engine needs the order that the database claims; leave out --engine replay or --versions ignore")
	case v == Assume && with != "" && with != Auto && with != Replay && with != Polygraph:
		return "", errors.Errorf("the %s engine cannot assume the order that the database claims; leave out --engine %s or --versions assume", with, with)
	case v == Hint, v == Ignore, v == Assume:
		return v, nil
	}
	return "", errors.Errorf("unknown --versions %q; it is %s", name, VersionsHelp)
}

// judged reports whether an engine that Auto asks judges a level.
func judged(lvl level.Level) bool { return len((&Options{}).asked(lvl)) > 0 }

// ParseEngine checks the name of an engine.
func ParseEngine(name string) (Engine, error) {
	var names []string
	for _, e := range Engines {
		if string(e) == name {
			return e, nil
		}
		names = append(names, string(e))
	}
	return "", errors.Errorf("unknown engine %q; known are %s", name, strings.Join(names, ", "))
}

// ParsePipeline reads a configuration of the polygraph engine. It returns that engine, too, because
// a pipeline selects it.
func ParsePipeline(text string, with Engine) (polygraph.Config, Engine, error) {
	c, err := polygraph.ParseConfig(text)
	if err == nil && with != Auto && with != Polygraph {
		err = errors.Errorf("a pipeline configures the polygraph engine; leave out --engine %s or --pipeline", with)
	}
	return c, Polygraph, err
}

// ParseAccel reads the choice of --accel, and checks that the engine uses it.
func ParseAccel(name string, with Engine) (choose.Choice, error) {
	c, err := choose.Parse(name)
	if err == nil && c != choose.Auto && with != Auto && with != Polygraph {
		err = errors.Errorf("the %s engine does not use --accel; leave out --engine %s or --accel", with, with)
	}
	return c, err
}
