package explain

import (
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/verdict"
)

// phenomena are Adya's phenomena, as Elle divides them. A level that forbids one forbids all before it.
var phenomena = []string{"internal", "G0", "G1a", "G1b", "G1c", "G1-predicate", "G-single-predicate", "G-single", "G-nonadjacent", "G2-item", "G2"}

// suffixes are those of Classify, from the one that says most.
var suffixes = []string{"", "-process", "-realtime"}

// Shared returns the names of a violation that has several explanations, each with an anomaly of its own: a
// transaction saw one of several versions of a row that it did not find, and each leads to an anomaly. They are
// the names that all these anomalies have, the most specific one first. If there is none, it is the weakest
// phenomenon among them: of each anomaly the first phenomenon counts, and of these the last in the order of
// phenomena. Whichever version it was, a level that forbids that phenomenon forbids what happened.
func Shared(anomalies [][]string) []string {
	if len(anomalies) == 0 {
		return nil
	}
	var all []string
	for _, name := range anomalies[0] {
		if !slices.ContainsFunc(anomalies, func(names []string) bool { return !slices.Contains(names, name) }) {
			all = append(all, name)
		}
	}
	if len(all) > 0 {
		return all
	}
	weakest, suffix := 0, 0
	for _, names := range anomalies {
		at, with := len(phenomena), 0
		for _, name := range names {
			for n := len(suffixes) - 1; n >= 0; n-- {
				base, ok := strings.CutSuffix(name, suffixes[n])
				if !ok {
					continue
				}
				if i := slices.Index(phenomena, base); i >= 0 && i < at {
					at, with = i, n
				}
				break
			}
		}
		if at == len(phenomena) { // such as an unread version, which every level forbids
			at = 0
			if slices.Equal(names, kindNames[verdict.Contradiction]) {
				return names
			}
		}
		weakest, suffix = max(weakest, at), max(suffix, with)
	}
	if phenomena[weakest][0] != 'G' {
		suffix = 0
	}
	return []string{phenomena[weakest] + suffixes[suffix]}
}

// sharedByCases names an anomaly of kind NoChoice. Cases in which a transaction contradicts itself do not
// count if there are others.
func sharedByCases(a *verdict.Anomaly) []string {
	var names, alone [][]string
	for n := range a.Cases {
		switch x := &a.Cases[n]; {
		case x.Opposed:
		case len(x.Anomaly.Txns) == 1:
			alone = append(alone, x.Anomaly.Names)
		default:
			names = append(names, x.Anomaly.Names)
		}
	}
	if len(names) == 0 {
		names = alone
	}
	if len(names) == 0 {
		return kindNames[verdict.NoChoice]
	}
	return Shared(names)
}
