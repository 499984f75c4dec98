package pages

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/results"
)

// A timeline of windows is this wide. What is not satisfied is at least visibleWidth wide, and drawn over the rest.
const timelineWidth, visibleWidth = 1000.0, 4.0

// timeline draws the windows of a run in order, in the colours of their verdicts.
func timeline(w *results.Windows) template.HTML {
	if w == nil || len(w.Spans) == 0 {
		return ""
	}
	from, to := w.Spans[0].From, w.Spans[len(w.Spans)-1].To
	unit := timelineWidth / float64(to-from+1)
	var fine, others strings.Builder
	for _, s := range w.Spans {
		width, out := float64(s.To-s.From+1)*unit, &fine
		if s.Verdict != verdict.Satisfied {
			width, out = max(width, visibleWidth), &others
		}
		x := min(float64(s.From-from)*unit, timelineWidth-width)
		name := fmt.Sprintf("window %d", s.From)
		if s.To > s.From {
			name = fmt.Sprintf("windows %d to %d", s.From, s.To)
		}
		fmt.Fprintf(out, `<rect class="%s" x="%.2f" width="%.2f" height="20"><title>%s: %s</title></rect>`, s.Verdict, x, width, name, s.Verdict)
	}
	return template.HTML(fmt.Sprintf(`<svg class="timeline" viewBox="0 0 %.0f 20" preserveAspectRatio="none" role="img" aria-label="windows %d to %d in order, by verdict">%s%s</svg>`,
		timelineWidth, from, to, fine.String(), others.String()))
}
