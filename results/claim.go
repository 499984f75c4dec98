package results

import (
	"fmt"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// ClaimedOrder is verdict.Claim, with the numbers of transactions in the file.
type ClaimedOrder struct {
	// Fits says that the claimed order is an execution of the level.
	Fits bool `json:"fits"`
	// Positions describes the positions that the driver told, such as "commit timestamps".
	Positions string `json:"positions,omitempty"`
	// Misfits counts what does not fit, Txns are the transactions of the first misfit, and Text says in words
	// what it is.
	Misfits int     `json:"misfits,omitempty"`
	Txns    []int64 `json:"txns,omitempty"`
	Text    string  `json:"text,omitempty"`
}

func newClaim(h *history.History, c *verdict.Claim) *ClaimedOrder {
	if c == nil {
		return nil
	}
	out := &ClaimedOrder{Fits: c.Fits, Positions: h.Positions, Misfits: c.Misfits, Text: c.Text}
	for _, i := range c.Txns {
		out.Txns = append(out.Txns, h.Txns[i].ID)
	}
	return out
}

// Words says in a sentence whether the claimed order is an execution of a level.
func (c *ClaimedOrder) Words(level string) string {
	order := "the order that the database claims"
	if c.Positions != "" {
		order += " (" + c.Positions + ")"
	}
	if c.Fits {
		return order + " is an execution at " + level
	}
	text := order + " is no execution at " + level + ": " + c.Text
	if c.Misfits > 1 {
		text += fmt.Sprintf("; %d misfits in all", c.Misfits)
	}
	return text
}
