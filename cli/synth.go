package cli

import (
	"math"
	"os"
	"strings"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/generator/synth"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/internal/percent"
)

// synthesis are the flags that all synthetic histories share.
type synthesis struct {
	sessions, txns, keys int
	seed                 int64
	out                  string
}

// Limits of the sizes. All keys of a run are inserted before it begins.
const (
	maxSynthetic = 100_000_000 // transactions of a synthetic history
	maxKeys      = 10_000_000
)

func (a *app) synthCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "synth",
		Short: "Make a history without a database, valid or with a defect",
		Long: `synth simulates a database in memory and writes the history that its clients
would have seen. The same seed gives the same history. isohound convert rewrites
it in other formats.`,
		Example: `  isohound synth lwt --defect lost-update -o h.jsonl && isohound check h.jsonl --level lin
  isohound synth mini --snapshot -o - | isohound check - --level si`,
		Args: exactly(0, "what to make: isohound synth lwt, mini or general"),
		RunE: func(*cobra.Command, []string) error {
			return usage("synth needs to know what to make: isohound synth lwt, mini or general")
		},
	}
	c.AddCommand(a.synthLWTCommand(), a.synthMiniCommand(), a.synthGeneralCommand())
	return c
}

// synthFlags adds the common flags, with these defaults, to a command that makes and writes a
// history.
func (a *app) synthFlags(c *cobra.Command, sessions, txns, keys int, make func(s *synthesis) (*history.History, error)) *cobra.Command {
	s := &synthesis{}
	f := c.Flags()
	f.SortFlags = false
	f.IntVar(&s.sessions, "sessions", sessions, "sessions")
	f.IntVar(&s.txns, "txns", txns, "transactions per session")
	f.IntVar(&s.keys, "keys", keys, "keys")
	f.Int64Var(&s.seed, "seed", 1, "seed of all random choices")
	f.StringVarP(&s.out, "out", "o", "", "file to write, compressed if its name ends in .zst, or - for standard output")
	c.Args = exactly(0, "flags only")
	c.RunE = func(*cobra.Command, []string) error {
		switch {
		case s.out == "":
			return usage("synth needs -o, a file or - for standard output")
		case s.sessions < 1 || s.txns < 1 || s.keys < 1:
			return usage("--sessions, --txns and --keys must be at least 1")
		case s.keys > maxKeys || s.sessions > maxSynthetic/s.txns:
			return usage("--keys must be at most %d, and all sessions together have at most %d transactions", maxKeys, maxSynthetic)
		}
		h, err := make(s)
		if err != nil {
			return withCode(exitUsage, err)
		}
		return a.writeSynthetic(h, s.out)
	}
	return c
}

func (a *app) synthLWTCommand() *cobra.Command {
	var concurrent, failures, defect string
	var help strings.Builder
	for _, d := range synth.LWTDefects {
		help.WriteString("\n  " + string(d.Name) + strings.Repeat(" ", 15-len(d.Name)) + d.Help)
	}
	c := &cobra.Command{
		Use:   "lwt -o FILE|- [flags]",
		Short: "Lightweight transactions (MTC paper, section V-A)",
		Long: `lwt makes insertions and chains of compare-and-sets, each a lightweight transaction
on one key, for level lin. Sessions run in rounds: --concurrent is the share of
them that run at once, while the others wait their turn.

Without a defect the history is linearizable. With one, that happens once, somewhere
in it; what follows from it can be more than one anomaly. Defects:` + help.String(),
		Example: `  isohound synth lwt --sessions 100 --txns 1000 --keys 1 --concurrent 25% -o h.jsonl.zst
  isohound synth lwt --defect inversion --seed 7 -o h.jsonl`,
	}
	a.synthFlags(c, 20, 500, 10, func(s *synthesis) (*history.History, error) {
		share, err := percentage("concurrent", concurrent)
		if err != nil {
			return nil, err
		}
		fail, err := percentage("failures", failures)
		if err != nil {
			return nil, err
		}
		d, err := synth.ParseDefect(defect)
		if err != nil {
			return nil, errors.Wrap(err, "--defect")
		}
		return synth.DefectiveLWT(synth.LWTConfig{
			Sessions: s.sessions, TxnsPerSession: s.txns, Keys: s.keys,
			Concurrent: max(1, int(math.Round(share*float64(s.sessions)/100))), Failures: int(math.Round(fail)), Seed: uint64(s.seed),
		}, d)
	})
	c.Flags().StringVar(&concurrent, "concurrent", "100%", "share of the sessions that run at once")
	c.Flags().StringVar(&failures, "failures", "10%", "share of the transactions that only read or fail")
	c.Flags().StringVar(&defect, "defect", string(synth.None), "what goes wrong once")
	return c
}

func (a *app) synthMiniCommand() *cobra.Command {
	var snapshot bool
	c := &cobra.Command{
		Use:   "mini -o FILE|- [flags]",
		Short: "Mini-transactions (MTC paper, Definition 8), strictly serializable or of snapshot isolation",
	}
	a.synthFlags(c, 20, 500, 100, func(s *synthesis) (*history.History, error) {
		return synth.Mini(synth.MiniConfig{Sessions: s.sessions, Txns: s.sessions * s.txns, Keys: s.keys, Seed: uint64(s.seed), Snapshot: snapshot}), nil
	})
	c.Flags().BoolVar(&snapshot, "snapshot", false, "simulate snapshot isolation, which lets write skew through")
	return c
}

func (a *app) synthGeneralCommand() *cobra.Command {
	var ops, values int
	var reads, duplicates string
	var theta float64
	var snapshot bool
	c := &cobra.Command{
		Use:   "general -o FILE|- [flags]",
		Short: "Transactions of any shape (VeriStrong paper, section 7.1), serializable or of snapshot isolation, without times",
	}
	a.synthFlags(c, 20, 500, 1000, func(s *synthesis) (*history.History, error) {
		r, err := percentage("reads", reads)
		if err != nil {
			return nil, err
		}
		d, err := percentage("duplicates", duplicates)
		if err != nil {
			return nil, err
		}
		if ops < 1 || ops > 10_000 || values < 1 || values > maxKeys || !(theta >= 0 && theta <= 100) {
			return nil, errors.Errorf("--ops must be from 1 to 10000, --values from 1 to %d, and --theta from 0 to 100", maxKeys)
		}
		return synth.General(synth.GeneralConfig{
			Sessions: s.sessions, Txns: s.sessions * s.txns, Ops: ops, Keys: s.keys, Reads: r / 100,
			Duplicates: d / 100, Theta: theta, Values: values, Snapshot: snapshot, Seed: uint64(s.seed),
		}), nil
	})
	f := c.Flags()
	f.IntVar(&ops, "ops", 10, "operations in a transaction")
	f.StringVar(&reads, "reads", "50%", "share of the operations that read")
	f.StringVar(&duplicates, "duplicates", "0%", "share of the keys whose values may be written twice")
	f.Float64Var(&theta, "theta", 1, "skew of such values, the i-th in proportion to 1/i^theta")
	f.IntVar(&values, "values", 100, "how many such values there are")
	f.BoolVar(&snapshot, "snapshot", false, "simulate snapshot isolation, which lets write skew through")
	return c
}

// percentage reads a flag that is a percentage.
func percentage(flag, text string) (float64, error) {
	p, err := percent.Parse(text)
	if err != nil {
		return 0, errors.Errorf("--%s %s: %v", flag, text, err)
	}
	return p, nil
}

// writeSynthetic writes h to a new file or to standard output. After an error it removes the
// incomplete file.
func (a *app) writeSynthetic(h *history.History, path string) error {
	w := a.out
	var err error
	if path != "-" {
		if w, err = createHistory(path); err != nil {
			return err
		}
	}
	err = native.WriteHistory(w, strings.HasSuffix(path, ".zst"), h, "synthesized")
	if path != "-" {
		if cerr := w.Close(); err == nil {
			err = cerr
		}
		if st, serr := os.Stat(path); err != nil && serr == nil && st.Mode().IsRegular() {
			os.Remove(path)
		}
	}
	if ext := foreignExtension(path); err == nil && ext != "" {
		a.note([]string{path + " is in the format native, whatever its extension; isohound convert writes others"})
	}
	return withCode(exitIO, errors.Wrap(err, "cannot write"))
}
