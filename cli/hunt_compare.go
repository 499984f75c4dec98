//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/hunt"
	"github.com/isohound/isohound/results/pages"
)

// compareOptions are the flags of hunt compare.
type compareOptions struct {
	nights  []string
	targets []string
	asJSON  bool
}

func (a *app) huntCompareCommand() *cobra.Command {
	o := &compareOptions{}
	c := &cobra.Command{
		Use:   "compare DIR [--nights A,B] [--targets X,Y]",
		Short: "Compare two nights, or two targets, such as two versions, of a hunt",
		Long: `compare says what two nights of the hunt in DIR found and tried, the last two by
default. With --targets it compares two targets of the plan, two versions say, over all
nights, or of the one night that --nights names.

For each anomaly it gives the runs that showed it, k of n on either side, with their
commits, and how probable such a difference is by luck alone (Fisher's exact test). The
page is compare.html in DIR. The exit code is 0 whatever was found.`,
		Example: `  isohound hunt compare hunts/nightly
  isohound hunt compare hunts/nightly --nights 3,9
  isohound hunt compare hunts/nightly --targets postgres-15.3,postgres-15.5 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("hunt compare needs the folder of a hunt, hunts/NAME say")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.compareHunt(args[0], o) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringSliceVar(&o.nights, "nights", nil, "two nights by their numbers; with --targets one (default the last two; with --targets all)")
	f.StringSliceVar(&o.targets, "targets", nil, "two targets by their names in the plan")
	f.BoolVar(&o.asJSON, "json", false, "print the comparison as JSON")
	return c
}

// numbers are the nights that were named.
func (o *compareOptions) numbers() ([]int64, error) {
	var out []int64
	for _, text := range o.nights {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return nil, usage("--nights: expected numbers of nights, from 1, not %q; the page of the hunt has them", text)
		}
		out = append(out, n)
	}
	switch {
	case len(out) == 2 && out[0] == out[1] || len(o.targets) == 2 && o.targets[0] == o.targets[1]:
		return nil, usage("both sides of the comparison are the same")
	case len(o.targets) == 0 && len(out) != 0 && len(out) != 2:
		return nil, usage("--nights takes two nights, such as 3,9")
	case len(o.targets) != 0 && len(o.targets) != 2:
		return nil, usage("--targets takes two targets, such as postgres-15.3,postgres-15.5")
	case len(o.targets) == 2 && len(out) > 1:
		return nil, usage("with --targets, --nights takes one night")
	}
	return out, nil
}

func (a *app) compareHunt(dir string, o *compareOptions) error {
	nights, err := o.numbers()
	if err != nil {
		return err
	}
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return usage("%s is a file; hunt compare needs the folder of a hunt, by default hunts/NAME", dir)
	}
	state, err := hunt.Open(dir, false)
	if err != nil {
		return withCode(exitData, err)
	}
	defer state.Close()
	var c *hunt.Comparison
	switch {
	case len(o.targets) == 2 && len(nights) == 1:
		c, err = state.CompareTargets(o.targets[0], o.targets[1], nights[0])
	case len(o.targets) == 2:
		c, err = state.CompareTargets(o.targets[0], o.targets[1], 0)
	case len(nights) == 2:
		c, err = state.CompareNights(nights[0], nights[1])
	default:
		var from, to int64
		if from, to, err = state.Nightly(); err == nil {
			c, err = state.CompareNights(from, to)
		}
	}
	if err != nil {
		return withCode(exitData, err)
	}
	page, err := c.Write(dir, pages.Draw)
	if err != nil {
		return withCode(exitIO, err)
	}
	if o.asJSON {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return withCode(exitIO, errors.Wrap(e.Encode(c), "standard output"))
	}
	_, err = fmt.Fprintf(a.out, "%s\npage: %s\n", c.Text(), filepath.Clean(page))
	return withCode(exitIO, err)
}
