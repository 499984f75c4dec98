package explain

import (
	"strings"

	"github.com/isohound/isohound/checker/level"
)

// Suffixes of Adya's phenomena, as Elle writes them.
const (
	byProcess  = "-process"
	byRealTime = "-realtime"
)

// forbiddenBy has, for names of cycles, the weakest level that forbids every anomaly of that name. Names of Adya's
// phenomena have no suffix here.
var forbiddenBy = map[string]level.Level{
	LostUpdate:                level.PSI,
	"lost-update":             level.PSI,
	Phantom:                   level.SI,
	SessionGuaranteeViolation: level.Session,
	NonMonotonicRead:          level.RC,
	FracturedRead:             level.RA,
	CausalityViolation:        level.CC,
	WriteSkew:                 level.SER,
	PredicateWriteSkew:        level.SER,
	"write-skew":              level.SER,
	LongFork:                  level.PC,
	"long-fork":               level.PC,
	"G0":                      level.RU,
	"G1c":                     level.RC,
	"G-single-predicate":      level.PSI,
	"G-single":                level.PSI,
	"G-nonadjacent":           level.SI,
	"G2-item":                 level.SER,
	"G2":                      level.SER,
}

// Possible returns names of a cycle that violates lvl, without those that a level forbids which holds. A cycle may rest
// on an order of two writes that only a stronger level forces, such as the rule that the first committer wins. Its edges then
// look like an anomaly of a weaker level, which the history does not have. If none of Adya's phenomena is left, it is
// that which lvl forbids.
func Possible(names []string, lvl level.Level, holds func(level.Level) bool) []string {
	suffix := ""
	for _, n := range names {
		if s := suffixOf(n); s != "" {
			suffix = s
		}
	}
	if plain := lvl.WithoutRealTime(); plain != lvl && holds(plain) {
		suffix = byRealTime
	} else if free, ok := withoutSessions(plain); ok && suffix == "" && holds(free) {
		suffix = byProcess
	}
	var out []string
	adya, dropped := false, false
	for _, n := range names {
		base := strings.TrimSuffix(n, suffixOf(n))
		phenomenon := n[0] == 'G'
		by, ok := forbiddenBy[base]
		switch {
		case !ok:
		case n == Phantom && suffix == byRealTime:
		case phenomenon && (suffix == byRealTime || suffix != "" && (by == level.RU || by == level.RC)): // by does not forbid it
		case holds(by):
			dropped = true
			if n != SessionGuaranteeViolation || !level.CC.Implies(lvl) {
				continue
			}
			n = CausalityViolation // the guarantees together, and what reads show, make it one
		}
		if phenomenon {
			adya = true
			n = base + suffix
		}
		out = append(out, n)
	}
	if dropped && !adya {
		out = append(out, phenomenonOf(lvl)+suffix)
	}
	return out
}

// phenomenonOf is what a history has that violates a level and none that is weaker.
func phenomenonOf(lvl level.Level) string {
	switch {
	case lvl.Serial():
		return "G2-item"
	case lvl.Snapshot():
		return "G-nonadjacent"
	case lvl == level.RC:
		return "G1c"
	case lvl == level.RU:
		return "G0"
	}
	return "G-single"
}

func suffixOf(name string) string {
	for _, s := range []string{byProcess, byRealTime} {
		if strings.HasSuffix(name, s) {
			return s
		}
	}
	return ""
}

// withoutSessions is the level that does not keep the order of sessions, if there is one.
func withoutSessions(l level.Level) (level.Level, bool) {
	switch l {
	case level.SER:
		return level.SERNoSO, true
	case level.SI:
		return level.SINoSO, true
	}
	return 0, false
}
