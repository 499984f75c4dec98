//go:build !front

package cli

import (
	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/workloads"
)

// WithDriver adds a driver, or replaces the one of this name.
func WithDriver(d drivers.Driver) Option { return func() { drivers.Register(d) } }

// WithWorkload adds a workload, or replaces the one of this name.
func WithWorkload(s workloads.Spec) Option { return func() { workloads.Register(s) } }
