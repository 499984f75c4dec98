//go:build !front

package cli

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/isohound/isohound/hunt"
)

// huntMetrics are the figures of a night that goes on, for Prometheus. What was done before a resumed hunt went on is not in
// them.
type huntMetrics struct {
	runs, commits *prometheus.CounterVec
	begun, info   *prometheus.GaugeVec
}

func newHuntMetrics(plan *hunt.Plan) *huntMetrics {
	cell := []string{"target", "isolation", "workload", "faults"}
	m := &huntMetrics{
		runs:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "isohound_hunt_runs_total", Help: "Runs that are over, by cell and what they came to."}, append(cell, "status")),
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "isohound_hunt_commits_total", Help: "Committed transactions of these runs, by cell."}, cell),
		begun:   prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "isohound_hunt_run_begun_seconds", Help: "When the latest run of a cell began, in seconds since 1970."}, cell),
		info:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "isohound_hunt_info", Help: "What goes on; always 1."}, []string{"plan", "version"}),
	}
	m.info.WithLabelValues(plan.Name, version()).Set(1)
	return m
}

func (m *huntMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.runs, m.commits, m.begun, m.info}
}

// tell counts what happens.
func (m *huntMetrics) tell(e hunt.Event) {
	switch {
	case e.Begun != nil:
		m.begun.WithLabelValues(cellOf(e.Begun)...).Set(float64(e.Begun.Began.Unix()))
	case e.Done != nil:
		cell := cellOf(e.Done)
		m.commits.WithLabelValues(cell...).Add(float64(e.Done.Commits))
		m.runs.WithLabelValues(append(cell, e.Judged.Status.String())...).Inc()
	}
}

func cellOf(r *hunt.Run) []string { return []string{r.Target, r.Isolation, r.Workload, r.Fault} }
