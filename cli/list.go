//go:build !front

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/declared"
	"github.com/isohound/isohound/workloads"
	"github.com/isohound/isohound/workloads/fromfile"
)

// findDriver returns the driver called name.
func findDriver(name string) (drivers.Driver, error) {
	d, err := drivers.Find(name)
	if err != nil {
		return nil, usage("%v%s", err, leftOut)
	}
	if err := declared.Check(d.Info()); err != nil { // one that somebody else has registered
		return nil, withCode(exitUsage, err)
	}
	return d, nil
}

// findWorkload returns the workload called name, which may be a file whose read ends with ctx.
func findWorkload(ctx context.Context, name string) (workloads.Spec, error) {
	spec, err := workloads.FindContext(ctx, name)
	if err != nil && ctx.Err() != nil {
		return spec, errInterrupted
	}
	return spec, withCode(exitUsage, err)
}

func (a *app) driversCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "drivers [NAME]",
		Short: "List the databases that can be driven, and what each isolation promises",
		Example: `  isohound drivers
  isohound drivers postgres --json`,
		Args: atMost(1, "at most the name of a driver"),
		RunE: func(_ *cobra.Command, args []string) error {
			var infos []drivers.Info
			for _, d := range drivers.All() {
				if len(args) == 0 || d.Info().Name == args[0] {
					infos = append(infos, d.Info())
				}
			}
			if len(infos) == 0 {
				_, err := findDriver(args[0])
				return err
			}
			if asJSON {
				return withCode(exitIO, json.NewEncoder(a.out).Encode(infos))
			}
			var b strings.Builder
			for _, i := range infos {
				fmt.Fprintf(&b, "%s – %s\n", i.Name, i.Title)
				fmt.Fprintf(&b, "  --dsn %s\n        %s\n", i.DSN, i.DSNHelp)
				b.WriteString("  --isolation\n")
				for n, iso := range i.Isolations {
					promise := "promises " + promised(iso)
					if n == 0 {
						promise += " (default)"
					}
					fmt.Fprintf(&b, "    %-48q %s; %s\n%53s%s\n", iso.Name, promise, iso.Note, "", iso.Source)
				}
				fmt.Fprintf(&b, "  can: %s\n", join(i.Can))
				for _, note := range i.Notes {
					fmt.Fprintf(&b, "  note: %s\n", note)
				}
				b.WriteString("\n")
			}
			_, err := fmt.Fprint(a.out, b.String())
			return withCode(exitIO, err)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(a.verifyCommand())
	return c
}

// promised is the promise of an isolation, in words.
func promised(iso drivers.Isolation) string {
	var parts []string
	switch {
	case iso.ByServer:
		parts = append(parts, "what the server's settings say")
	case iso.Promises != "":
		parts = append(parts, strings.ReplaceAll(iso.Promises, ",", " and "))
	}
	if iso.Scans != "" {
		parts = append(parts, strings.ReplaceAll(iso.Scans, ",", " and ")+" for transactions that scan")
	}
	if iso.Lightweight != "" {
		parts = append(parts, strings.ReplaceAll(iso.Lightweight, ",", " and ")+" for lightweight transactions")
	}
	return strings.Join(parts, ", ")
}

func join(capabilities []drivers.Capability) string {
	var names []string
	for _, c := range capabilities {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// defaults formats a workload's own defaults as flags.
func defaults(d workloads.Common) string {
	var flags []string
	if d.Sessions > 0 {
		flags = append(flags, fmt.Sprintf("--sessions %d", d.Sessions))
	}
	if d.Keys > 0 {
		flags = append(flags, fmt.Sprintf("--keys %d", d.Keys))
	}
	if d.Dist != "" {
		flags = append(flags, "--dist "+d.Dist)
	}
	if d.Skew > 0 {
		flags = append(flags, fmt.Sprintf("--skew %v", d.Skew))
	}
	return strings.Join(flags, " ")
}

func (a *app) workloadsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "workloads [NAME]",
		Short: "List the workloads and their parameters",
		Long: `workloads lists the workloads, or describes one. A workload can also be a file,
file=shop.yaml, which needs no Go; see docs/workload-files.md.`,
		Example: `  isohound workloads tpcc
  isohound workloads check shop.yaml`,
		Args: atMost(1, "at most the name of a workload"),
		RunE: func(_ *cobra.Command, args []string) error {
			list := workloads.All()
			if len(args) == 1 {
				one, err := findWorkload(a.stop, args[0])
				if err != nil {
					return err
				}
				list = []workloads.Spec{one}
			}
			var b strings.Builder
			for _, w := range list {
				fmt.Fprintf(&b, "%s – %s\n  source: %s\n  checked by: %s\n", w.Name, w.Summary, w.Source, strings.Join(w.Engines, ", "))
				if w.Checks != "" {
					fmt.Fprintf(&b, "  checks: %s\n", w.Checks)
				}
				if len(w.Needs) > 0 {
					fmt.Fprintf(&b, "  needs: %s\n", join(w.Needs))
				}
				if d := defaults(w.Defaults); d != "" && !w.OwnKeys {
					fmt.Fprintf(&b, "  defaults: %s\n", d)
				}
				for _, p := range w.Params {
					fmt.Fprintf(&b, "  -p %s=%s\n        %s\n", p.Name, p.Default, p.Help)
				}
				b.WriteString("\n")
			}
			_, err := fmt.Fprint(a.out, b.String())
			return withCode(exitIO, err)
		},
	}
	c.AddCommand(a.workloadFileCommand())
	return c
}

func (a *app) workloadFileCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE.yaml",
		Short: "Check a workload in a file, and say what it would run",
		Long: `check reads a workload that a file describes, as run --workload file=FILE.yaml does,
and prints its tables, its transactions, what each statement is recorded as, and
which drivers can run it. All errors of the file are printed, with line and column.`,
		Example: `  isohound workloads check shop.yaml`,
		Args:    exactly(1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := findWorkload(a.stop, fromfile.Kind+"="+args[0])
			if err != nil {
				return err
			}
			text, notes, err := fromfile.Describe(spec)
			if err != nil {
				return withCode(exitUsage, err)
			}
			var b strings.Builder
			b.WriteString(text)
			for _, note := range notes {
				fmt.Fprintf(&b, "note: %s\n", note)
			}
			fmt.Fprintf(&b, "needs: %s\ndrivers: %s\nrun it: %s\n", join(spec.Needs), strings.Join(capable(spec.Needs), ", "), commandLine("isohound", "run", "--workload", spec.Name))
			_, err = fmt.Fprint(a.out, b.String())
			return withCode(exitIO, err)
		},
	}
}
