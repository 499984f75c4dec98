package choose

import (
	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/parallel"
	"github.com/isohound/isohound/internal/memory"
)

// Machine describes the resources of a machine for computing closures.
type Machine struct {
	// Free returns the bytes of main memory that the process can still get.
	Free func() int64
	// Workers is the number of processors that share the work.
	Workers int
	// Backends are the available ones; among equals, those that need less memory come first.
	Backends []Backend
}

// Backend is one that a machine may have.
type Backend struct {
	Name string
	// Open returns the backend and its device, or why the machine has none.
	Open func(g *accel.Graph, w *Wishes) (accel.Backend, Device, error)
	// Seconds is the expected time for a closure.
	Seconds func(s Shape, d Device, workers int) float64
	// OpenSeconds is the time that Open takes. If another backend needs no more than that in
	// total, auto does not open this one. 0 means negligible.
	OpenSeconds float64
}

// Device describes what a backend runs on, if that is not the processor.
type Device struct {
	Name       string
	Need, Free int64   // bytes of its memory: the upper bound that the closure needs, and those that are free
	Bandwidth  float64 // of its memory, bytes per second; 0 if that is not known
}

// Shape is what the cost of a closure depends on.
type Shape struct {
	Vertices, Sources, Edges, Chains int64
	// Columns are the sources, with one per pair.
	Columns int64
}

// ShapeOf returns the shape of a graph. Without a cover each source counts as a chain, which is
// the worst case.
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
