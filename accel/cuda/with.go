package cuda

import "github.com/isohound/isohound/accel"

// With returns a backend on the same device with another fallback and another function for
// warnings. Closing either releases the device.
func (b *Backend) With(fallback accel.Backend, warn func(line string)) *Backend {
	c := &Backend{cfg: b.cfg, dev: b.dev}
	c.cfg.Fallback, c.cfg.Warn = fallback, warn
	return c
}
