package checker

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/polygraph"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// assumed says what a verdict on h rests on if the claimed order of versions, and the snapshots, are assumed. A verdict that
// scans have settled may have a witness with others. It is then unknown.
func assumed(ctx context.Context, h *history.History, r *verdict.Result) {
	r.Assumes = placedVersions(h)
	if r.Level.Snapshot() {
		r.Assumes.Snapshots = assumedSnapshots(h)
	}
	if !h.OrderAssumed() && r.Assumes.Snapshots == 0 {
		return
	}
	switch r.Verdict {
	case verdict.Violated:
		r.Assumes.Rests = rests(ctx, h, r, func(part *history.History) *history.History { return part.WithClaims(nil) })
		r.Assumes.OnSnapshots = r.Assumes.Rests && r.Assumes.Snapshots > 0 && rests(ctx, h, r, (*history.History).OrderOnly)
	case verdict.Satisfied:
		if r.Witness != nil && certify.Agrees(h, r.Level, r.Witness) != nil {
			r.Verdict, r.Witness = verdict.Unknown, nil
			r.Reason = "an execution was found that explains all reads and scans, but not in the order of versions, or with the snapshots, that the database claims"
		}
	}
}

// assumedSnapshots counts the transactions whose snapshot is assumed.
func assumedSnapshots(h *history.History) int {
	count := 0
	for i := range h.Txns {
		if _, told := h.SnapshotAt(i); h.Txns[i].Status != history.Aborted && (told || h.SnapshotsAssumed() && h.Claim(i).Visible != nil) {
			count++
		}
	}
	return count
}

func placedVersions(h *history.History) *verdict.Assumption {
	a := &verdict.Assumption{}
	last := make([]int, h.KeyCount()) // by key: the latest transaction that writes it, plus 1
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		placed := h.Place(i) != 0
		for n, op := range h.Ops(t) {
			if h.Version(t, n) != 0 {
				a.Reads++
			}
			if op.Kind != history.Write || last[op.Key] == i+1 {
				continue
			}
			last[op.Key] = i + 1
			if a.Versions++; placed {
				a.Placed++
			}
		}
	}
	return a
}

// restsFor bounds the time for judging a counterexample without the assumption.
const restsFor = 2 * time.Second

// restsSteps bounds the trial of all executions of it.
const restsSteps = 1_000_000

// rests reports whether the proof of a violation needs the assumption that is missing in less of it, as far as that is
// decided in time.
func rests(ctx context.Context, h *history.History, r *verdict.Result, less func(*history.History) *history.History) bool {
	if len(r.Anomalies) == 0 {
		return true
	}
	a := &r.Anomalies[0]
	limited, stop := context.WithTimeout(ctx, restsFor)
	defer stop()
	if a.Kind != verdict.Contradiction { // one read, or one transaction
		return h.Distinct() && certify.Result(limited, less(h), r) != nil
	}
	ops := map[int32][]int{} // by transaction
	for _, i := range a.Txns {
		ops[i] = nil
	}
	for _, ref := range a.Ops {
		ops[ref.Txn] = append(ops[ref.Txn], ref.Op)
	}
	addWriters(h, ops)
	var parts []history.Part
	for _, i := range slices.Sorted(maps.Keys(ops)) {
		slices.Sort(ops[i])
		parts = append(parts, history.Part{Txn: i, Ops: slices.Compact(ops[i])})
	}
	part, lvl := less(h.Sub(parts)), r.Level
	if !part.Timed() { // the engine wants a transaction with both times; the trial takes single ones, too
		part.Closed = true // as the certifier judges it
		if allowed, decided := certify.Judge(part, lvl, restsSteps); decided {
			return allowed
		}
		lvl = lvl.WithoutRealTime()
	}
	without, err := polygraph.Engine{}.Judge(limited, part, lvl, engine.Options{VerdictOnly: true})
	return err != nil || without.Verdict != verdict.Violated
}

// addWriters adds the writes that reads among ops can have returned if the database is wrong about versions.
func addWriters(h *history.History, ops map[int32][]int) {
	if !h.Distinct() {
		return
	}
	read := map[history.Op]bool{} // as writes, of the values that stand for all versions
	for i, list := range ops {
		for _, n := range list {
			if op := h.Ops(&h.Txns[i])[n]; op.Kind == history.Read {
				read[history.Op{Kind: history.Write, Key: op.Key, Value: h.SameText(op.Value)}] = true
			}
		}
	}
	for i := range h.Txns {
		for n, op := range h.Ops(&h.Txns[i]) {
			if op.Value = h.SameText(op.Value); read[op] {
				ops[int32(i)] = append(ops[int32(i)], n)
			}
		}
	}
}
