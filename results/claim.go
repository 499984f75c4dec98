package results

import (
	"fmt"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// ClaimedOrder is verdict.Claim, with the numbers of transactions in the file.
type ClaimedOrder struct {
	// Tried is the level of which the claimed order was tried as an execution, if it is not that of the verdict, but one
	// that implies it.
	Tried string `json:"tried,omitempty"`
	// Fits says that the claimed order is such an execution.
	Fits bool `json:"fits"`
	// Positions describes the positions that the driver told, such as "commit timestamps". It is "snapshots" if the order
	// follows from snapshots that are sets of transactions.
	Positions string `json:"positions,omitempty"`
	// Misfits counts what does not fit, Txns are the transactions of the first misfit, and Text says in words
	// what it is.
	Misfits int     `json:"misfits,omitempty"`
	Txns    []int64 `json:"txns,omitempty"`
	Text    string  `json:"text,omitempty"`
}

func newClaim(h *history.History, lvl level.Level, c *verdict.Claim) *ClaimedOrder {
	if c == nil {
		return nil
	}
	out := &ClaimedOrder{Fits: c.Fits, Positions: h.Positions, Misfits: c.Misfits, Text: c.Text}
	if c.Tried != lvl {
		out.Tried = c.Tried.String()
	}
	if c.Snapshots {
		out.Positions = "snapshots"
	}
	for _, i := range c.Txns {
		out.Txns = append(out.Txns, h.Txns[i].ID)
	}
	return out
}

// Words says in a sentence whether the claimed order is an execution of the level of the verdict.
func (c *ClaimedOrder) Words(level string) string {
	order := "the order that the database claims"
	if c.Positions != "" {
		order += " (" + c.Positions + ")"
	}
	if c.Fits {
		return order + " is an execution at " + level
	}
	if c.Tried != "" {
		level = c.Tried + ", which " + level + " does not ask for"
	}
	text := order + " is no execution at " + level + ": " + c.Text
	if c.Misfits > 1 {
		text += fmt.Sprintf("; %d misfits in all", c.Misfits)
	}
	return text
}

// AssumedOrder is verdict.Assumption.
type AssumedOrder struct {
	// Positions describes the positions that the driver told, such as "commit timestamps".
	Positions string `json:"positions,omitempty"`
	// Versions counts the versions that were written, Placed those of them that have a claimed position.
	Versions int `json:"versions"`
	Placed   int `json:"placed"`
	// Snapshots counts the transactions whose claimed snapshot is a part of what is judged.
	Snapshots int `json:"snapshots,omitempty"`
	// Reads counts the reads whose version the database told: which commit wrote what they returned.
	Reads int `json:"reads,omitempty"`
	// Rests says that a violation is proved only if the claims are true. OnSnapshots says that it needs the snapshots: the order
	// of versions alone is not enough.
	Rests       bool `json:"rests"`
	OnSnapshots bool `json:"rests_on_snapshots,omitempty"`
}

func newAssumed(h *history.History, a *verdict.Assumption) *AssumedOrder {
	if a == nil {
		return nil
	}
	return &AssumedOrder{Positions: h.Positions, Versions: a.Versions, Placed: a.Placed, Snapshots: a.Snapshots, Reads: a.Reads, Rests: a.Rests, OnSnapshots: a.OnSnapshots}
}

// Words says in a sentence what a verdict rests on.
func (a *AssumedOrder) Words(v verdict.Verdict) string {
	snapshots := Thousands(a.Snapshots) + " snapshots"
	if a.Snapshots == 1 {
		snapshots = "one snapshot"
	}
	order, how := "the order of versions that the database claims", ""
	switch {
	case a.Placed == 0 && a.Snapshots == 0:
		return "nothing was assumed: the history does not say in which order the database placed versions"
	case a.Placed == 0:
		order = snapshots + " that the database claims"
	case a.Positions != "":
		order += " (" + a.Positions + ")"
	}
	if a.Placed > 0 {
		how = fmt.Sprintf(", with %s of %s versions in it", Thousands(a.Placed), Thousands(a.Versions))
	}
	switch {
	case a.Placed == 0 || a.Reads == 0:
	case a.Reads == 1:
		how += ", and the version that it says one read had"
	default:
		how += fmt.Sprintf(", and the versions that it says %s reads had", Thousands(a.Reads))
	}
	if a.Placed > 0 && a.Snapshots > 0 && (v != verdict.Violated || a.OnSnapshots) {
		how += ", and " + snapshots
	}
	switch {
	case v == verdict.Violated && a.Rests:
		return "this rests on " + order + how
	case v == verdict.Violated:
		if a.Placed == 0 {
			return "this does not rest on the " + order + ", which were assumed"
		}
		return "this does not rest on " + order + ", which was assumed"
	case v == verdict.Satisfied:
		return "an execution keeps " + order + how
	}
	return "assumed: " + order + how
}
