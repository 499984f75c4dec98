//go:build !front

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/generator"
)

func (a *app) genCommand() *cobra.Command {
	s := &settings{}
	var path string
	c := &cobra.Command{
		Use:   "gen --history FILE|- [flags]",
		Short: "Run a workload against a database and record its history",
		Long: `gen drives a database as run does and writes the history to a file or, with -,
to standard output. A file whose name ends in .zst is compressed.`,
		Example: `  isohound gen --driver postgres --dsn "$DSN" --isolation "repeatable read" --history h.jsonl.zst
  isohound gen --history - | isohound check - --level ser`,
		Args: exactly(0, "flags only"),
		RunE: func(c *cobra.Command, _ []string) error {
			if path == "" {
				return usage("gen needs --history, a file or - for standard output")
			}
			if err := s.resolve(a.stop, c); err != nil {
				return err
			}
			return a.gen(s, path)
		},
	}
	s.flags(c)
	c.Flags().StringVar(&path, "history", "", "file to write, or - for standard output")
	return c
}

func (a *app) gen(s *settings, path string) error {
	if s.wantsLog() {
		return usage("--claims %s: the log of %s is read at the end of a run; use isohound run", s.claims, s.driver)
	}
	db, err := a.open(s)
	if err != nil {
		return err
	}
	defer a.closeDB(db)
	if err := a.create(s, db); err != nil {
		return err
	}
	w := a.out
	if path != "-" {
		if w, err = createHistory(path); err != nil {
			return err
		}
	}
	a.announce(s, db)
	r, err := a.record(s, db, w, strings.HasSuffix(path, ".zst"))
	if err != nil {
		return err
	}
	if path != "-" {
		if err := w.Close(); err != nil && r.err == nil {
			r.err = &generator.LogError{Err: err}
		}
	}
	a.summarize(s, r)
	if r.err == nil && r.ended == generator.Interrupted {
		return errInterrupted
	}
	return r.err
}
