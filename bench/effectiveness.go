package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/verdict"
)

// Effectiveness is Figure 13 of the MTC paper: how many trials of each workload find a defect in
// the same time, for different lengths of transactions. A trial is a run with a fixed number of
// transactions and a fresh seed. It succeeds if the check finds a violation.
type Effectiveness struct {
	Level string
	// Budget is the time for each point; a trial that has not ended by then does not count.
	// MaxTrials bounds the trials of a point, 0 is no bound.
	Budget    time.Duration
	MaxTrials int
	// Txns is the number of transactions of a trial, over all sessions.
	Txns, Sessions, Keys int
	Dist                 string
	Sizes                []int // maximum operations of a transaction
	Contestants          []EffectContestant
	Points               []EffectPoint
}

// EffectContestant is a workload with transactions of different lengths.
type EffectContestant struct {
	Name string
	// Length is the parameter that bounds the operations of a transaction, "" if the maximum is
	// always MiniLength.
	Length string
	// Params are further parameters.
	Params []string
}

// MiniLength is the maximum number of operations of a mini-transaction (MTC paper, Definition
// 8).
const MiniLength = 4

// EffectContestants are the workloads of section V-F2 of the MTC paper: mini, list append, and
// read-write registers.
var EffectContestants = []EffectContestant{
	{"mini", "", []string{"rollback=0"}}, {"append", "length", []string{"rollback=0"}}, {"register", "max-length", nil},
}

// EffectPoint is the result of a workload with one length of transactions.
type EffectPoint struct {
	Contestant string `json:"contestant"`
	MaxTxnLen  int    `json:"max_txn_len"`
	// Trials counts the trials that ended in time, Found those that found the defect, and
	// Undecided those without a decided verdict.
	Trials    int `json:"trials"`
	Found     int `json:"found"`
	Undecided int `json:"undecided"`
	// Committed is the average number of committed transactions in a trial. The seconds are
	// averages too; Wall includes the start and the end of the process.
	Committed       float64 `json:"committed"`
	AbortRate       float64 `json:"abort_rate"`
	GenerateSeconds float64 `json:"generate_seconds"`
	CheckSeconds    float64 `json:"check_seconds"`
	WallSeconds     float64 `json:"wall_seconds"`
	// Anomalies is how many trials had an anomaly, by its first name.
	Anomalies map[string]int `json:"anomalies"`
	FirstSeed int64          `json:"first_seed"`
}

// untilCommitted is how often a transaction is retried. It is large, so that nearly every trial
// commits the same number.
const untilCommitted = 1000

var errBudget = errors.New("the time of this point is over")

// Effectiveness measures every point. Measurements before an error are kept.
func (r *Runner) Effectiveness(ctx context.Context, e *Effectiveness) error {
	dir, err := newFolder()
	if err != nil {
		return err
	}
	defer dir.remove()
	for _, k := range e.Contestants {
		sizes := e.Sizes
		if k.Length == "" {
			sizes = []int{MiniLength}
		}
		for _, size := range sizes {
			p, err := r.point(ctx, e, &k, size, dir.path)
			if err != nil {
				return err
			}
			e.Points = append(e.Points, *p)
			if r.Progress != nil && p.Trials > 0 {
				r.Progress(fmt.Sprintf("%s, up to %d operations: %d of %d trials found it, %.2f s to generate and %.3f s to check each",
					k.Name, size, p.Found, p.Trials, p.GenerateSeconds, p.CheckSeconds))
			}
		}
	}
	return nil
}

// point repeats trials until their time is over.
func (r *Runner) point(ctx context.Context, e *Effectiveness, k *EffectContestant, size int, dir string) (*EffectPoint, error) {
	p := &EffectPoint{Contestant: k.Name, MaxTxnLen: size, Anomalies: map[string]int{}, FirstSeed: r.Seed}
	limited, cancel := context.WithTimeoutCause(ctx, e.Budget, errBudget)
	defer cancel()
	for n := 0; limited.Err() == nil && (e.MaxTrials == 0 || n < e.MaxTrials); n++ {
		out := filepath.Join(dir, fmt.Sprintf("%s-%d-%d", k.Name, size, n))
		begun := time.Now()
		run, err := r.run(limited, out, k.Name, e.arguments(k, size, r.Seed+int64(n), r.Timeout))
		if errors.Is(err, errBudget) {
			break
		}
		if err != nil {
			return nil, err
		}
		st, o := &run.Stats, &run.Outcomes[0]
		p.Trials++
		p.WallSeconds += time.Since(begun).Seconds()
		p.Committed += float64(st.Committed)
		p.AbortRate += st.AbortRate
		p.GenerateSeconds += st.Seconds
		p.CheckSeconds += o.ParseSeconds + o.CheckSeconds
		switch o.Verdict {
		case verdict.Violated:
			p.Found++
			seen := map[string]bool{}
			for _, a := range o.Anomalies {
				if !seen[a.Name] {
					seen[a.Name] = true
					p.Anomalies[a.Name]++
				}
			}
		case verdict.Unknown, verdict.Vacuous:
			p.Undecided++
		}
	}
	if n := float64(p.Trials); n > 0 {
		for _, x := range []*float64{&p.WallSeconds, &p.Committed, &p.AbortRate, &p.GenerateSeconds, &p.CheckSeconds} {
			*x /= n
		}
	}
	return p, nil
}

func (e *Effectiveness) arguments(k *EffectContestant, size int, seed int64, timeout time.Duration) []string {
	args := []string{"--workload", k.Name, "--retries", strconv.Itoa(untilCommitted), "--sessions", strconv.Itoa(e.Sessions), "--txns", strconv.Itoa(max(1, e.Txns/e.Sessions)),
		"--keys", strconv.Itoa(e.Keys), "--dist", e.Dist, "--seed", strconv.FormatInt(seed, 10), "--check", e.Level, "--check-timeout", timeout.String()}
	for _, p := range k.Params {
		args = append(args, "-p", p)
	}
	if k.Length != "" {
		args = append(args, "-p", k.Length+"="+strconv.Itoa(size))
	}
	return args
}

// Empty lists the points of which no trial ended in time: they say nothing.
func (e *Effectiveness) Empty() []string {
	var out []string
	for _, p := range e.Points {
		if p.Trials == 0 {
			out = append(out, fmt.Sprintf("%s, up to %d operations: no trial ended within %s", p.Contestant, p.MaxTxnLen, e.Budget))
		}
	}
	return out
}

// Undecided reports whether a trial was not decided.
func (e *Effectiveness) Undecided() bool {
	for _, p := range e.Points {
		if p.Undecided > 0 {
			return true
		}
	}
	return false
}
