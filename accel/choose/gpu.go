package choose

import (
	"context"
	"maps"
	"sync"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/cuda"
	"github.com/pkg/errors"
)

// gpu is the first GPU of the machine. Opening it takes long, so it is opened once, when it is
// needed.
var gpu = sync.OnceValues(func() (*cuda.Backend, error) { return cuda.Open(cuda.Config{}) })

// openGPU returns the GPU, with a fallback that takes over when it fails.
func openGPU(g *accel.Graph, w *Wishes) (accel.Backend, Device, error) {
	b, err := gpu()
	if err != nil {
		return nil, Device{}, err
	}
	free, err := b.FreeMemory()
	if err != nil {
		return nil, Device{}, err
	}
	facts := b.Device()
	d := Device{Name: facts.Name, Need: b.DeviceMemory(g), Free: free, Bandwidth: facts.Bandwidth}
	return b.With(&others{*w}, w.Warn), d, nil
}

// others is the best backend besides the GPU.
type others struct{ w Wishes }

func (o *others) Name() string { return "another backend" }

func (o *others) Memory(g *accel.Graph) int64 {
	d := o.decide(g)
	if at := d.best(); at >= 0 {
		return d.Considered[at].Bytes
	}
	return 0
}

func (o *others) decide(g *accel.Graph) *Decision { return Decide(g, o.without()) }

func (o *others) without() Wishes {
	w := o.w
	w.Choice, w.Warn = Auto, nil
	w.Instead = nil // Instead was already applied to the graph of the device
	w.Without = maps.Clone(w.Without)
	if w.Without == nil {
		w.Without = map[string]error{}
	}
	w.Without[string(CUDA)] = errFailed
	return w
}

var errFailed = errors.New("the device has failed")

func (o *others) Closure(ctx context.Context, g *accel.Graph, opt accel.Options) (accel.Closure, error) {
	c, d, err := Closure(ctx, g, opt, o.without())
	if c == nil && err == nil {
		err = errors.Errorf("no backend can compute the closure: %s", d.Reason)
	}
	return c, err
}
