package cuda

import "github.com/isohound/isohound/accel"

// With returns a backend on the same device with another fallback, which is told
// of to warn. Closing either gives the device back.
func (b *Backend) With(fallback accel.Backend, warn func(line string)) *Backend {
	c := &Backend{cfg: b.cfg, dev: b.dev}
	c.cfg.Fallback, c.cfg.Warn = fallback, warn
	return c
}
