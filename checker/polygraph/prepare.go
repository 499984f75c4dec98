package polygraph

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/history"
)

// prepare makes a history ready: its model, its known graph with the edges that are
// given, and a saturator for that, which prune says whether to use. Without a
// saturator some single read is wrong by itself; what of single reads is wrong or in
// doubt is in found.
func prepare(h *history.History, lvl level.Level, prune bool) (s *saturator, found *single.Collector) {
	found = single.NewCollector(h)
	m := newModel(h, lvl, found)
	if len(found.Anomalies) > 0 {
		return nil, found
	}
	return newSaturator(m, newGraph(m), prune), found
}
