package sim

import "github.com/isohound/isohound/drivers"

// Positions implements drivers.Positioner.
func (d *db) Positions() string { return "numbers of commits" }

// Position implements drivers.Positioned. A locking isolation has no snapshots, and read committed has one for each
// statement. Where commits become visible in another order than they are made, a snapshot may lack some. A lie moves
// the commit by up to lag commits.
func (t *tx) Position() drivers.Position {
	d := t.s.db
	d.mu.Lock()
	defer d.mu.Unlock()
	p := drivers.Position{Commit: t.commit}
	if !d.iso.locking && !d.iso.statement && len(t.snap.hidden) == 0 {
		p.Snapshot, p.Snapped = t.snap.upto, true
	}
	if d.opt.lies > 0 && t.s.rng.Float64() < d.opt.lies {
		p.Commit += 1 + t.s.rng.Int64N(d.opt.lag)
	}
	return p
}
