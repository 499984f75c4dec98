package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/results"
)

func (a *app) reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "report DIR",
		Short:   "Draw the report of a run again from what was saved",
		Long:    "report writes report.html and junit.xml of a run's folder again, from its configuration,\nfigures and verdicts.",
		Example: "  isohound report runs/20260131-235959-postgres",
		Args:    exactly(1, "the folder of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := results.Load(args[0])
			if err != nil {
				return withCode(exitData, err)
			}
			path, err := results.Draw(args[0], r)
			if err != nil {
				return withCode(exitIO, err)
			}
			_, err = fmt.Fprintln(a.out, path)
			return withCode(exitIO, err)
		},
	}
}
