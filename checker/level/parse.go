package level

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/internal/suggest"
)

// longNames are other names of levels, in lower case with hyphens, besides their titles.
var longNames = map[string]Level{
	"serializable": SER, "snapshot": SI, "strict-serializable": SSER, "strict-ser": SSER,
	"serializable-without-session-order": SERNoSO, "snapshot-isolation-without-session-order": SINoSO,
	"linearizable": LIN, "prefix": PC, "parallel-si": PSI, "causal": CC, "tcc": CC, "read-atomicity": RA, "atomic": RA,
	"session-guarantees": Session,
}

// vague are names that different databases give to different levels, with what to ask instead.
var vague = map[string]string{
	"repeatable-read": "PostgreSQL's repeatable read is si; that of others may promise less",
	"rr":              "PostgreSQL's repeatable read is si; that of others may promise less",
}

// Parse returns the level called name: its short name, its title or another usual long name. Upper case
// counts as lower case; spaces and underscores count as hyphens.
func Parse(name string) (Level, error) {
	n := strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
	names := map[string]Level{}
	for long, l := range longNames {
		names[long] = l
	}
	for _, l := range All() {
		names[l.String()], names[strings.ReplaceAll(l.Title(), " ", "-")] = l, l
	}
	if l, ok := names[n]; ok {
		return l, nil
	}
	if why, ok := vague[n]; ok {
		return 0, errors.Errorf("level %q is not the same everywhere: %s; known are %s", name, why, strings.Join(Names(), ", "))
	}
	hint := ""
	if l := nearest(names, n); l != 0 {
		hint = "; did you mean " + l.String() + "?"
	}
	return 0, errors.Errorf("unknown level %q%s; known are %s", name, hint, strings.Join(Names(), ", "))
}

// nearest returns the level with a name that differs from n in the fewest letters, at most a third of them,
// or 0. Two levels with equally near names give 0.
func nearest(names map[string]Level, n string) Level {
	best, found, unclear := len(n)/3+1, Level(0), false
	for name, l := range names {
		switch d := suggest.Distance(name, n); {
		case d < best:
			best, found, unclear = d, l, false
		case d == best && l != found:
			unclear = true
		}
	}
	if unclear {
		return 0
	}
	return found
}
