// Package level names the isolation levels that a history can be checked for. The isolation
// requested of a database has another type, in its driver.
package level

import (
	"strings"

	"github.com/pkg/errors"
)

// Level is an isolation level of the checkers.
type Level int

const (
	// SER is serializability with session order (MTC paper, Definition 5).
	SER Level = iota + 1
	// SI is snapshot isolation with session order (Definition 6).
	SI
	// SERNoSO is serializability that may reorder a session's transactions.
	SERNoSO
	// SINoSO is snapshot isolation that may reorder a session's transactions.
	SINoSO
	// SSER is strict serializability: SER that keeps real-time order
	// (Definition 4).
	SSER
	// StrongSI is snapshot isolation whose snapshots contain every transaction
	// that ended before they were taken.
	StrongSI
	// LIN is linearizability of lightweight transactions: each transaction is
	// one read, compare-and-set or insertion on one key (section IV-E).
	LIN
)

type info struct {
	name, title string
}

var levels = [...]info{
	SER:      {"ser", "serializability"},
	SI:       {"si", "snapshot isolation"},
	SERNoSO:  {"ser-noso", "serializability without session order"},
	SINoSO:   {"si-noso", "snapshot isolation without session order"},
	SSER:     {"sser", "strict serializability"},
	StrongSI: {"strong-si", "strong snapshot isolation"},
	LIN:      {"lin", "linearizability"},
}

// later are known levels that this build cannot check.
var later = map[string]string{
	"rc": "read committed", "read-committed": "read committed",
	"ra": "read atomic", "read-atomic": "read atomic",
	"cc": "causal consistency", "causal": "causal consistency", "tcc": "causal consistency",
	"psi": "parallel snapshot isolation", "pc": "prefix consistency",
}

// All lists the levels in the order in which help texts show them.
func All() []Level { return []Level{SER, SI, SERNoSO, SINoSO, SSER, StrongSI, LIN} }

// Names lists the names of All.
func Names() []string {
	names := make([]string, 0, len(levels))
	for _, l := range All() {
		names = append(names, l.String())
	}
	return names
}

// Parse returns the level called name.
func Parse(name string) (Level, error) {
	n := strings.ToLower(strings.TrimSpace(name))
	for _, l := range All() {
		if l.String() == n {
			return l, nil
		}
	}
	if title, ok := later[n]; ok {
		return 0, errors.Errorf("level %q (%s) cannot be checked by this build; it can check %s", name, title, strings.Join(Names(), ", "))
	}
	return 0, errors.Errorf("unknown level %q; known are %s", name, strings.Join(Names(), ", "))
}

// ParseList returns the levels in a comma-separated list, each once.
func ParseList(names string) ([]Level, error) {
	var out []Level
	seen := map[Level]bool{}
	for _, n := range strings.Split(names, ",") {
		l, err := Parse(n)
		if err != nil {
			return nil, err
		}
		if !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	return out, nil
}

func (l Level) String() string { return levels[l].name }

// Title is the level's name in words.
func (l Level) Title() string { return levels[l].title }

// Snapshot reports whether a transaction reads at one moment and writes at
// another, so that two adjacent anti-dependencies are allowed in a cycle.
func (l Level) Snapshot() bool { return l == SI || l == SINoSO || l == StrongSI }

// Snapshots returns the snapshot level with the same session order and real time as l, a serial
// level.
func (l Level) Snapshots() (Level, bool) {
	switch l {
	case SER:
		return SI, true
	case SERNoSO:
		return SINoSO, true
	case SSER:
		return StrongSI, true
	}
	return l, false
}

// Serial reports whether the level requires one order of whole transactions.
func (l Level) Serial() bool { return l == SER || l == SERNoSO || l == SSER }

// SessionOrder reports whether the level keeps the order of a session's transactions.
func (l Level) SessionOrder() bool { return l != SERNoSO && l != SINoSO && l != LIN }

// WithSessionOrder returns the same level with session order, if l leaves it out.
func (l Level) WithSessionOrder() (Level, bool) {
	switch l {
	case SERNoSO:
		return SER, true
	case SINoSO:
		return SI, true
	}
	return l, false
}

// WithRealTime returns the same level with real-time order, if l keeps session order but not real
// time.
func (l Level) WithRealTime() (Level, bool) {
	switch l {
	case SER:
		return SSER, true
	case SI:
		return StrongSI, true
	}
	return l, false
}

// RealTime reports whether the level keeps real-time order. A history then needs the begin and end
// of its transactions.
func (l Level) RealTime() bool { return l == SSER || l == StrongSI || l == LIN }
