package polygraph

import (
	"strings"

	"github.com/pkg/errors"
)

// Part is a part of the engine that a configuration has or leaves out. No part
// changes a verdict.
type Part uint8

const (
	// Eager has every constraint become clauses before the search, as in the
	// papers, and not only what an order gets wrong.
	Eager Part = 1 << iota
	// Pruning saturates the known graph (P of the VeriStrong paper, section 6.1.1).
	Pruning
	// Schedule guesses an execution for the search to start from; without it any
	// topological order of the known graph will do.
	Schedule
	// Cycles adds the clauses that forbid cycles of two uncertain edges (C,
	// section 6.1.2). It needs Eager: on demand there are no edges up front.
	Cycles
	// Order has the search try first what its order has (H, section 6.2), and
	// without Eager decide only what that has wrong; without it a variable keeps its
	// latest value, which is false at first.
	Order
	// Combine orders chains of read-modify-writes as wholes (Cobra paper,
	// section 3.1).
	Combine
	// Coalesce has one variable for the order of two transactions, whatever the
	// key; without it there is one for each key that asks (Cobra paper, section
	// 3.2).
	Coalesce
	// First guesses an execution before saturation, too, where that is likely to
	// be right or saturation costs much. It needs Schedule.
	First
)

// parts are all of them by name, in the order of a configuration's text.
var parts = []struct {
	name string
	part Part
	says string
}{
	{"eager", Eager, "all constraints up front, not on demand"},
	{"pruning", Pruning, "saturate the known graph first"},
	{"schedule", Schedule, "begin with a guessed execution"},
	{"cycles", Cycles, "clauses for cycles of two uncertain edges; with eager"},
	{"order", Order, "try first what the current order has"},
	{"combine", Combine, "order chains of read-modify-writes as wholes"},
	{"coalesce", Coalesce, "one variable for each pair of transactions, not for each key too"},
	{"first", First, "guess an execution before saturation, too, where that may do; with schedule"},
}

const defaultParts = Pruning | Schedule | Order | Coalesce | First

// Config is the set of parts that a check uses. The zero value is the default
// one.
type Config struct {
	differs Part // the parts in which it differs from the default
}

// Presets are the configurations with a name.
var presets = []struct {
	name   string
	config Config
	says   string
}{
	{"default", Config{}, "what isohound does"},
	{"paper", configOf(Eager | Pruning | Cycles | Order | Coalesce), "the pipeline of the VeriStrong paper"},
	{"cobra", configOf(Eager | Pruning | Combine | Coalesce), "the pipeline of the Cobra paper"},
}

func configOf(has Part) Config { return Config{has ^ defaultParts} }

// Paper is the pipeline of the VeriStrong paper.
func Paper() Config { return presets[1].config }

// Has reports whether a part is in c.
func (c Config) Has(p Part) bool { return (defaultParts^c.differs)&p != 0 }

// With returns c with some parts, Without c without them.
func (c Config) With(p Part) Config    { return configOf(defaultParts ^ c.differs | p) }
func (c Config) Without(p Part) Config { return configOf((defaultParts ^ c.differs) &^ p) }

// unfounded: what a refutation by c rests on is not kept track of.
func (c Config) unfounded() bool { return c.Has(Eager) || c.Has(Combine) }

// String is c as ParseConfig reads it.
func (c Config) String() string {
	for _, p := range presets {
		if p.config == c {
			return p.name
		}
	}
	text := "default"
	for _, p := range parts {
		if c.differs&p.part != 0 {
			sign := ",-"
			if c.Has(p.part) {
				sign = ",+"
			}
			text += sign + p.name
		}
	}
	return text
}

// ParseConfig reads a preset, +part to add and -part to leave out, separated by
// commas: "paper,-pruning,+combine". Without a preset it starts from default.
func ParseConfig(text string) (Config, error) {
	var c Config
next:
	for i, word := range strings.Split(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			return c, errors.Errorf("the pipeline %q has an empty part", text)
		}
		sign, name := word[0], word[1:]
		if sign != '+' && sign != '-' {
			if i > 0 {
				return c, errors.Errorf("%q in the pipeline %q stands behind the first place; write +%s or -%s", word, text, word, word)
			}
			for _, p := range presets {
				if p.name == word {
					c = p.config
					continue next
				}
			}
			return c, errors.Errorf("unknown pipeline %q; known are %s, with +part and -part for the parts %s", word, presetNames(), partNames())
		}
		for _, p := range parts {
			if p.name == name {
				if sign == '+' {
					c = c.With(p.part)
				} else {
					c = c.Without(p.part)
				}
				continue next
			}
		}
		return c, errors.Errorf("unknown part %q of a pipeline; known are %s", name, partNames())
	}
	if c.Has(Cycles) && !c.Has(Eager) {
		return c, errors.Errorf("the pipeline %q has cycles without eager: on demand there are no uncertain edges up front; add +eager or -cycles", text)
	}
	return c, nil
}

func presetNames() string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

func partNames() string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// ConfigHelp lists presets and parts, one a line, for help texts.
func ConfigHelp() string {
	var b strings.Builder
	for _, c := range presets {
		var has []string
		for _, p := range parts {
			if c.config.Has(p.part) {
				has = append(has, p.name)
			}
		}
		b.WriteString("  " + pad(c.name) + c.says + ": " + strings.Join(has, ", ") + "\n")
	}
	for _, p := range parts {
		b.WriteString("  " + pad("+"+p.name) + p.says + "\n")
	}
	return b.String()
}

func pad(name string) string { return name + strings.Repeat(" ", max(1, 11-len(name))) }
