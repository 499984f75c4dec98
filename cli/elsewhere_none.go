//go:build embedded && !front

package cli

import "github.com/spf13/cobra"

func (a *app) publish(*runOptions) (elsewhere, error) {
	return nil, usage("--publish: this program was built without NATS (build tag embedded); ./run.sh judge --help builds the one with it")
}

func (a *app) natsCommands() []*cobra.Command { return nil }
