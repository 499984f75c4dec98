package cuda

import (
	"context"

	"github.com/isohound/isohound/accel"
	"github.com/pkg/errors"
)

func (b *Backend) prove() error { return errors.New("skeleton") }

// Memory returns the bytes of the host's memory that a closure takes.
func (b *Backend) Memory(g *accel.Graph) int64 { return 0 }

// DeviceMemory returns the bytes of the device's memory that a closure takes.
func (b *Backend) DeviceMemory(g *accel.Graph) int64 { return 0 }

// Closure computes the closure of g on the device.
func (b *Backend) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	return nil, errors.New("skeleton")
}
