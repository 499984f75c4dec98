package polygraph

import (
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/history"
)

// prepare builds the model of a history, its known graph with the given edges, and a saturator.
// prune says whether the saturator infers edges. The saturator is nil if a single read is wrong by
// itself. found has the anomalies and doubts about single reads. h is a part of a history, unless
// whole is set.
func prepare(h *history.History, lvl level.Level, prune, whole bool) (s *saturator, found *single.Collector) {
	found = single.NewCollector(h)
	m := newModel(h, lvl, found, whole)
	if len(found.Anomalies) > 0 {
		return nil, found
	}
	s = newSaturator(m, newGraph(m), prune)
	s.overwrittenNext()
	return s, found
}
