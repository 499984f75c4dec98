package synth

import "github.com/isohound/isohound/history"

// WithClaims returns h, whose transactions were executed one after another in the order of their numbers, with the claim
// of this order.
func WithClaims(h *history.History) *history.History {
	claims := make([]history.Claim, len(h.Txns))
	for i := range claims {
		claims[i].Commit = h.Txns[i].ID + 1
	}
	return h.WithClaims(claims)
}
