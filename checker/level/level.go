// Package level names the isolation levels that a history can be checked for. The isolation
// requested of a database has another type, in its driver.
package level

import (
	"strings"
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
	// PC is prefix consistency: every transaction reads from a prefix of one order of the commits, which
	// keeps session order (Biswas and Enea, OOPSLA 2019). It is SI that allows lost updates.
	PC
	// PSI is parallel snapshot isolation: CC without lost updates (Cerone, Bernardi and Gotsman, CONCUR
	// 2015).
	PSI
	// CC is transactional causal consistency (Biswas and Enea; AWDIT, PLDI 2025): who sees a transaction sees
	// all that happened before it in sessions and by reads.
	CC
	// RA is read atomic: who reads from a transaction, or follows it in its session, sees all its writes.
	RA
	// RC is read committed: who has read from a transaction reads nothing older afterwards of what it wrote.
	RC
	// Session is the sum of the four session guarantees (Terry et al., PDIS 1994), without atomic visibility.
	Session
	// RYW is read your writes: a transaction sees all earlier transactions of its session.
	RYW
	// MR is monotonic reads: a transaction sees what earlier transactions of its session read from.
	MR
	// MW is monotonic writes: who reads from a transaction sees the earlier transactions of its session.
	MW
	// WFR is writes follow reads: who reads from a transaction sees what it, or an earlier transaction of
	// its session, read from.
	WFR
	// RU is read uncommitted: only the known orders of versions must not contradict each other (Adya's PL-1).
	RU
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
	PC:       {"pc", "prefix consistency"},
	PSI:      {"psi", "parallel snapshot isolation"},
	CC:       {"cc", "causal consistency"},
	RA:       {"ra", "read atomic"},
	RC:       {"rc", "read committed"},
	Session:  {"session", "the four session guarantees"},
	RYW:      {"ryw", "read your writes"},
	MR:       {"mr", "monotonic reads"},
	MW:       {"mw", "monotonic writes"},
	WFR:      {"wfr", "writes follow reads"},
	RU:       {"ru", "read uncommitted"},
}

// All lists the levels in the order in which help texts show them.
func All() []Level {
	return []Level{SER, SI, SERNoSO, SINoSO, SSER, StrongSI, LIN, PC, PSI, CC, RA, RC, Session, RYW, MR, MW, WFR, RU}
}

// Names lists the names of All.
func Names() []string {
	names := make([]string, 0, len(levels))
	for _, l := range All() {
		names = append(names, l.String())
	}
	return names
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
func (l Level) Snapshot() bool { return l.FirstCommitterWins() || l == PC }

// FirstCommitterWins reports whether l is a snapshot level at which two transactions that write one key
// must not overlap, so that no update is lost.
func (l Level) FirstCommitterWins() bool { return l == SI || l == SINoSO || l == StrongSI }

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
func (l Level) SessionOrder() bool { return l != SERNoSO && l != SINoSO && l != LIN && l != RU }

// Search reports whether the level is one of those that need a search in general: SER, SI and their variants.
func (l Level) Search() bool { return l <= StrongSI }

// Weak reports whether the level is below snapshot isolation with session order, and judged by its own
// rules: CC, RA, RC, the session guarantees and RU.
func (l Level) Weak() bool { return l >= CC }

// Repeatable reports whether the level forbids that a transaction reads two versions of a key.
func (l Level) Repeatable() bool { return !l.Weak() || l == CC || l == RA }

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

// WithoutRealTime returns the level that l is in a history without times.
func (l Level) WithoutRealTime() Level {
	switch l {
	case SSER:
		return SER
	case StrongSI:
		return SI
	}
	return l
}

// RealTime reports whether the level keeps real-time order. A history then needs the begin and end
// of its transactions.
func (l Level) RealTime() bool { return l == SSER || l == StrongSI || l == LIN }
