package polygraph

import (
	"strings"

	"github.com/pkg/errors"
)

// Part is a part of the engine that a configuration can include or leave out. No part changes a
// verdict.
type Part uint8

const (
	// Eager turns every constraint into clauses before the search, as in the papers. Without it
	// clauses are added only for what an order violates.
	Eager Part = 1 << iota
	// Pruning saturates the known graph (P of the VeriStrong paper, section 6.1.1).
	Pruning
	// Schedule guesses an execution from which the search starts. Without it the search starts from
	// some topological order of the known graph.
	Schedule
	// Cycles adds clauses that forbid cycles of two uncertain edges (C, section 6.1.2). It needs
	// Eager, because without Eager there are no uncertain edges before the search.
	Cycles
	// Order takes the phase of a decision from the current order (H, section 6.2). Without Eager
	// the search then also branches only on clauses that the order violates. Without Order there is
	// phase saving, and the first phase is false.
	Order
	// Combine orders chains of read-modify-writes as wholes (Cobra paper,
	// section 3.1).
	Combine
	// Coalesce has one variable for the order of two transactions, for all keys. Without it there
	// is one variable for each two transactions and key (Cobra paper, section 3.2).
	Coalesce
	// First guesses an execution before saturation, too, if the guess is likely to be right or
	// saturation would be expensive. It needs Schedule.
	First
)

// parts are all parts with their names, in the order in which String prints them.
var parts = []struct {
	name string
	part Part
	says string
}{
	{"eager", Eager, "all constraints up front, not on demand"},
	{"pruning", Pruning, "saturate the known graph first"},
	{"schedule", Schedule, "begin with a guessed execution"},
	{"cycles", Cycles, "clauses for cycles of two uncertain edges; with eager"},
	{"order", Order, "prefer decisions that agree with the current order"},
	{"combine", Combine, "order chains of read-modify-writes as wholes"},
	{"coalesce", Coalesce, "one variable for each pair of transactions, not for each key too"},
	{"first", First, "guess an execution before saturation, too, if that is likely to be enough; with schedule"},
}

const defaultParts = Pruning | Schedule | Order | Coalesce | First

// Config is the set of parts that a check uses. The zero value is the default configuration.
type Config struct {
	differs Part // the parts in which it differs from the default
}

// presets are the named configurations.
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

// With returns c with the given parts, Without returns c without them.
func (c Config) With(p Part) Config    { return configOf(defaultParts ^ c.differs | p) }
func (c Config) Without(p Part) Config { return configOf((defaultParts ^ c.differs) &^ p) }

// unfounded reports whether a refutation by c does not record what it rests on.
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
		return c, errors.Errorf("the pipeline %q has cycles without eager, but cycles needs all constraints up front; add +eager or -cycles", text)
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
