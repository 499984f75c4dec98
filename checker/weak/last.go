package weak

import (
	"context"

	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// WithLast looks for an order of the commits of h in which the last version of each key has the value that last
// names. A key that last does not name must have none. w is a witness of h at lvl, whose choices of versions it keeps. It
// returns nil if it finds no such order; with other choices there may be one.
func WithLast(ctx context.Context, h *history.History, lvl level.Level, w *verdict.Witness, last map[history.Key]history.Value) (*verdict.Witness, error) {
	if lvl == level.RU || engine.InventsReads(h, lvl) {
		return nil, nil
	}
	c := &check{ctx: ctx, h: h, lvl: lvl, res: &verdict.Result{Level: lvl, Engine: Name}, opt: engine.Options{VerdictOnly: true}}
	c.stages = verdict.NewStages(c.res, nil)
	x, err := newIndex(c, choices{})
	if err != nil {
		return nil, err
	}
	if len(x.open) > 0 {
		if x, err = newIndex(c, x.choicesFor(func(n int) int32 { return x.sourceIn(w, &x.open[n]) })); err != nil {
			return nil, err
		}
	}
	if _, open := x.undecided(); open || len(x.Anomalies) > 0 || !x.ends(w, last) {
		return nil, nil
	}
	f, err := x.judge()
	if err != nil || f.violated() {
		return nil, err
	}
	return &verdict.Witness{Order: f.order.txns, Sources: w.Sources}, nil
}

// sourceIn returns the version that an open read has in a witness, or none.
func (x *index) sourceIn(w *verdict.Witness, r *openRead) int32 {
	from, told := w.Sources[verdict.OpRef{Txn: r.txn, Op: int(r.op)}]
	k := x.key[r.version]
	switch {
	case !told:
		return none
	case from == verdict.FromInitial:
		return int32(k) // see index: versions
	}
	for v := x.versionsFrom[from]; v < x.versionsFrom[from+1]; v++ {
		if x.key[v] == k {
			return v
		}
	}
	return none
}

// ends adds the edges to the transactions whose versions are to be the last. It returns false if there is no such version. Of
// several it takes the one that is last in w.
func (x *index) ends(w *verdict.Witness, last map[history.Key]history.Value) bool {
	rank := make([]int32, len(x.h.Txns))
	for n, t := range w.Order {
		rank[t] = int32(n)
	}
	for k := range x.h.KeyCount() {
		value, named := last[history.Key(k)]
		end, others := none, false
		for _, v := range x.versionsOf(history.Key(k)) {
			t := x.writer[v]
			if t == none || !x.counted[t] {
				continue
			}
			if named && x.value(v) == value && (end == none || rank[end] < rank[t]) {
				end = t
			}
			others = true
		}
		if !others {
			continue
		}
		if end == none {
			return false
		}
		for _, v := range x.versionsOf(history.Key(k)) {
			if t := x.writer[v]; t != none && t != end && x.counted[t] {
				x.given = append(x.given, forcedEdge{t, end})
			}
		}
	}
	return true
}
