//go:build !front

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cheggaaa/pb/v3"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/faults"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/native"
	"github.com/isohound/isohound/results"
)

// recording is the result of a generation.
type recording struct {
	server, promises, ended string
	stats                   generator.Stats
	invariants              []generator.InvariantResult
	// loses is the setting because of which the server, which was away for a time, may have lost commits, or "".
	loses string
	// err is what ended it early; the history before that is complete.
	err error
}

// tell says in the run's configuration and results what the recording was.
func (r *recording) tell(run *results.Run) {
	c := &run.Config
	c.Ended, c.Cause, run.Stats, run.Invariants = r.ended, r.cause(), r.stats, r.invariants
	if c.Loses == "" && r.loses != "" {
		c.Loses, c.Away = r.loses, true
	}
}

// cause is what ended it early, in one line.
func (r *recording) cause() string {
	if r.err == nil {
		return ""
	}
	return strings.Join(strings.Fields(r.err.Error()), " ")
}

// create creates the run's schema and its initial keys.
func (a *app) create(s *settings, db drivers.DB) error {
	err := db.Create(a.stop, s.work.Initial())
	if t, ok := s.work.(generator.Tables); ok && err == nil {
		err = db.(drivers.TableDB).CreateTables(a.stop, t.Schema(), t.Rows())
	}
	if err == nil {
		err = a.join(s, db)
	}
	a.own(db)
	if err != nil && a.stop.Err() != nil {
		err = errInterrupted
	}
	return err
}

// own remembers what the run has created. On a private server it ends with the server, so that nobody needs to know.
func (a *app) own(db drivers.DB) {
	if o, ok := db.(drivers.Owner); ok && a.server == nil {
		if what := o.Owns(); what != "" {
			a.owns.Store(&what)
		}
	}
}

// promises returns what the requested isolation promises on this server for transactions of the
// workload's kind, in the form of drivers.Isolation.Promises.
func promises(s *settings, db drivers.DB) string {
	if s.lightweight {
		if c, ok := db.(drivers.LightweightClaimer); ok {
			return c.Lightweight()
		}
		return s.level.Lightweight
	}
	if c, ok := db.(drivers.Claimer); ok {
		return c.Promises()
	}
	if s.scans && s.level.Scans != "" {
		return s.level.Scans
	}
	return s.level.Promises
}

// loses returns the setting because of which the kills of the run may lose commits, or "".
func loses(s *settings, db drivers.DB) string {
	l, ok := db.(drivers.Loser)
	if !ok || !slices.ContainsFunc(s.events, func(e faults.Event) bool { return e.Action == faults.Kill && !e.Standby }) {
		return ""
	}
	return l.Loses()
}

// record runs the workload on db, whose schema exists, and writes the history to w.
func (a *app) record(s *settings, db drivers.DB, w io.Writer, compressed bool) (*recording, error) {
	log, err := native.NewLog(w, compressed)
	if err != nil {
		return nil, err
	}
	rec, left, err := s.recorder(log, db)
	if err != nil {
		return nil, &generator.LogError{Err: err}
	}
	if s.resume != nil {
		a.own(db)
	}
	stop := a.stop
	if s.next != nil {
		stop = s.stop
	}
	timeout := s.callTimeout
	if s.info.Embedded {
		timeout = 0 // calls to an embedded database do not block on a network, and end by themselves
	}
	started, lift := func() {}, func() {}
	if a.faults != nil {
		started, lift = a.faults.Play, a.faults.Lift
	}
	play := started
	started = func() {
		now := time.Now()
		a.begun.Store(&now)
		play()
	}
	runner := generator.NewRunner(generator.Config{
		Sessions: s.sessions, Txns: s.txns, Duration: s.duration, Rate: s.rate,
		Retries: s.retries, CallTimeout: timeout, Patience: s.patience, Seed: s.planSeed(), Note: a.outageNote(), Panicked: a.panicked,
		Started: started, Ended: lift, FinalRead: s.finalRead, FenceEvery: s.fenceEvery, Lightweight: s.lightweight, Cuts: s.cuts, Left: left, Fleet: s.fleet,
	}, db, s.work, rec, a.others...)
	a.metrics.watch(runner.Meter(), s.lag)
	done := a.showGenerating(s, runner)
	out := &recording{server: db.Server(), promises: promises(s, db)}
	out.ended, out.err = runner.Run(a.ctx, stop)
	lift()
	done()
	if l, ok := db.(drivers.Loser); ok && runner.Away() {
		out.loses = l.Loses()
	}
	out.stats = runner.Meter().Stats()
	out.stats.FinalRead, out.stats.Cuts = runner.FinalRead(), runner.CutStats()
	if a.faults != nil {
		for _, w := range a.faults.Played() {
			out.stats.Faults = append(out.stats.Faults, generator.Fault{From: w.From.Seconds(), To: w.To.Seconds(), What: w.Event.Effect()})
		}
	}
	if out.err == nil && a.ctx.Err() == nil {
		done := a.showInvariants(s)
		out.invariants = generator.CheckInvariants(a.ctx, db, s.work)
		done()
	}
	var le *generator.LogError
	if out.err != nil && !errors.As(out.err, &le) {
		out.err = &drivers.UnreachableError{Driver: s.driver, Err: out.err}
	}
	return out, nil
}

// planSeed is the seed of the sessions. A process that goes on with a run makes other transactions.
func (s *settings) planSeed() int64 {
	if s.resume == nil {
		return s.seed
	}
	return s.seed + int64(s.resume.conf.Resumed)<<32
}

func (s *settings) header(db drivers.DB) history.Header {
	params := maps.Clone(map[string]string(s.values))
	for name, value := range map[string]string{
		"sessions": strconv.Itoa(s.sessions), "txns": strconv.Itoa(s.txns), "keys": strconv.FormatInt(s.keys, 10),
		"dist": s.dist, "skew": strconv.FormatFloat(s.skew, 'g', -1, 64), "rate": strconv.FormatFloat(s.rate, 'g', -1, 64),
		"duration": s.duration.String(), "retries": strconv.Itoa(s.retries), "call-timeout": s.callTimeout.String(),
	} {
		params["--"+name] = value
	}
	if len(s.events) > 0 {
		params["--fault"] = s.script()
	}
	if s.server != "" {
		params["--server"] = s.server
	}
	if s.claims != "auto" {
		params["--claims"] = s.claims
	}
	return history.Header{Seed: s.seed, Workload: s.workload, Params: params, Driver: s.driver, Server: db.Server(), Isolation: s.level.Name, Nodes: s.nodes(), Positions: s.positions(db), NoCommonClock: s.fleet != nil}
}

// closeDB drops the run's schema. If that fails it only prints a line, and nothing on a private server, which ends with
// all that is in it.
func (a *app) closeDB(db drivers.DB) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, other := range a.others { // for these, Close drops nothing
		_ = other.Close(ctx)
	}
	a.others = nil
	if err := db.Close(ctx); err != nil && a.server == nil {
		fmt.Fprintln(a.msg, "isohound:", err)
	}
	if a.faults != nil {
		a.faults.Close()
	}
	a.stopServer()
	a.owns.Store(nil)
}

// kept is a database whose schema stays on the server: a later process can go on with it.
type kept struct{ drivers.DB }

func (kept) Close(context.Context) error { return nil }

// notes returns the notes of the servers, each once.
func (a *app) notes(db drivers.DB) []string {
	var all []string
	for _, db := range append([]drivers.DB{db}, a.others...) {
		n, ok := db.(drivers.Noter)
		if !ok {
			continue
		}
		for _, note := range n.Notes() {
			if !slices.Contains(all, note) {
				all = append(all, note)
			}
		}
	}
	return all
}

// lateNotes prints the notes that there are only after the run, and keeps them.
func (a *app) lateNotes(db drivers.DB, conf *results.Config) {
	for _, note := range a.notes(db) {
		if !slices.Contains(conf.Notes, note) {
			fmt.Fprintf(a.msg, "note: %s\n", note)
			conf.Notes = append(conf.Notes, note)
		}
	}
}

func (a *app) announce(s *settings, db drivers.DB) {
	for _, note := range a.notes(db) {
		fmt.Fprintf(a.msg, "note: %s\n", note)
	}
	if reason := s.idle(); reason != "" {
		fmt.Fprintf(a.msg, "note: this run will test nothing, whatever its verdict: %s\n", reason)
	}
	if s.quiet {
		return
	}
	what := fmt.Sprintf("%d sessions", s.sessions)
	if s.txns > 0 {
		what += fmt.Sprintf(" of %d transactions", s.txns)
	}
	if s.duration > 0 {
		what += " for " + s.duration.String()
	}
	if len(s.dsns) > 1 {
		what += fmt.Sprintf(" on %d endpoints", len(s.dsns))
	}
	if !s.ownKeys {
		what += fmt.Sprintf(", %d keys", s.keys)
	}
	fmt.Fprintf(a.msg, "%s, %s: %s, %s, seed %d\n", db.Server(), s.level.Name, s.workload, what, s.seed)
}

// idle returns why a run with these settings cannot test anything, or "".
func (s *settings) idle() string {
	if s.sessions == 1 {
		return "with one session no two transactions are concurrent"
	}
	if i, ok := s.work.(generator.Idle); ok {
		return i.Idle()
	}
	return ""
}

// summarize prints what a generation did. Invariants that do not hold or could not be checked are printed even with --quiet.
func (a *app) summarize(s *settings, r *recording) {
	held := 0
	promise := results.Config{Promises: r.promises}
	for _, i := range r.invariants {
		switch {
		case i.Problem != "" || i.Error != "":
			fmt.Fprintf(a.msg, "invariant %s %s (%s)\n", i.Name, promise.InvariantWords(i), i.Text)
		default:
			held++
		}
	}
	if f := r.stats.FinalRead; f != nil && f.Problem != "" {
		fmt.Fprintf(a.msg, "note: the final read is not complete (%d of %d keys and rows): %s\n", f.Places, f.Left+f.Places, f.Problem)
	}
	if c := r.stats.Cuts; c != nil && c.GivenUp > 0 {
		fmt.Fprintf(a.msg, "note: %s given up, so that a window went on: %s\n", plural(c.GivenUp, "cut"), c.Problem)
	}
	if s.quiet {
		return
	}
	if held > 0 {
		fmt.Fprintf(a.msg, "%d of %d invariants of the workload hold\n", held, len(r.invariants))
	}
	st := &r.stats
	fmt.Fprintf(a.msg, "recorded %d committed, %d aborted (%.1f%%) and %d unknown transactions in %.1f s: %.0f commits/s, latency %.2f ms median, %.2f ms 99%%\n",
		st.Committed, st.Aborted, 100*st.AbortRate, st.Unknown, st.Seconds, st.CommitsPerSec, st.LatencyMS.P50, st.LatencyMS.P99)
	if c := st.Cuts; c != nil {
		fmt.Fprintf(a.msg, "%s; the sessions stood still for %.2f s (%.1f%%), at most %.2f s at a time\n", plural(c.Made+1, "window"), c.Seconds, 100*c.Seconds/max(st.Seconds, 1e-9), c.Longest)
	}
	if f := st.FinalRead; f != nil && f.Problem == "" && f.Places > 0 {
		fmt.Fprintf(a.msg, "final read: %d keys and rows in %.2f s\n", f.Places, f.Seconds)
	}
	if r.ended != generator.Complete && r.ended != generator.DurationReached {
		fmt.Fprintf(a.msg, "the run ended early: %s\n", r.ended)
	}
}

// silent is how long nothing is answered before the progress says so.
const silent = 2 * time.Second

// currentRate is a rate over about the last second.
type currentRate struct {
	at    time.Time
	count int64
	rate  float64
}

// of returns the rate of a counter that has reached count now.
func (r *currentRate) of(count int64, now time.Time) float64 {
	if r.at.IsZero() {
		r.at, r.count = now, count
	}
	if passed := now.Sub(r.at); passed >= time.Second {
		r.rate = float64(count-r.count) / passed.Seconds()
		r.at, r.count = now, count
	}
	return r.rate
}

// outageNote returns a function that prints a note about the run while it goes on.
func (a *app) outageNote() func(string) {
	return func(text string) {
		at := "at the start"
		if begun := a.begun.Load(); begun != nil {
			at = fmt.Sprintf("at %.1f s", time.Since(*begun).Seconds())
		}
		fmt.Fprintf(a.msg, "note: %s: %s\n", at, strings.Join(strings.Fields(text), " "))
	}
}

// showInvariants says that invariants are being checked, if that takes long.
func (a *app) showInvariants(s *settings) (done func()) {
	if s.quiet || s.noProgress {
		return func() {}
	}
	begun := time.Now()
	return every(lineEvery, func() {
		fmt.Fprintf(a.msg, "%4.0f s: checking the invariants of the workload\n", time.Since(begun).Seconds())
	})
}

// showGenerating shows the progress of a run.
func (a *app) showGenerating(s *settings, r *generator.Runner) (done func()) {
	if s.quiet || s.noProgress {
		return func() {}
	}
	begun := time.Now()
	rate := currentRate{at: begun}
	total := int64(s.sessions) * int64(s.txns)
	finished := func() (int64, string) {
		c := r.Meter().Counts()
		text := fmt.Sprintf("%d committed, %d aborted, %d unknown, %.0f commits/s", c.Committed, c.Aborted, c.Unknown, rate.of(c.Committed, time.Now()))
		if s.lag != nil {
			text += "; " + s.lag.text()
		}
		if silence := r.Silence(); silence >= silent {
			text += fmt.Sprintf(", no answer for %.0f s", silence.Seconds())
		}
		return c.Finished, text
	}
	if !isTerminal(a.msg) {
		return every(lineEvery, func() {
			_, text := finished()
			fmt.Fprintf(a.msg, "%4.0f s: %s\n", time.Since(begun).Seconds(), text)
		})
	}
	// The progress of a run with a duration is measured in milliseconds.
	byTime := total == 0 || s.duration > 0 && s.txns == 0
	template := pb.ProgressBarTemplate(`{{ "generating" }} {{ bar . }} {{ percent . }} {{ string . "text" }}`)
	if byTime {
		total = s.duration.Milliseconds()
	}
	bar := template.New(0).SetTotal(total).SetWriter(a.msg).SetRefreshRate(100 * time.Millisecond)
	bar.Start()
	stop := every(100*time.Millisecond, func() {
		n, text := finished()
		if byTime {
			n = min(time.Since(begun).Milliseconds(), total)
		}
		bar.SetCurrent(n).Set("text", text)
	})
	return func() {
		stop()
		bar.Set(pb.CleanOnFinish, true).Finish()
	}
}
