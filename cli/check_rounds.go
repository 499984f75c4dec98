package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker"
	"github.com/isohound/isohound/checker/budget"
	"github.com/isohound/isohound/checker/fences"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/file"
	"github.com/isohound/isohound/internal/memory"
	"github.com/isohound/isohound/results"
)

// roundSize is how many transactions a round of Cobra has by default: BlindW and mini-transactions are judged
// fastest so (docs/benchmarks.md).
const roundSize = 10_000

const roundsUsage = "judge in rounds of N transactions, and remove what no later one can depend on: cobra or cobra=N (default N " + "10000" + "). The history needs fences, as run --fence-every records them; only level ser"

const fenceKeyUsage = "with --rounds, the key that fences read and write (default " + history.EpochKey + " if the history has it, else a key that all transactions that access it read and write)"

// parseRounds reads the value of --rounds: the size of a round, 0 for no rounds.
func parseRounds(text string) (int, error) {
	name, size, sized := strings.Cut(text, "=")
	n := roundSize
	if sized {
		var err error
		if n, err = strconv.Atoi(size); err != nil || n < 1 {
			return 0, usage("--rounds %s: the size of a round must be a number from 1", text)
		}
	}
	switch {
	case text == "":
		return 0, nil
	case name != "cobra":
		return 0, usage("--rounds must be cobra or cobra=N, not %s", text)
	}
	return n, nil
}

// suitRounds refuses what cannot be judged in rounds.
func (k *checking) suitRounds(paths []string) error {
	switch {
	case k.rounds == 0 && k.fenceKey != "":
		return usage("--fence-key is for --rounds cobra")
	case k.rounds == 0:
		return nil
	case !slices.Equal(k.levels, []level.Level{level.SER}):
		return usage("--rounds cobra judges level ser only, as the paper does; leave out --rounds for other levels, or record in windows (run --cut-every)")
	case slices.Contains(paths, "-"):
		return usage("--rounds cannot read standard input, since a violation is explained from the file; name a file")
	}
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
			return usage("--rounds cannot read %s, which is not a regular file, since a violation is explained from the file; write it to a file first", path)
		}
	}
	return nil
}

// roundsJudge judges one history in rounds.
type roundsJudge struct {
	app   *app
	k     *checking
	path  string
	tell  func(results.Outcome) error
	file  *file.File
	show  *checkProgress
	limit budget.Limit

	rounds *fences.Rounds
	early  []history.Record // before the key of fences is known
	counts history.Counts
	// names are the sessions, read and judged the times so far.
	names        map[int64]bool
	read, judged time.Duration
	certified    bool
	// why says why the history is not judged in rounds, or not decided, if the rounds do not know it.
	why string
}

// checkRounds judges the history at path in rounds. What rounds do not decide is judged as a whole, and so is the history up to
// a violation, which gives its counterexample and its proof.
func (a *app) checkRounds(path string, k *checking, tell func(results.Outcome) error) error {
	memory.ResetPeak()
	percent := gcPercentSmall
	if sizeOf(path) > smallFile {
		percent = gcPercent
	}
	defer collectAt(percent)()
	j := &roundsJudge{app: a, k: k, path: path, tell: tell, limit: k.memoryLimit(), names: map[int64]bool{}, certified: k.certify}
	state, err := j.run()
	switch {
	case err != nil:
		return err
	case state == fences.Going:
		return j.satisfied()
	case state == fences.Undecided:
		return j.unknown()
	case state == fences.Violated:
		return j.whole(j.counts.Txns, fmt.Sprintf("round %d is violated; this is the verdict on the history up to its end", j.rounds.Stats().Rounds), verdict.Violated)
	case state == fences.Waits:
		return j.whole(0, "transactions wait for values that no transaction before them has, so the history was judged as a whole", verdict.Unknown)
	}
	return j.whole(0, "the history was judged as a whole: "+j.reason(), verdict.Unknown)
}

// reason says why rounds did not decide.
func (j *roundsJudge) reason() string {
	if j.why != "" || j.rounds == nil {
		return j.why
	}
	return j.rounds.Why()
}

var errRoundsTimeout = errors.New("the time for checking ran out")

// run reads and judges one round after another.
func (j *roundsJudge) run() (fences.State, error) {
	ctx, stopWatch := budget.Memory(j.app.work, j.limit)
	defer stopWatch()
	if j.k.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, j.k.timeout, errRoundsTimeout)
		defer cancel()
	}
	j.show = j.app.showChecking(j.path, j.k)
	defer j.show.done()
	f, err := j.app.openHistory(ctx, j.path, j.k.format)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	f.Interleave()
	j.file = f
	j.show.reading(f)
	state, err := j.each(ctx)
	var mem *budget.MemoryError
	if cause := context.Cause(ctx); err != nil && ctx.Err() != nil && (errors.As(cause, &mem) || errors.Is(cause, errRoundsTimeout)) {
		j.why = cause.Error()
		return fences.Undecided, nil
	}
	if errors.As(err, new(*checker.ProofError)) {
		err = withCode(exitInternal, err)
	}
	return state, err
}

// each judges round after round until the end, or until one does not go on.
func (j *roundsJudge) each(ctx context.Context) (fences.State, error) {
	if left := j.file.Header().LeftOut; left != "" {
		j.why = "operations are left out: " + left
		return fences.Whole, nil
	}
	left := j.k.rounds
	var rec history.Record
	for {
		begun := time.Now()
		err := j.file.Next(&rec)
		j.read += time.Since(begun)
		last := err == io.EOF
		switch {
		case err != nil && !last:
			return 0, err
		case !last:
			j.count(&rec)
			if j.rounds == nil {
				copied := rec
				copied.Ops, copied.Versions = slices.Clone(rec.Ops), slices.Clone(rec.Versions)
				j.early = append(j.early, copied)
			} else if state := j.rounds.Add(&rec); state != fences.Going {
				return state, nil
			}
		}
		if left--; left > 0 && !last {
			continue
		}
		left = j.k.rounds
		if state, err := j.round(ctx, last); err != nil || last || state != fences.Going {
			return state, err
		}
	}
}

func (j *roundsJudge) count(rec *history.Record) {
	j.counts.Txns++
	j.counts.Ops += len(rec.Ops)
	switch rec.Status {
	case history.Committed:
		j.counts.Committed++
	case history.Aborted:
		j.counts.Aborted++
	default:
		j.counts.Unknown++
	}
	if !j.names[rec.Session] {
		j.names[rec.Session] = true
		j.counts.Sessions++
	}
}

// round judges a round. If transactions wait for long, it judges what there is as a whole.
func (j *roundsJudge) round(ctx context.Context, last bool) (fences.State, error) {
	if j.rounds == nil {
		key, err := j.fenceKey()
		if err != nil {
			return 0, err
		}
		j.rounds = fences.New(j.file.Symbols(), key, j.judge)
		j.rounds.Idle, j.rounds.Patience = 3*j.k.rounds+roundSize, 3*j.k.rounds+roundSize
		for i := range j.early {
			if state := j.rounds.Add(&j.early[i]); state != fences.Going {
				return state, nil
			}
		}
		j.early = nil
	}
	j.show.stage(fmt.Sprintf("round %d", j.rounds.Stats().Rounds+1))
	begun := time.Now()
	state, err := j.rounds.Round(ctx, last)
	j.judged += time.Since(begun)
	if err != nil || state != fences.Waits || last {
		return state, err
	}
	h, err := j.prefix(ctx)
	if err != nil {
		return 0, err
	}
	r, err := checker.Check(ctx, h, level.SER, checker.Options{VerdictOnly: true})
	if err != nil {
		return 0, err
	}
	if r.Verdict == verdict.Violated {
		return fences.Violated, nil
	}
	return fences.Going, nil
}

// prefix reads what was read so far once more.
func (j *roundsJudge) prefix(ctx context.Context) (*history.History, error) {
	f, err := j.app.openHistory(ctx, j.path, j.k.format)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	f.Interleave()
	f.Limit(j.counts.Txns)
	return history.Load(ctx, f)
}

// judge judges the history of a round.
func (j *roundsJudge) judge(ctx context.Context, h *history.History) (verdict.Verdict, string, error) {
	r, err := checker.Check(ctx, h, level.SER, checker.Options{Engine: j.k.engine, Pipeline: j.k.pipeline, Accel: j.k.accel, Certify: j.k.certify, VerdictOnly: true})
	if err != nil {
		return verdict.Unknown, "", err
	}
	j.certified = j.certified && r.Certified
	return r.Verdict, r.Reason, nil
}

// fenceKey returns the key of fences.
func (j *roundsJudge) fenceKey() (history.Key, error) {
	sym := j.file.Symbols()
	type use struct{ all, both int }
	uses := map[history.Key]*use{}
	for i := range j.early {
		seen := map[history.Key]history.OpKind{}
		for _, op := range j.early[i].Ops {
			if j.k.fenceKey != "" && sym.KeyName(op.Key) == j.k.fenceKey {
				return op.Key, nil
			}
			seen[op.Key] |= op.Kind
		}
		if j.early[i].Status != history.Committed {
			continue
		}
		for k, kinds := range seen {
			u := uses[k]
			if u == nil {
				u = &use{}
				uses[k] = u
			}
			if u.all++; kinds == history.Read|history.Write {
				u.both++
			}
		}
	}
	best, found := history.Key(0), false
	for k, u := range uses {
		switch {
		case sym.KeyName(k) == history.EpochKey:
			return k, nil
		case u.all == u.both && u.all > 1 && (!found || u.all > uses[best].all || u.all == uses[best].all && k < best):
			best, found = k, true
		}
	}
	switch {
	case len(uses) == 0:
		return 0, nil // nothing committed
	case j.k.fenceKey != "":
		return 0, withCode(exitData, errors.Errorf("%s: no transaction of the first round accesses the key %s; name the key that fences read and write, or take larger rounds", j.path, j.k.fenceKey))
	case !found:
		return 0, withCode(exitData, errors.Errorf("%s: the history has no fences, which --rounds needs: record it with run --fence-every 20, name the key with --fence-key, take larger rounds, or leave out --rounds", j.path))
	}
	return best, nil
}

// satisfied reports that all rounds are satisfied.
func (j *roundsJudge) satisfied() error {
	if j.counts.Committed == 0 {
		return j.whole(0, "no transaction committed", verdict.Unknown)
	}
	return j.report(verdict.Satisfied, "")
}

func (j *roundsJudge) unknown() error {
	if j.rounds == nil {
		return j.report(verdict.Unknown, j.reason())
	}
	return j.report(verdict.Unknown, fmt.Sprintf("round %d was not decided: %s", j.rounds.Stats().Rounds, j.reason()))
}

// report tells the outcome of the rounds.
func (j *roundsJudge) report(v verdict.Verdict, why string) error {
	c := j.counts
	o := results.Outcome{Path: j.path, Level: level.SER.String(), Verdict: v, Reason: why, Engine: "rounds", Anomalies: []results.Anomaly{}, Stages: map[string]float64{},
		Sessions: c.Sessions, Txns: c.Txns, Committed: c.Committed, Aborted: c.Aborted, UnknownOutcome: c.Unknown, Ops: c.Ops,
		ParseSeconds: j.read.Seconds(), CheckSeconds: j.judged.Seconds(), PeakRSSMB: float64(memory.Peak()) / 1e6, Notes: j.file.Notes(), Seed: j.file.Header().Seed}
	j.sum(&o)
	j.show.pause()
	j.app.found(j.k.codeOf(v))
	return j.tell(o)
}

func (j *roundsJudge) sum(o *results.Outcome) {
	if j.rounds != nil {
		o.Rounds = &results.Rounds{Size: j.k.rounds, Stats: j.rounds.Stats(), Certified: j.certified && o.Verdict == verdict.Satisfied}
	}
}

// whole judges the first transactions, or all if first is 0, as one history. note says why. expected is the verdict that it must have,
// or unknown if any may be right.
func (j *roundsJudge) whole(first int, note string, expected verdict.Verdict) error {
	k := *j.k
	k.first = first
	return j.app.judge(j.path, &k, func(_ *history.History, o *results.Outcome) {
		o.Notes = append(slices.Clone(o.Notes), note)
		j.sum(o)
		if expected != verdict.Violated {
			return
		}
		switch {
		case o.Verdict == verdict.Unknown && !j.k.certify:
			o.Verdict, o.Reason = verdict.Violated, "a round is violated; that is not explained: "+o.Reason
		case o.Verdict == verdict.Satisfied:
			o.Verdict, o.Reason, o.Certified = verdict.Unknown, "the rounds say violated and the whole says satisfied; this is a bug in isohound, please report it with the history", false
			j.app.found(exitInternal)
		}
	}, j.tell)
}
