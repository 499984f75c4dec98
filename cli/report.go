//go:build !front

package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/results"
	"github.com/isohound/isohound/results/pages"
)

// indexFile is the default name of an index page.
const indexFile = "index.html"

// reporting are the flags of report.
type reporting struct {
	out              string
	markdown, asJSON bool
}

// table reports whether a table is asked for, of one run too.
func (o *reporting) table() bool { return *o != reporting{} }

func (a *app) reportCommand() *cobra.Command {
	o, late := &reporting{}, &lateJudging{}
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Rebuild the report of a run, or make one page of several runs",
		Long: `Given the folder of one run, report rebuilds report.html and the files beside it
from the saved configuration, figures and verdicts. A run that was recorded with
--record-only, or that was killed before its verdict, is judged first, to the last
transaction that was recorded; of a run in windows, those that were not judged yet.
The exit code is then that of the verdict, and 130 or 69 if the run ended early and
nothing is violated.

Given several folders, or one folder that contains runs, it makes a table of all runs
with links to their reports. The table also lists runs that are unfinished or cannot
be read. The page is index.html, in DIR if there is one DIR, else in the current
folder. With --out, --markdown or --json a single run gets a table, too.`,
		Example: `  isohound report runs/20260131-235959-postgres
  isohound report runs
  isohound report runs/* --out nightly.html
  isohound report runs --markdown >> "$GITHUB_STEP_SUMMARY"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("report needs the folder of a run, or folders with runs")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.report(args, o, late) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.out, "out", "", "write the table to this file")
	f.BoolVar(&o.markdown, "markdown", false, "the table as Markdown, on standard output without --out")
	f.BoolVar(&o.asJSON, "json", false, "the table as JSON, on standard output without --out")
	late.flags(c)
	return c
}

func (a *app) report(dirs []string, o *reporting, late *lateJudging) error {
	if o.markdown && o.asJSON {
		return usage("--markdown and --json do not go together")
	}
	if len(dirs) == 1 && results.Holds(dirs[0]) && !o.table() {
		if unjudged(dirs[0]) {
			return a.judgeLate(dirs[0], late)
		}
		if err := a.redraw(dirs[0]); err != nil {
			return err
		}
		return a.nothingLeft(dirs[0])
	}
	x, err := results.NewIndex(dirs)
	if err != nil {
		return withCode(exitData, err)
	}
	if x.Empty() { // an index of nothing would take the place of a good one
		if len(dirs) == 1 {
			return withCode(exitData, errors.Errorf("%s is not the folder of a run, and there is none below it", dirs[0]))
		}
		return withCode(exitData, errors.Errorf("none of the %d folders is that of a run, and there is no run below them", len(dirs)))
	}
	for _, p := range x.Problems() {
		fmt.Fprintf(a.msg, "isohound: %s\n", p)
	}
	out, err := o.file(dirs)
	if err != nil {
		return err
	}
	b, err := o.render(x, filepath.Dir(out))
	if err != nil {
		return err
	}
	if out == "" {
		_, err = a.out.Write(b)
		return withCode(exitIO, errors.Wrap(err, "standard output"))
	}
	if err := os.WriteFile(out, b, 0o644); err != nil {
		return withCode(exitIO, err)
	}
	_, err = fmt.Fprintln(a.out, out)
	return withCode(exitIO, err)
}

// file returns the output file of the table, "" for standard output. An existing index.html that
// is not an index page of isohound is not overwritten.
func (o *reporting) file(dirs []string) (string, error) {
	if o.out != "" || o.markdown || o.asJSON {
		return o.out, nil
	}
	out := indexFile
	if len(dirs) == 1 {
		out = filepath.Join(dirs[0], indexFile)
	}
	ours, err := results.IsIndex(out)
	if err == nil && !ours {
		err = errors.Errorf("%s exists and is no index of runs; name a file with --out", out)
	}
	return out, withCode(exitIO, err)
}

// render draws the table. Its links are relative to folder.
func (o *reporting) render(x *results.Index, folder string) ([]byte, error) {
	switch {
	case o.markdown:
		return x.Markdown(folder), nil
	case o.asJSON:
		return x.JSON(folder)
	}
	return x.HTML(folder, pages.Draw)
}

// nothingLeft says if a run has no verdict, and nothing that report could judge.
func (a *app) nothingLeft(dir string) error {
	r, err := results.Load(dir)
	if err != nil || results.Judged(dir) || len(r.Outcomes) > 0 && r.Config.History != results.WindowsFolder {
		return withCode(exitData, err)
	}
	fmt.Fprintf(a.msg, "note: the run in %s has no verdict, and no history that could be judged\n", dir)
	a.found(exitUnknown)
	return nil
}

// redraw draws the report of one run again.
func (a *app) redraw(dir string) error {
	r, err := results.Load(dir)
	if err != nil {
		return withCode(exitData, err)
	}
	path, err := results.Draw(dir, r, pages.Draw)
	if err != nil {
		return withCode(exitIO, err)
	}
	_, err = fmt.Fprintln(a.out, path)
	return withCode(exitIO, err)
}
