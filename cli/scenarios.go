//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/catalogue"
	"github.com/isohound/isohound/scenarios"
)

// choosing are the flags that select scenarios.
type choosing struct {
	dir, target string
}

func (c *choosing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.dir, "dir", "", "read the scenarios of this folder (default those within isohound)")
	f.StringVar(&c.target, "target", "", "only targets of these kinds, separated by commas: embedded, local, docker")
}

// load reads the catalogue.
func (c *choosing) load() (*catalogue.Catalogue, error) {
	files := fs.FS(scenarios.Files)
	if c.dir != "" {
		if _, err := os.Stat(c.dir); err != nil {
			return nil, withCode(exitData, errors.Wrap(err, "--dir"))
		}
		files = os.DirFS(c.dir)
	}
	cat, err := catalogue.Load(files)
	return cat, withCode(exitData, err)
}

// choose returns the scenarios with the given names and kinds.
func (c *choosing) choose(names ...string) ([]*catalogue.Scenario, error) {
	var kinds []catalogue.Kind
	for _, name := range strings.FieldsFunc(c.target, func(r rune) bool { return r == ',' }) {
		if k := catalogue.Kind(strings.TrimSpace(name)); slices.Contains(catalogue.Kinds, k) {
			kinds = append(kinds, k)
			continue
		}
		return nil, usage("--target %s: expected embedded, local or docker, or several, separated by commas", c.target)
	}
	cat, err := c.load()
	if err != nil {
		return nil, err
	}
	list, err := cat.Select(names, kinds...)
	if err == nil && len(list) == 0 {
		err = errors.Errorf("none of these scenarios has a target of kind %s", c.target)
	}
	return list, withCode(exitUsage, err)
}

func (a *app) scenariosCommand() *cobra.Command {
	var ch choosing
	var asJSON bool
	c := &cobra.Command{
		Use:   "scenarios",
		Short: "Show known anomalies and bugs on demand",
		Long: `scenarios lists the catalogue: known anomalies and bugs with the recipe that
reproduces them and the expected verdict, controls without a violation, and recorded
histories with their verdicts. It also says whether each scenario can run here.`,
		Example: `  isohound scenarios --target embedded
  isohound scenarios show figure5/13-lost-update
  isohound scenarios run all --target embedded,local`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q of scenarios; it has show, run, table", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			list, err := ch.choose("all")
			if err != nil {
				return err
			}
			return a.listScenarios(list, asJSON)
		},
	}
	ch.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one line for each scenario")
	c.AddCommand(a.scenariosShowCommand(), a.scenariosRunCommand(), a.scenariosTableCommand())
	return c
}

// listed is a scenario as shown in the list.
type listed struct {
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Target   catalogue.Kind  `json:"target"`
	Engine   string          `json:"engine"`
	Expected string          `json:"expected"`
	MustFail bool            `json:"must_fail"`
	Seconds  float64         `json:"expected_seconds"`
	State    catalogue.State `json:"state"`
	NeverRun string          `json:"never_run,omitempty"`
	Twin     string          `json:"twin,omitempty"`
}

func (a *app) listScenarios(list []*catalogue.Scenario, asJSON bool) error {
	states := &catalogue.States{}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "NAME\tTARGET\tENGINE\tEXPECTED\tTIME\tHERE")
	}
	enc := json.NewEncoder(a.out)
	for _, s := range list {
		l := listed{s.Name, s.Title, s.Target.Kind, s.Engine(), s.Expected(), s.MustFail(), seconds(s.Time), states.Of(a.work, s), s.NeverRun, s.Twin}
		if asJSON {
			if err := enc.Encode(l); err != nil {
				return withCode(exitIO, err)
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Name, l.Target, l.Engine, l.Expected, s.Time, l.State.Text)
	}
	return withCode(exitIO, w.Flush())
}

func (a *app) scenariosShowCommand() *cobra.Command {
	var ch choosing
	c := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a scenario and the commands that it runs",
		Example: "  isohound scenarios show figure5/13-lost-update",
		Args:    exactly(1, "the name of a scenario"),
		RunE: func(_ *cobra.Command, args []string) error {
			cat, err := ch.load()
			if err != nil {
				return err
			}
			s, err := cat.Find(args[0])
			if err != nil {
				return withCode(exitUsage, err)
			}
			_, err = fmt.Fprint(a.out, a.describe(s))
			return withCode(exitIO, err)
		},
	}
	c.Flags().StringVar(&ch.dir, "dir", "", "read the scenarios of this folder (default those within isohound)")
	return c
}

// describe describes a scenario completely.
func (a *app) describe(s *catalogue.Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", s.Name, s.Title)
	for line := range strings.Lines(strings.TrimSpace(s.About)) {
		fmt.Fprintf(&b, "  %s", line)
	}
	b.WriteString("\n\n")
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-11s %s\n", name, text)
		}
	}
	row("target", string(s.Target.Kind)+", "+s.Engine())
	row("image", s.Target.Image)
	for _, name := range sortedKeys(s.Target.Options) {
		row("setting", name+" = "+s.Target.Options[name])
	}
	row("isolation", s.Isolation)
	row("expected", s.Expected())
	if s.Tries > 1 {
		row("tries", fmt.Sprintf("up to %d, with one seed after the other", s.Tries))
	}
	row("time", s.Time.String())
	row("here", (&catalogue.States{}).Of(a.work, s).Text)
	row("never run", s.NeverRun)
	row("twin", s.Twin)
	for n, source := range s.Sources {
		row([]string{"sources", ""}[min(n, 1)], source)
	}
	row("file", s.File)
	b.WriteString("\n")
	for _, words := range s.Commands() {
		fmt.Fprintf(&b, "  %s\n", commandLine(append([]string{"isohound"}, words...)...))
	}
	if s.History == "" {
		return b.String()
	}
	b.WriteString("\n")
	for line := range strings.Lines(s.History) {
		if !strings.HasPrefix(line, "#") {
			fmt.Fprintf(&b, "  %s", line)
		}
	}
	return b.String()
}

func (a *app) scenariosTableCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "table DIR...",
		Short: "Draw the table of engines and anomalies from the results of scenarios",
		Long: `table reads the --out folders of isohound scenarios run and makes a table of engines
and isolations by anomalies, with links to the runs. It lists every scenario with its
expected result. Links are relative to the current folder.`,
		Example: "  isohound scenarios table runs/scenarios-20260131-235959 --format html > table.html",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("expected the folder of a run of scenarios")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "markdown" && format != "html" {
				return usage("--format %s: expected markdown or html", format)
			}
			var all []*catalogue.Results
			for _, dir := range args {
				r, err := catalogue.LoadResults(dir)
				if err != nil {
					return withCode(exitData, err)
				}
				all = append(all, r)
			}
			page := []byte(catalogue.Markdown(all...))
			if format == "html" {
				var err error
				if page, err = catalogue.HTML(all...); err != nil {
					return err
				}
			}
			_, err := a.out.Write(page)
			return withCode(exitIO, err)
		},
	}
	c.Flags().StringVar(&format, "format", "markdown", "markdown or html")
	return c
}
