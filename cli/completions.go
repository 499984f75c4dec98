//go:build !front

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/accel/choose"
	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/servers/fetch"
	"github.com/isohound/isohound/workloads"
)

// values returns the possible values of a flag or of an argument, each "value\tdescription".
type values func(c *cobra.Command) []string

// flagValues are the values of flags, by the flag's name, which means the same in every command.
var flagValues = map[string]values{
	"server":    func(*cobra.Command) []string { return serverValues() },
	"driver":    func(*cobra.Command) []string { return driverNames() },
	"isolation": isolationNames,
	"workload":  func(*cobra.Command) []string { return workloadValues() },
	"param":     paramNames,
	"dist":      func(*cobra.Command) []string { return distributions() },
	"level":     func(*cobra.Command) []string { return levels() },
	"check":     func(*cobra.Command) []string { return append(levels(), "claimed\twhat the isolation promises") },
	"engine":    func(*cobra.Command) []string { return engines() },
	"accel":     func(*cobra.Command) []string { return split(choose.Names()) },
	"expect":    func(*cobra.Command) []string { return []string{verdict.Satisfied.String(), verdict.Violated.String()} },
	"format":    func(*cobra.Command) []string { return formats() },
	"from":      func(*cobra.Command) []string { return formats() },
	"to":        func(*cobra.Command) []string { return append(split(file.Written()), "auto") },
}

// listFlags are the flags whose values are lists, separated by commas.
var listFlags = []string{"level", "check"}

// argumentValues are the values of a command's argument, by the command's name.
var argumentValues = map[string]values{
	"drivers":   func(*cobra.Command) []string { return driverNames() },
	"workloads": func(*cobra.Command) []string { return workloadValues() },
}

// completeValues tells shells which values the flags and arguments of a command and of its
// subcommands have. Flags that are not in flagValues name files.
func completeValues(c *cobra.Command) {
	for name, of := range flagValues {
		// A few commands use such a name for something else: a format that is not one of a file.
		if f := c.Flags().Lookup(name); f == nil || name == "format" && !strings.Contains(f.Usage, file.Names()) {
			continue
		}
		list := slices.Contains(listFlags, name)
		_ = c.RegisterFlagCompletionFunc(name, func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			before := ""
			if list {
				before = typed[:strings.LastIndexByte(typed, ',')+1]
			}
			directive := cobra.ShellCompDirectiveNoFileComp
			if name == "param" {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			return matching(of(c), before, typed), directive
		})
	}
	if of := argumentValues[c.Name()]; of != nil {
		c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return matching(of(c), "", typed), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, sub := range c.Commands() {
		completeValues(sub)
	}
}

// matching returns the values that continue what was typed. before is what stands before each value.
func matching(values []string, before, typed string) []string {
	var out []string
	for _, v := range values {
		if v = before + v; strings.HasPrefix(v, typed) {
			out = append(out, v)
		}
	}
	return out
}

func split(names string) []string { return strings.Split(names, ", ") }

func driverNames() []string {
	var out []string
	for _, d := range drivers.All() {
		out = append(out, d.Info().Name+"\t"+d.Info().Title)
	}
	return out
}

// serverValues are the servers that can be started without a question to a registry.
func serverValues() []string {
	out := []string{"postgres\tthe installed PostgreSQL", "mariadb\tthe installed MariaDB"}
	if f, err := fetch.New(nil); err == nil {
		for _, v := range f.Cached() {
			out = append(out, "postgres@"+v.Postgres()+"\tfetched before, "+v.String())
		}
	}
	return slices.CompactFunc(out, func(a, b string) bool { return a[:strings.IndexByte(a, '\t')] == b[:strings.IndexByte(b, '\t')] })
}

// isolationNames are the isolations of the driver that is named before.
func isolationNames(c *cobra.Command) []string {
	name, _ := c.Flags().GetString("driver")
	d, err := drivers.Find(name)
	if err != nil {
		return nil
	}
	var out []string
	for _, iso := range d.Info().Isolations {
		out = append(out, iso.Name+"\tpromises "+promised(iso))
	}
	return out
}

func workloadValues() []string {
	var out []string
	for _, w := range workloads.All() {
		out = append(out, w.Name+"\t"+w.Summary)
	}
	return out
}

// paramNames are the parameters of the workload that is named before.
func paramNames(c *cobra.Command) []string {
	name, _ := c.Flags().GetString("workload")
	w, err := workloads.Find(name)
	if err != nil {
		return nil
	}
	var out []string
	for _, p := range w.Params {
		out = append(out, p.Name+"=\t"+p.Help)
	}
	return out
}

func distributions() []string {
	var out []string
	for _, k := range dist.Kinds {
		out = append(out, k.Name+"\t"+k.Help)
	}
	return out
}

func levels() []string {
	var out []string
	for _, l := range level.All() {
		out = append(out, l.String()+"\t"+l.Title())
	}
	return out
}

func engines() []string {
	var out []string
	for _, e := range checker.Engines {
		out = append(out, string(e))
	}
	return out
}

func formats() []string { return append(split(file.Names()), "auto") }
