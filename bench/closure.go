package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/internal/memory"
)

// Closures measures the backends of accel on known graphs of histories.
type Closures struct {
	Histories *Recorder
	// Infer adds the edges of saturation to the graphs.
	Infer     bool
	Seed      int64         // of the queries
	Repeat    int           // how often a closure is computed, once if it takes long; the median counts
	Timeout   time.Duration // of each closure; 0 is none
	MaxMemory int64         // bytes that a closure may take; 0 is no bound
	Questions int           // edges to be tested
	Backends  []ClosureBackend
	Progress  func(line string)

	Bandwidth    Bandwidth
	Measurements []ClosureMeasurement
	// Wrong lists disagreements between backends.
	Wrong []string
}

// ClosureBackend is a backend in one configuration.
type ClosureBackend struct {
	Name    string // the backend and its configuration
	Backend accel.Backend
	Workers int // goroutines; 0 means one per processor
	// Unavailable says why there is no Backend.
	Unavailable string
	// Device says what it runs on, if that is not the processor.
	Device string
	// Bandwidth is the bandwidth of the backend's own memory in bytes per second, if it does not
	// use the machine's.
	Bandwidth float64
}

// Results of a measurement.
const (
	StatusDone        = "done"
	StatusTimeout     = "timeout"
	StatusSkipped     = "skipped" // not enough memory
	StatusUnavailable = "unavailable"
	StatusFailed      = "failed"
	StatusCyclic      = "cyclic" // the graph has a cycle
)

// ClosureMeasurement is the result of a backend on a graph.
type ClosureMeasurement struct {
	GraphFacts
	Backend string `json:"backend"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Workers int    `json:"workers"`
	// Seconds: the closure, the batch test of Questions edges, and the insertion of
	// InsertedEdges.
	ClosureSeconds  float64 `json:"closure_seconds"`
	QuestionSeconds float64 `json:"question_seconds"`
	InsertSeconds   float64 `json:"insert_seconds"`
	Questions       int     `json:"questions"`
	InsertedEdges   int     `json:"inserted_edges"`
	// Held is the memory of the closure, Device its memory on a GPU, Bound the upper bound that
	// the backend gave, and Peak the growth of the process. Share is Held plus Device, relative
	// to n² bits.
	Held   int64   `json:"held_bytes"`
	Device int64   `json:"device_bytes,omitempty"`
	Bound  int64   `json:"bound_bytes"`
	Peak   int64   `json:"peak_bytes"`
	Share  float64 `json:"share_of_n2_bits"`
	// Moved is the bytes to be moved (see TrafficHelp), Bandwidth the bytes per second that the
	// memory can move. OfBandwidth is the time of the closure divided by the time that the
	// memory needs for Moved.
	Moved int64 `json:"moved_bytes"`
	// OwnMoved is the backend's own count of moved bytes, 0 if it does not count.
	OwnMoved    int64   `json:"own_moved_bytes"`
	Bandwidth   float64 `json:"bandwidth_bytes_per_second"`
	OfBandwidth float64 `json:"times_bandwidth"`
	ownMemory   bool
	// Speedup is relative to the backend bitset with Against workers: for the closure, and for
	// the closure with the queries.
	Speedup     float64 `json:"speedup"`
	BothSpeedup float64 `json:"speedup_with_questions"`
}

// Rate is how many bytes of Moved were moved per second.
func (m *ClosureMeasurement) Rate() float64 { return float64(m.Moved) / m.ClosureSeconds }

// takesLong is the time in seconds after which a closure is not computed again: for such times,
// other load hardly matters.
const takesLong = 10

var errClosureTime = errors.New("the time for the closure is over")

// MeasureClosures measures every backend on every graph. Measurements before an error are kept.
func (c *Closures) MeasureClosures(ctx context.Context, specs []GraphSpec) error {
	if err := c.bandwidth(ctx); err != nil {
		return err
	}
	var lacking []remark
	for i := range c.Backends {
		if b := &c.Backends[i]; b.Backend == nil {
			lacking = remarked(lacking, b.Name, b.Unavailable)
		}
	}
	for _, r := range lacking {
		c.say("%s: %s", strings.Join(r.names, " and "), r.text)
	}
	for _, spec := range specs {
		g, err := c.Histories.Graph(ctx, spec, c.Infer)
		if err != nil {
			return err
		}
		if err := c.graph(ctx, g); err != nil {
			return err
		}
	}
	return c.bandwidth(ctx)
}

// bandwidth measures the memory before the closures and after them, since other load may disturb
// either. The better measurement counts for all.
func (c *Closures) bandwidth(ctx context.Context) error {
	b, err := MeasureBandwidth(ctx, c.bandwidthBytes())
	if err != nil {
		return err
	}
	debug.FreeOSMemory()
	c.say("memory: %s", b)
	c.Bandwidth.better(b)
	for i := range c.Measurements {
		c.Measurements[i].against(c.Bandwidth.Best())
	}
	return nil
}

// against compares a measurement with the memory's bandwidth, unless the backend has its own
// memory.
func (m *ClosureMeasurement) against(bandwidth float64) {
	if m.Status != StatusDone {
		return
	}
	if !m.ownMemory {
		m.Bandwidth = bandwidth
	}
	m.OfBandwidth = m.ClosureSeconds / (float64(m.Moved) / m.Bandwidth)
}

// bandwidthBytes is more than caches hold, but within the memory limit.
func (c *Closures) bandwidthBytes() int64 {
	size := int64(1 << 30)
	if c.MaxMemory > 0 {
		size = min(size, c.MaxMemory/2)
	}
	return max(size, 1<<20)
}

func (c *Closures) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// graph measures every backend on one graph.
func (c *Closures) graph(ctx context.Context, g *KnownGraph) error {
	c.say("%s", &g.GraphFacts)
	order, err := accel.NewAdjacency(g.Graph).Order()
	var cycle *accel.CycleError
	if errors.As(err, &cycle) {
		for _, b := range c.Backends {
			c.add(ClosureMeasurement{GraphFacts: g.GraphFacts, Backend: b.Name, Status: StatusCyclic, Reason: "the history is violated: " + cycle.Error()})
		}
		return nil
	} else if err != nil {
		return err
	}
	probes := newProbes(g.Graph, order, c.Seed, c.Questions)
	g.LongestPath = longestPath(g.Graph, order)
	first := len(c.Measurements)
	for i := range c.Backends {
		m, err := c.backend(ctx, &c.Backends[i], g, order, probes)
		if err != nil {
			return err
		}
		c.add(*m)
	}
	compareWithBitset(c.Measurements[first:])
	c.Wrong = append(c.Wrong, probes.wrong...)
	return nil
}

func (c *Closures) add(m ClosureMeasurement) {
	c.Measurements = append(c.Measurements, m)
	if m.Status != StatusUnavailable {
		c.say("  %s", &m)
	}
}

func (m *ClosureMeasurement) String() string {
	if m.Status != StatusDone {
		return fmt.Sprintf("%s: %s: %s", m.Backend, m.Status, m.Reason)
	}
	return fmt.Sprintf("%s: %.4g s, %d edges tested in %.4g s, %s held, %.3g GB/s", m.Backend, m.ClosureSeconds, m.Questions, m.QuestionSeconds, humanize.IBytes(uint64(m.Held)), m.Rate()/1e9)
}

// backend measures one backend on one graph and checks its answers to the probes.
func (c *Closures) backend(ctx context.Context, b *ClosureBackend, g *KnownGraph, order []int32, p *probes) (*ClosureMeasurement, error) {
	m := &ClosureMeasurement{GraphFacts: g.GraphFacts, Backend: b.Name, Status: StatusDone, Workers: b.Workers, Questions: len(p.asked)}
	if m.Workers == 0 {
		m.Workers = runtime.GOMAXPROCS(0)
	}
	if b.Backend == nil {
		m.Status, m.Reason = StatusUnavailable, b.Unavailable
		return m, nil
	}
	m.Bound = b.Backend.Memory(g.Graph)
	m.Bandwidth, m.ownMemory = b.Bandwidth, b.Bandwidth > 0
	m.Moved = bitTraffic(g.Graph, order)
	var closures, questions []float64
	for last := false; !last; {
		cl, err := c.once(ctx, b, g.Graph, m, p, &closures, &questions)
		if err != nil || m.Status != StatusDone {
			return m, err
		}
		if last = len(closures) >= c.Repeat || closures[0] > takesLong; last {
			err = p.judge(ctx, b, cl, m)
		}
		cl.Close()
		if err != nil {
			return m, err
		}
	}
	m.ClosureSeconds, m.QuestionSeconds = middle(closures), middle(questions)
	m.against(c.Bandwidth.Best())
	return m, nil
}

// once computes a closure and runs the queries.
func (c *Closures) once(ctx context.Context, b *ClosureBackend, g *accel.Graph, m *ClosureMeasurement, p *probes, closures, questions *[]float64) (accel.Closure, error) {
	runtime.GC() // the second collection frees pooled memory
	debug.FreeOSMemory()
	memory.ResetPeak()
	before := memory.Peak()
	limited, cancel := limit(ctx, c.Timeout, errClosureTime)
	defer cancel()
	begun := time.Now()
	cl, err := b.Backend.Closure(limited, g, accel.Options{MaxMemory: c.MaxMemory, Workers: b.Workers})
	if err == nil {
		*closures = append(*closures, time.Since(begun).Seconds())
		m.Peak = max(m.Peak, memory.Peak()-before)
		m.Held = cl.Bytes()
		if k, ok := cl.(interface{ Cover() *accel.Cover }); ok {
			m.Chains = int(k.Cover().Count)
			m.Moved = chainTraffic(g, int64(m.Chains))
		}
		if k, ok := cl.(interface{ Moved() int64 }); ok {
			m.OwnMoved = k.Moved()
		}
		if k, ok := cl.(interface{ DeviceBytes() int64 }); ok {
			m.Device = k.DeviceBytes()
		}
		m.Share = float64(m.Held+m.Device) / (float64(g.Len()) * float64(g.Len()) / 8)
		begun = time.Now()
		if err = cl.Closing(limited, p.asked, p.single, p.answers); err != nil {
			cl.Close()
		}
		*questions = append(*questions, time.Since(begun).Seconds())
	}
	var little *accel.MemoryError
	switch {
	case err == nil:
		return cl, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errClosureTime):
		m.Status, m.Reason = StatusTimeout, fmt.Sprintf("not done in %v", c.Timeout)
	case errors.As(err, &little):
		m.Status, m.Reason = StatusSkipped, fmt.Sprintf("needs %s, and the limit is %s", humanize.IBytes(uint64(little.Need)), humanize.IBytes(uint64(little.Limit)))
	default:
		m.Status, m.Reason = StatusFailed, err.Error()
	}
	return nil, nil
}

// middle returns the median.
func middle(list []float64) float64 {
	slices.Sort(list)
	return list[(len(list)-1)/2]
}

// compareWithBitset fills in the speedup of each measurement over bitset: over bitset with two
// workers if that was measured, else over bitset with all workers.
func compareWithBitset(ms []ClosureMeasurement) {
	var to *ClosureMeasurement
	for i := range ms {
		if m := &ms[i]; m.Status == StatusDone && (m.Backend == BitsetTwo || m.Backend == bitsetName && to == nil) {
			to = m
		}
	}
	for i := range ms {
		if m := &ms[i]; to != nil && m.Status == StatusDone {
			m.Speedup = to.ClosureSeconds / m.ClosureSeconds
			m.BothSpeedup = (to.ClosureSeconds + to.QuestionSeconds) / (m.ClosureSeconds + m.QuestionSeconds)
		}
	}
}
