package choose

import (
	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/internal/memory"
)

// Machine is what a machine has for computing closures.
type Machine struct {
	// Free returns the bytes of main memory that the process can still have.
	Free func() int64
	// Workers is the number of processors to share the work.
	Workers int
	// Backends are the ones to choose from, leaner ones first among equals.
	Backends []Backend
}

// Backend is one that a machine may have.
type Backend struct {
	Name string
	// Open returns the backend and what it runs on, or why the machine has none.
	Open func(g *accel.Graph, w *Wishes) (accel.Backend, Device, error)
	// Seconds is what a closure is expected to take.
	Seconds func(s Shape, d Device, workers int) float64
	// OpenSeconds is what Open takes: where some backend takes no longer than that
	// altogether, auto does not ask. 0 is nothing worth mentioning.
	OpenSeconds float64
}

// Device is what a backend runs on, where that is not the processor.
type Device struct {
	Name       string
	Need, Free int64   // bytes of its memory: those that the closure takes at most, and those that nobody has
	Bandwidth  float64 // of its memory, bytes per second; 0 if that is not known
}

// Shape is what the cost of a closure depends on.
type Shape struct {
	Vertices, Sources, Edges, Chains int64
	// Columns are the sources, but of pairs only one of each.
	Columns int64
}

// ShapeOf returns the shape of a graph. Without a cover each source counts as a
// chain, as it may come to be.
func ShapeOf(g *accel.Graph) Shape {
	s := Shape{Vertices: int64(g.Len()), Sources: int64(g.SourceCount()), Edges: int64(len(g.From))}
	if s.Columns = s.Sources; g.Pairs {
		s.Columns /= 2
	}
	s.Chains = s.Sources
	if g.Cover != nil {
		s.Chains = int64(g.Cover.Count)
	}
	return s
}

// Here returns the machine that the program runs on.
func Here() *Machine {
	return &Machine{Free: memory.Free, Workers: parallel.Workers(0), Backends: backends}
}
