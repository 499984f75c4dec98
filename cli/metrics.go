//go:build !front

package cli

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/results"
)

// metrics serves figures of a run that goes on to Prometheus. A nil one does nothing.
type metrics struct {
	at       string // its URL
	meter    atomic.Pointer[generator.Meter]
	lag      atomic.Pointer[lag]
	verdicts *prometheus.CounterVec
	info     *prometheus.GaugeVec
}

var (
	txnsMetric = prometheus.NewDesc("isohound_transactions_total", "Attempts of transactions by their outcome.", []string{"outcome"}, nil)
	quantiles  = prometheus.NewDesc("isohound_latency_seconds", "Latency of the transactions that committed since the start of the run.", []string{"quantile"}, nil)
	lagMetric  = prometheus.NewDesc("isohound_checker_lag_seconds", "How long the oldest window that is complete has waited for its verdict.", nil, nil)
	waiting    = prometheus.NewDesc("isohound_windows_waiting", "Windows that are complete and have no verdict yet.", nil, nil)
	heldMetric = prometheus.NewDesc("isohound_held_seconds_total", "How long the run has waited for the checker.", nil, nil)
)

// serveMetrics serves the figures of a run at an address such as :9090 until the returned function is called.
func serveMetrics(address string) (*metrics, func(), error) {
	m := &metrics{
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "isohound_verdicts_total", Help: "Verdicts of windows, or of the run if it has none, by level."}, []string{"level", "verdict"}),
		info:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "isohound_run_info", Help: "What runs; always 1."}, []string{"driver", "server", "isolation", "workload", "seed", "version"}),
	}
	at, stop, err := serveCollectors(address, m, m.verdicts, m.info)
	m.at = at
	return m, stop, err
}

// serveCollectors listens at an address, and serves what collectors have at the returned URL until stop is called.
func serveCollectors(address string, list ...prometheus.Collector) (at string, stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return "", nil, usage("--metrics %s: %v", address, err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(append(list, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))...)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l)
	return fmt.Sprintf("http://%s/metrics", l.Addr()), func() { server.Close() }, nil
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{txnsMetric, quantiles, lagMetric, waiting, heldMetric} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	if meter := m.meter.Load(); meter != nil {
		c := meter.Counts()
		for outcome, n := range map[string]int64{"committed": c.Committed, "aborted": c.Aborted, "unknown": c.Unknown} {
			ch <- prometheus.MustNewConstMetric(txnsMetric, prometheus.CounterValue, float64(n), outcome)
		}
		q := meter.Latencies()
		for name, ms := range map[string]float64{"0.5": q.P50, "0.9": q.P90, "0.99": q.P99, "1": q.Max} {
			ch <- prometheus.MustNewConstMetric(quantiles, prometheus.GaugeValue, ms/1000, name)
		}
	}
	if l := m.lag.Load(); l != nil {
		behind, windows := l.now()
		ch <- prometheus.MustNewConstMetric(lagMetric, prometheus.GaugeValue, behind.Seconds())
		ch <- prometheus.MustNewConstMetric(waiting, prometheus.GaugeValue, float64(windows))
		ch <- prometheus.MustNewConstMetric(heldMetric, prometheus.CounterValue, l.held().Seconds())
	}
}

// run says what runs.
func (m *metrics) run(c *results.Config) {
	if m != nil {
		m.info.WithLabelValues(c.Driver, c.Server, c.Isolation, c.Workload, strconv.FormatInt(c.Seed, 10), c.Version).Set(1)
	}
}

// watch tells where the figures of the run come from. l is nil if the run has no windows.
func (m *metrics) watch(meter *generator.Meter, l *lag) {
	if m != nil {
		m.meter.Store(meter)
		m.lag.Store(l)
	}
}

// verdict counts a verdict.
func (m *metrics) verdict(o *results.Outcome) {
	if m != nil {
		m.verdicts.WithLabelValues(o.Level, o.Verdict.String()).Inc()
	}
}
