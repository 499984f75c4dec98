//go:build !front

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pkg/errors"
	"github.com/spf13/cobra"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/nearness"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/hunt"
	"github.com/isohound/isohound/internal/replay"
	"github.com/isohound/isohound/workloads"
)

// defect is one of sim's, with the share of the occasions at which it shows in sim's own tests.
type defect struct {
	name, isolation, off, more string
	rate                       float64
	at                         level.Level
}

const (
	benchSSI = "serializable snapshot isolation"
	benchSI  = "snapshot isolation"
)

// defects are those of mini-transactions (drivers/sim, TestAnomalies).
var defects = []defect{
	{"thin-air read", benchSSI, "checksums", "", 0.1, level.SER},
	{"aborted read", benchSSI, "undo", "", 0.1, level.SER},
	{"future read", benchSSI, "program-order", "", 0.1, level.SER},
	{"not my last write", benchSSI, "last-own-write", "", 0.5, level.SER},
	{"not my own write", benchSSI, "own-writes", "", 0.5, level.SER},
	{"intermediate read", benchSSI, "committed-reads", "", 1, level.SER},
	{"non-repeatable reads", benchSSI, "stable-snapshot", "", 1, level.SER},
	{"session guarantee violation", benchSSI, "session-order", "", 0.3, level.SER},
	{"non-monotonic read", benchSSI, "monotonic-reads", "", 0.5, level.SER},
	{"fractured read", benchSSI, "atomic-visibility", "", 1, level.SER},
	{"causality violation", benchSI + ", replicas", "causality", "&lag=16", 1, level.SI},
	{"long fork", benchSI + ", replicas", "replication-order", "&lag=16", 1, level.SI},
	{"lost update", benchSI, "first-committer-wins", "", 0.1, level.SI},
	{"write skew", benchSSI, "dangerous-structure", "", 1, level.SER},
	{"lost write", benchSI, "durability", "", 0.1, level.SI},
	{"read locks released", "serializable", "long-read-locks", "", 0.5, level.SER},
	{"stale read", benchSSI, "fresh-replica", "", 0.5, level.SSER},
}

// huntPlan is what the choosers draw from: wide ranges, as somebody writes them who does not know the defect.
const huntPlan = `targets:
  - {name: sim, dsn: %q, isolations: [%q], levels: [%s]}
workloads:
  - workload: mini
    sessions: 2..32
    keys: 2..2000
    dist: [uniform, zipfian, exponential]
    params: {pairs: [0%%, 50%%, 100%%], shapes: [all, "RxWx", "RxWx,RxRy", "Rx:2,RxWxWx:1"]}
budget: {time: 10000h}
repeats: 0
`

func (a *app) benchHuntCommand() *cobra.Command {
	o := &huntBench{}
	c := &cobra.Command{
		Use:   "hunt",
		Short: "Measure how soon the choosers of hunts find planted defects",
		Long: `bench hunt runs mini-transactions on sim with each planted defect, whose rate is divided
by --rarer, with parameters drawn from wide ranges by each chooser of plans: bandit, random
and grid. Lists are shuffled by the seed, so that no chooser gains by the order in which they
were written. It counts transactions until the first violation, so that the machine's load has
little effect, and prints the median and the mean of --seeds trials. A trial ends after --limit
transactions, which the mean has for one that found nothing.`,
		Example: "  isohound bench hunt --seeds 15 --rarer 100",
		Args:    exactly(0, "no argument"),
		RunE:    func(*cobra.Command, []string) error { return a.benchHunt(o) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.IntVar(&o.seeds, "seeds", 15, "trials of each chooser with each defect")
	f.Int64Var(&o.seed, "seed", 1, "the first seed")
	f.Float64Var(&o.rarer, "rarer", 100, "factor by which the defects are rarer than in sim's tests")
	f.IntVar(&o.limit, "limit", 60_000, "transactions after which a trial ends")
	f.IntVar(&o.txns, "txns", 2000, "transactions of a run")
	f.StringVar(&o.only, "only", "", "only the defects of the protections with these names, separated by commas")
	f.StringVar(&o.choosers, "choosers", strings.Join(hunt.Choosers(), ","), "choosers to measure, separated by commas")
	f.BoolVar(&o.asJSON, "json", false, "print JSON, one line for each trial")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print results only")
	return c
}

type huntBench struct {
	seeds, limit, txns int
	seed               int64
	rarer              float64
	only, choosers     string
	asJSON, quiet      bool
}

func (a *app) benchHunt(o *huntBench) error {
	if o.seeds < 1 || o.limit < 1 || o.txns < 100 || !(o.rarer >= 1 && o.rarer <= 1e6) {
		return usage("--seeds and --limit must be at least 1, --txns at least 100, and --rarer from 1 to 1000000")
	}
	list := defects
	if o.only != "" {
		list = nil
		names := strings.Split(o.only, ",")
		if err := once("--only", names); err != nil {
			return err
		}
		for _, name := range names {
			found := false
			for _, d := range defects {
				if d.off == strings.TrimSpace(name) {
					list, found = append(list, d), true
				}
			}
			if !found {
				return usage("--only: there is no defect %q", name)
			}
		}
	}
	choosers := strings.Split(o.choosers, ",")
	for n, name := range choosers {
		if choosers[n] = strings.TrimSpace(name); !slices.Contains(hunt.Choosers(), choosers[n]) {
			return usage("--choosers: there is no chooser %q; there are %s", choosers[n], strings.Join(hunt.Choosers(), ", "))
		}
	}
	if err := once("--choosers", choosers); err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	if !o.asJSON {
		fmt.Fprint(w, "defect\t"+strings.Join(choosers, "\t")+"\t(transactions until found: median, mean; trials that found it)\n")
	}
	sums := map[string]int{}
	for _, d := range list {
		by := map[string][]hunt.Tried{}
		for n := range o.seeds {
			for _, chooser := range choosers {
				t, err := a.trial(o, d, chooser, o.seed+int64(n))
				if err != nil {
					return err
				}
				by[chooser] = append(by[chooser], t)
				if sums[chooser] += t.Txns; o.asJSON {
					line, err := json.Marshal(struct {
						Defect string `json:"defect"`
						hunt.Tried
					}{d.off, t})
					if err != nil {
						return errors.WithStack(err)
					}
					if _, err := fmt.Fprintf(a.out, "%s\n", line); err != nil {
						return withCode(exitIO, err)
					}
				}
			}
		}
		if o.asJSON {
			continue
		}
		fmt.Fprintf(w, "%s", d.name)
		for _, chooser := range choosers {
			found, sum := 0, 0
			for _, t := range by[chooser] {
				if sum += t.Txns; t.Found {
					found++
				}
			}
			text := "more"
			if txns, ok := hunt.Median(by[chooser]); ok {
				text = strconv.Itoa(txns)
			}
			fmt.Fprintf(w, "\t%s, %d (%d/%d)", text, sum/o.seeds, found, o.seeds)
		}
		fmt.Fprintln(w)
		if !o.quiet {
			fmt.Fprintf(a.msg, "%s: done\n", d.name)
		}
	}
	if o.asJSON {
		return nil
	}
	fmt.Fprint(w, "transactions of all trials")
	for _, chooser := range choosers {
		fmt.Fprintf(w, "\t%d", sums[chooser])
	}
	fmt.Fprintln(w)
	return withCode(exitIO, w.Flush())
}

// trial hunts one defect by one chooser.
func (a *app) trial(o *huntBench, d defect, chooser string, seed int64) (hunt.Tried, error) {
	dsn := fmt.Sprintf("sim://?off=%s&rate=%g%s", url.QueryEscape(d.off), d.rate/o.rarer, d.more)
	plan, err := hunt.Read("plan", fmt.Appendf(nil, huntPlan, dsn, d.isolation, d.at))
	if err != nil {
		return hunt.Tried{}, err
	}
	cells, _, err := plan.Cells(func([]string) error { return nil })
	if err != nil {
		return hunt.Tried{}, err
	}
	shuffle(plan, seed)
	return hunt.Trial(a.work, plan, cells, chooser, seed, o.limit, func(c *hunt.Cell, s hunt.Settings, share float64) (hunt.Try, error) {
		return tryOnce(a.work, c, s, fmt.Sprintf("%s&seed=%d", dsn, s.Seed), d.at, int(share*float64(o.txns)))
	})
}

// shuffle puts the lists of a plan in an order that depends on the seed only.
func shuffle(p *hunt.Plan, seed int64) {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	for _, w := range p.Workloads {
		lists := [][]string{w.Dist.Of}
		for _, name := range sortedKeys(w.Params) {
			lists = append(lists, w.Params[name].Of)
		}
		for _, list := range lists {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	}
}

// tryOnce records one run in this process, and judges it at one level.
func tryOnce(ctx context.Context, c *hunt.Cell, s hunt.Settings, dsn string, at level.Level, txns int) (hunt.Try, error) {
	sim, err := drivers.Find("sim")
	if err != nil {
		return hunt.Try{}, err
	}
	sessions, err := strconv.Atoi(s.Flags["sessions"])
	if err != nil {
		return hunt.Try{}, errors.WithStack(err)
	}
	keys, err := strconv.ParseInt(s.Flags["keys"], 10, 64)
	if err != nil {
		return hunt.Try{}, errors.WithStack(err)
	}
	var params []string
	for _, name := range sortedKeys(s.Params) {
		params = append(params, name+"="+s.Params[name])
	}
	w, err := replay.New(c.Workload.Workload, workloads.Common{Sessions: sessions, Keys: keys, Dist: s.Flags["dist"], Seed: s.Seed}, params...)
	if err != nil {
		return hunt.Try{}, err
	}
	raw, err := replay.Record(sim, drivers.Config{Isolation: c.Isolation, DSN: dsn}, w, generator.Config{Sessions: sessions, Txns: max(1, txns/sessions), Seed: s.Seed})
	if err != nil {
		return hunt.Try{}, err
	}
	h, err := replay.Load(raw)
	if err != nil {
		return hunt.Try{}, err
	}
	r, err := checker.Check(ctx, h, at, checker.Options{VerdictOnly: true})
	if err != nil {
		return hunt.Try{}, err
	}
	return hunt.Try{Near: nearness.Measure(h), Txns: len(h.Txns), Violated: r.Verdict == verdict.Violated}, nil
}
