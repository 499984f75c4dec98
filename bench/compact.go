package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/accel"
)

// Compact is Figure 8 of the Vbox paper: the time that the paper's algorithms and the backends
// here need to construct the closure of a known graph with real time, and to add the edges of
// saturation one by one.
type Compact struct {
	Histories *Recorder
	Timeout   time.Duration // of each construction, and of all updates of one graph; 0 is none
	MaxMemory int64         // bytes for a closure; 0 is no bound
	Seed      int64
	Repeat    int // how often a measurement of less than a second is repeated; the median counts
	Progress  func(line string)

	Points []CompactPoint
	// Wrong lists disagreements between algorithms.
	Wrong []string
}

// CompactPoint is one algorithm on one graph.
type CompactPoint struct {
	GraphFacts
	// Part is "construct" or "update".
	Part      string  `json:"part"`
	Algorithm string  `json:"algorithm"`
	Status    string  `json:"status"`
	Reason    string  `json:"reason,omitempty"`
	Seconds   float64 `json:"seconds"`
	Bytes     int64   `json:"held_bytes"`
	// Added is how many of the edges were added in Seconds.
	Added int `json:"added_edges"`
}

// Parts of the figure.
const (
	construct = "construct"
	update    = "update"
)

// Measure measures all graphs. Measurements before an error are kept.
func (c *Compact) Measure(ctx context.Context, specs []GraphSpec) error {
	for _, s := range specs {
		g, err := c.Histories.GraphAndMore(ctx, s)
		if err != nil {
			return err
		}
		c.say("%s, %s inferred", &g.GraphFacts, humanize.Comma(int64(len(g.More))))
		a := accel.NewAdjacency(g.Graph)
		a.Add(g.More)
		var cycle *accel.CycleError
		order, err := a.Order()
		if errors.As(err, &cycle) {
			c.add(CompactPoint{GraphFacts: g.GraphFacts, Part: construct, Status: StatusCyclic, Reason: "the history is violated: " + cycle.Error()})
			continue
		} else if err != nil {
			return err
		}
		g.LongestPath = longestPath(g.Graph, order)
		for _, part := range []string{construct, update} {
			if err := c.part(ctx, g, part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Compact) say(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

func (c *Compact) add(p CompactPoint) {
	c.Points = append(c.Points, p)
	text := p.Status + ": " + p.Reason
	if p.Status == StatusDone {
		text = fmt.Sprintf("%.4g s, %s", p.Seconds, humanize.IBytes(uint64(p.Bytes)))
	}
	c.say("  %s, %s: %s", p.Part, p.Algorithm, text)
}

// part measures a part of the figure on a graph, and compares the closures.
func (c *Compact) part(ctx context.Context, g *KnownGraph, part string) error {
	var first []bool
	by := ""
	for _, a := range compactAlgorithms(part) {
		p := CompactPoint{GraphFacts: g.GraphFacts, Part: part, Algorithm: a.name, Status: StatusDone}
		cl, err := c.once(ctx, &a, g, &p)
		if err != nil {
			return err
		}
		all := []float64{p.Seconds}
		for len(all) < c.Repeat && p.Status == StatusDone && all[0] < 1 {
			again := p
			again.Added = 0
			anew, err := c.once(ctx, &a, g, &again)
			if err != nil {
				return err
			}
			if anew == nil { // it timed out, although it did not before
				break
			}
			cl, all = anew, append(all, again.Seconds)
		}
		p.Seconds = middle(all)
		c.add(p)
		if cl == nil {
			continue
		}
		answers := c.pairs(cl, g.Graph.Len())
		if first == nil {
			first, by = answers, a.name
		} else if !slices.Equal(first, answers) {
			c.Wrong = append(c.Wrong, fmt.Sprintf("%s, %s: %s and %s disagree about which transactions reach which", &g.GraphFacts, part, by, a.name))
		}
	}
	return nil
}

// compactPairs is how many pairs of vertices are compared.
const compactPairs = 1_000_000

func (c *Compact) pairs(cl updated, n int32) []bool {
	rng := rand.New(rand.NewPCG(uint64(c.Seed), 73))
	out := make([]bool, compactPairs)
	for i := range out {
		out[i] = cl.Reaches(rng.Int32N(n), rng.Int32N(n))
	}
	return out
}

var errCompactTime = errors.New("the time for the algorithm is over")

// once runs a part with an algorithm, and returns the closure if the algorithm finished.
func (c *Compact) once(ctx context.Context, a *compactAlgorithm, g *KnownGraph, p *CompactPoint) (updated, error) {
	graph := g.Graph
	if a.plain {
		graph = timePoints(g.Graph)
	}
	if need := a.memory(graph); c.MaxMemory > 0 && need > c.MaxMemory {
		p.Status, p.Reason = StatusSkipped, "needs "+humanize.IBytes(uint64(need))
		return nil, nil
	}
	debug.FreeOSMemory()
	begun := time.Now()
	limited, cancel := limit(ctx, c.Timeout, errCompactTime)
	cl, err := a.build(limited, graph)
	cancel()
	if err == nil && p.Part == update { // the time of the construction does not count
		begun = time.Now()
		limited, cancel := limit(ctx, c.Timeout, errCompactTime)
		err = a.update(limited, cl, g.More, p)
		cancel()
	}
	p.Seconds = time.Since(begun).Seconds()
	switch {
	case err == nil:
		p.Bytes = cl.Bytes()
		return cl, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errCompactTime) && p.Part == update && cl == nil:
		p.Status, p.Reason = StatusTimeout, fmt.Sprintf("not even constructed in %v", c.Timeout)
	case errors.Is(err, errCompactTime) && p.Part == update:
		p.Status, p.Reason = StatusTimeout, fmt.Sprintf("%d of %d edges in %v", p.Added, len(g.More), c.Timeout)
	case errors.Is(err, errCompactTime):
		p.Status, p.Reason = StatusTimeout, fmt.Sprintf("not done in %v", c.Timeout)
	default:
		p.Status, p.Reason = StatusFailed, err.Error()
		c.Wrong = append(c.Wrong, fmt.Sprintf("%s, %s: %s: %v", &p.GraphFacts, p.Part, p.Algorithm, err))
	}
	return nil, nil
}

// limit ends a context after a time, if that is not 0, with why as the cause.
func limit(ctx context.Context, after time.Duration, why error) (context.Context, context.CancelFunc) {
	if after == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, after, why)
}
