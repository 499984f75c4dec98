//go:build !front

package cli

import (
	"os"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages, one for each command",
		Long: `man writes a manual page for each command to a folder, such as isohound-run.1. The
pages say what --help says.`,
		Example: `  isohound man /usr/local/share/man/man1 && man isohound-run`,
		Args:    exactly(1, "a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			root.DisableAutoGenTag = true // the pages say nothing of the day on which they were made
			root.InitDefaultCompletionCmd()
			formatted(root)
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return withCode(exitIO, errors.WithStack(err))
			}
			header := &doc.GenManHeader{Section: "1", Source: "isohound " + version(), Manual: "isohound"}
			return withCode(exitIO, errors.WithStack(doc.GenManTree(root, header, args[0])))
		},
	}
}

// formatted makes the indented lines of help texts literal, which the manual would join.
func formatted(c *cobra.Command) {
	var out []string
	literal := false
	for _, line := range strings.Split(c.Long, "\n") {
		switch indented := strings.HasPrefix(line, "  "); {
		case indented && !literal:
			out = append(out, "")
			fallthrough
		case indented:
			line, literal = "    "+line, true
		case literal:
			out = append(out, "")
			literal = false
		}
		out = append(out, line)
	}
	c.Long = strings.Join(out, "\n")
	for _, sub := range c.Commands() {
		formatted(sub)
	}
}
