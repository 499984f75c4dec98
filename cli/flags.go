package cli

import (
	"fmt"
	"regexp"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/isohound/isohound/internal/suggest"
)

var (
	// wrongValue is pflag's error of a value that a flag does not take, which speaks of Go's functions.
	wrongValue  = regexp.MustCompile(`^invalid argument (".*") for "(?:-\w, )?--([\w-]+)" flag: `)
	unknownFlag = regexp.MustCompile(`^unknown flag: --([\w-]+)$`)
)

// flagError is an error of pflag as a usage error in our words.
func flagError(c *cobra.Command, err error) error {
	if m := unknownFlag.FindStringSubmatch(fmt.Sprint(err)); m != nil {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if meant := suggest.Closest(m[1], known); meant != "" {
			err = errors.Errorf("%v; did you mean --%s?", err, meant)
		}
	}
	if m := wrongValue.FindStringSubmatch(fmt.Sprint(err)); m != nil {
		if what := expectedOf(c, m[2]); what != "" {
			err = errors.Errorf("--%s: expected %s, not %s", m[2], what, m[1])
		}
	}
	return withCode(exitUsage, err)
}

// expectedOf says what values a flag takes, "" if its own error does.
func expectedOf(c *cobra.Command, flag string) string {
	f := c.Flags().Lookup(flag)
	if f == nil {
		return ""
	}
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number"
	case "uint64":
		return "a whole number that is not negative"
	case "float64":
		return "a number"
	case "duration":
		return "a time such as 30s"
	case "bool":
		return "true or false"
	}
	return ""
}
