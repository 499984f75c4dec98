//go:build !front && !embedded

package cli

import (
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/remote"
)

// natsFlags adds the flags that say where a NATS server is.
func natsFlags(c *cobra.Command, s *natsServer) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&s.url, "from", "", "URL of the NATS server: nats://[USER:PASSWORD@|TOKEN@]HOST:PORT, or tls://")
	f.StringVar(&s.creds, "nats-creds", "", natsCredsHelp)
	f.StringVar(&s.ca, "nats-ca", "", natsCAHelp)
}

func (a *app) natsRunsCommand() *cobra.Command {
	s := natsServer{}
	c := &cobra.Command{
		Use:   "runs --from URL",
		Short: "List what runs have on a NATS server",
		Long: `runs lists the runs that have something on a NATS server: windows that wait for a judge,
files, verdicts. A run that goes on answers. One that was killed does not, and what it
has left stays for 7 days; isohound nats drop removes it.`,
		Example: "  isohound nats runs --from nats://127.0.0.1:4222",
		Args:    exactly(0, "flags only"),
		RunE: func(*cobra.Command, []string) error {
			conn, all, err := a.natsRuns("nats runs", s)
			if err != nil {
				return err
			}
			defer conn.Close()
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "run\tstate\tbegan\tby\twaiting\tfiles\tsize")
			for i := range all {
				l := &all[i]
				began := ""
				if !l.About.Began.IsZero() {
					began = l.About.Began.Local().Format(time.DateTime)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\n", l.Run, stateOf(l), began, l.About.Host, l.Waiting, l.Files, humanize.IBytes(l.Bytes))
			}
			return withCode(exitIO, errors.Wrap(w.Flush(), "standard output"))
		},
	}
	natsFlags(c, &s)
	return c
}

// stateOf says in a word what became of a run.
func stateOf(l *remote.Left) string {
	switch {
	case l.Alive:
		return "goes on"
	case !l.About.Ended.IsZero():
		return "ended"
	}
	return "killed"
}

// natsRuns connects, and lists the runs.
func (a *app) natsRuns(command string, s natsServer) (*remote.Conn, []remote.Left, error) {
	if s.url == "" {
		return nil, nil, usage("%s needs --from with the URL of a NATS server", command)
	}
	_, conn, err := a.dial("--from", s)
	if err != nil {
		return nil, nil, err
	}
	all, err := conn.Runs(a.stop)
	if err != nil {
		conn.Close()
		return nil, nil, withCode(exitUnavailable, err)
	}
	return conn, all, nil
}

func (a *app) natsDropCommand() *cobra.Command {
	s, killed := natsServer{}, false
	c := &cobra.Command{
		Use:   "drop --from URL [RUN...]",
		Short: "Remove from a NATS server what runs have left there",
		Long: `drop removes the windows and verdicts of the runs that are named, or, with --killed, of all
that do not go on. A run that goes on is left alone. The folder of a run has all its
windows; nothing there is removed.`,
		Example: `  isohound nats drop --from nats://127.0.0.1:4222 --killed
  isohound nats drop --from nats://127.0.0.1:4222 8BPUKZ2VJ5XCYRMGLQKF1D`,
		RunE: func(_ *cobra.Command, names []string) error {
			if killed == (len(names) > 0) {
				return usage("nats drop needs the names of runs, or --killed")
			}
			conn, all, err := a.natsRuns("nats drop", s)
			if err != nil {
				return err
			}
			defer conn.Close()
			var drop []remote.Left
			for i := range all {
				if killed && !all[i].Alive {
					drop = append(drop, all[i])
				}
			}
			for _, name := range names {
				n := slices.IndexFunc(all, func(l remote.Left) bool { return l.Run == name })
				switch {
				case n < 0:
					return withCode(exitData, errors.Errorf("the server has nothing of a run %s; isohound nats runs lists what it has", name))
				case all[n].Alive:
					return withCode(exitData, errors.Errorf("run %s goes on; it removes its windows itself", name))
				}
				drop = append(drop, all[n])
			}
			for i := range drop {
				if err := conn.Drop(a.stop, drop[i].Run); err != nil {
					return withCode(exitUnavailable, err)
				}
				if _, err := fmt.Fprintf(a.out, "dropped %s (%s): %s, %s\n", drop[i].Run, stateOf(&drop[i]), plural(drop[i].Files, "file"), humanize.IBytes(drop[i].Bytes)); err != nil {
					return withCode(exitIO, errors.Wrap(err, "standard output"))
				}
			}
			return nil
		},
	}
	natsFlags(c, &s)
	c.Flags().BoolVar(&killed, "killed", false, "all runs that do not go on")
	return c
}
