package generator

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/isohound/isohound/history"
)

// Meter counts what a run does. Latencies are those of committed transactions, in microseconds
// with two significant digits. They are measured from the intended start in an open loop, else
// from the start.
type Meter struct {
	now func() int64
	// origin is when the sessions started, on the recorder's clock, and end when they ended, 0 before.
	origin, end atomic.Int64

	committed, aborted, unknown, finished atomic.Int64

	mu     sync.Mutex
	causes map[string]int64
	all    *hdrhistogram.Histogram
	width  int64 // of an interval, in nanoseconds
	series []interval
	nodes  map[int16]*interval // by endpoint
	// endpoints is how many there are, if more than one.
	endpoints int
}

type interval struct {
	committed, aborted, unknown int64
	latency                     *hdrhistogram.Histogram
}

// maxIntervals bounds the series. When it is full, neighbouring intervals are merged.
const maxIntervals = 100

// newHistogram distinguishes latencies from a microsecond to ten minutes.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(10*time.Minute/time.Microsecond), 2)
}

func newMeter(now func() int64, endpoints int) *Meter {
	if endpoints == 1 {
		endpoints = 0
	}
	return &Meter{now: now, endpoints: endpoints, causes: map[string]int64{}, nodes: map[int16]*interval{}, all: newHistogram(), width: int64(10 * time.Millisecond)}
}

// start sets the zero of time.
func (m *Meter) start(origin int64) { m.origin.Store(origin) }

// stop says that the sessions have ended.
func (m *Meter) stop() { m.end.Store(m.now()) }

// add counts a finished transaction.
func (m *Meter) add(rec *history.Record, due int64, cause string) {
	switch rec.Status {
	case history.Committed:
		m.committed.Add(1)
	case history.Aborted:
		m.aborted.Add(1)
	default:
		m.unknown.Add(1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec.Status != history.Committed {
		m.causes[cause]++
	}
	us := int64(0)
	if rec.Status == history.Committed {
		begin := rec.Begin
		if rec.Due != history.NoTime {
			begin = due
		}
		us = max((rec.End-begin)/1000, 1)
		// Latencies beyond the range count as the longest one.
		us = min(us, m.all.HighestTrackableValue())
		_ = m.all.RecordValue(us)
	}
	m.at(rec.End-m.origin.Load()).add(rec.Status, us)
	if rec.Node > 0 {
		if m.nodes[rec.Node] == nil {
			m.nodes[rec.Node] = &interval{latency: newHistogram()}
		}
		m.nodes[rec.Node].add(rec.Status, us)
	}
}

// add counts a transaction, with its latency in microseconds if it committed.
func (v *interval) add(s history.Status, us int64) {
	switch s {
	case history.Committed:
		_ = v.latency.RecordValue(us)
		v.committed++
	case history.Aborted:
		v.aborted++
	default:
		v.unknown++
	}
}

// at returns the interval that contains a moment.
func (m *Meter) at(end int64) *interval {
	n := int(max(end, 0) / m.width)
	for n >= maxIntervals {
		half := m.series[:0]
		for i := 0; i < len(m.series); i += 2 {
			v := m.series[i]
			if i+1 < len(m.series) {
				w := m.series[i+1]
				v.committed += w.committed
				v.aborted += w.aborted
				v.unknown += w.unknown
				v.latency.Merge(w.latency)
			}
			half = append(half, v)
		}
		m.series = half
		m.width *= 2
		n = int(end / m.width)
	}
	for len(m.series) <= n {
		m.series = append(m.series, interval{latency: newHistogram()})
	}
	return &m.series[n]
}

// Counts are totals so far: of attempts by their outcome, and of transactions of the plan that
// need no further attempt, whatever their outcome.
type Counts struct{ Committed, Aborted, Unknown, Finished int64 }

// Counts returns the totals so far.
func (m *Meter) Counts() Counts {
	return Counts{m.committed.Load(), m.aborted.Load(), m.unknown.Load(), m.finished.Load()}
}

// Stats is the summary of a run, as it is saved. Times are in seconds, latencies in
// milliseconds.
type Stats struct {
	Seconds         float64          `json:"seconds"`
	Committed       int64            `json:"committed"`
	Aborted         int64            `json:"aborted"`
	Unknown         int64            `json:"unknown_outcome"`
	CommitsPerSec   float64          `json:"commits_per_second"`
	AbortRate       float64          `json:"abort_rate"` // of all attempts
	AbortsByCause   map[string]int64 `json:"aborts_by_cause"`
	LatencyMS       Quantiles        `json:"latency_ms"`
	IntervalSeconds float64          `json:"interval_seconds"`
	Intervals       []IntervalStats  `json:"intervals"`
	// FinalRead is set if the run ended with a final read. The other figures leave it out.
	FinalRead *FinalRead `json:"final_read,omitempty"`
	// Cuts is set if the run was to be cut into windows.
	Cuts *CutStats `json:"cuts,omitempty"`
	// Nodes are the figures of the endpoints, in their order, if there are several.
	Nodes []IntervalStats `json:"nodes,omitempty"`
	// Faults are the times during which faults of the run's script had effects.
	Faults []Fault `json:"faults,omitempty"`
}

// Fault is a time during which a fault had an effect, in seconds since the start.
type Fault struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	What string  `json:"what"`
}

// Quantiles of latencies.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// IntervalStats are the figures of one interval of a run, or of one endpoint.
type IntervalStats struct {
	Committed int64     `json:"committed"`
	Aborted   int64     `json:"aborted"`
	Unknown   int64     `json:"unknown_outcome"`
	LatencyMS Quantiles `json:"latency_ms"`
}

// Stats returns the summary so far.
func (m *Meter) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.Counts()
	end := m.end.Load()
	if end == 0 {
		end = m.now()
	}
	s := Stats{
		Seconds: float64(end-m.origin.Load()) / 1e9, Committed: c.Committed, Aborted: c.Aborted, Unknown: c.Unknown,
		AbortsByCause: map[string]int64{}, LatencyMS: quantiles(m.all), IntervalSeconds: float64(m.width) / 1e9,
	}
	if s.Seconds > 0 {
		s.CommitsPerSec = float64(c.Committed) / s.Seconds
	}
	if n := c.Committed + c.Aborted + c.Unknown; n > 0 {
		s.AbortRate = float64(c.Aborted) / float64(n)
	}
	for cause, n := range m.causes {
		s.AbortsByCause[cause] = n
	}
	for _, v := range m.series {
		s.Intervals = append(s.Intervals, v.stats())
	}
	for n := int16(1); int(n) <= m.endpoints; n++ {
		v := m.nodes[n]
		if v == nil {
			v = &interval{latency: newHistogram()}
		}
		s.Nodes = append(s.Nodes, v.stats())
	}
	return s
}

// Latencies returns the quantiles so far.
func (m *Meter) Latencies() Quantiles {
	m.mu.Lock()
	defer m.mu.Unlock()
	return quantiles(m.all)
}

func (v *interval) stats() IntervalStats {
	return IntervalStats{v.committed, v.aborted, v.unknown, quantiles(v.latency)}
}

func quantiles(h *hdrhistogram.Histogram) Quantiles {
	if h.TotalCount() == 0 {
		return Quantiles{}
	}
	ms := func(us int64) float64 { return float64(us) / 1000 }
	return Quantiles{ms(h.ValueAtQuantile(50)), ms(h.ValueAtQuantile(90)), ms(h.ValueAtQuantile(99)), ms(h.Max())}
}
