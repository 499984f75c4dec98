package explain

import (
	"slices"
	"strings"
)

// Figure5 lists the 14 anomalies of the MTC paper's Figure 5, in its order.
var Figure5 = []string{
	ThinAirRead, AbortedRead, FutureRead, NotMyLastWrite, NotMyOwnWrite, IntermediateRead, NonRepeatableReads,
	SessionGuaranteeViolation, NonMonotonicRead, FracturedRead, CausalityViolation, LongFork, LostUpdate, WriteSkew,
}

// Names lists the names that Known knows, without the suffixes of cycles.
func Names() []string {
	out := []string{ClaimedSnapshot, StaleRead}
	for _, row := range cycleNames {
		out = append(out, row.name)
	}
	for _, name := range faultNames {
		out = append(out, name)
	}
	for _, names := range kindNames {
		out = append(out, names...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Known reports whether an anomaly can have this name.
func Known(name string) bool {
	if name == ClaimedSnapshot || name == StaleRead {
		return true
	}
	base := strings.TrimSuffix(strings.TrimSuffix(name, "-realtime"), "-process")
	for _, row := range cycleNames {
		if row.name == name || row.name == base && base[0] == 'G' {
			return true
		}
	}
	for _, fault := range faultNames {
		if fault == name {
			return true
		}
	}
	for _, names := range kindNames {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}
