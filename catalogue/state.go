package catalogue

import (
	"context"

	"github.com/isohound/isohound/servers/docker"
)

// State says whether a scenario can run here.
type State struct {
	Ready bool `json:"ready"`
	// Text is "ready", or what is missing in a few words.
	Text string `json:"text"`
}

// States finds out whether scenarios can run here. It asks docker once.
type States struct{ docker *State }

// Of returns the state of one scenario.
func (st *States) Of(ctx context.Context, s *Scenario) State {
	ready := State{true, "ready"}
	if s.History != "" {
		return ready
	}
	switch s.Target.Kind {
	case Local:
		if what := starterOf(s.Target.Start).missing(&s.Target); what != "" {
			return State{false, "needs " + what}
		}
	case Docker:
		if st.docker == nil {
			st.docker = &ready
			if err := docker.Available(ctx); err != nil {
				st.docker = &State{false, "needs docker: " + err.Error()}
			}
		}
		return *st.docker
	}
	return ready
}
