package sim

import (
	"slices"

	"github.com/isohound/isohound/drivers"
)

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

// saw notes the version that a read returned. A lie names an earlier or a later commit.
func (t *tx) saw(key string, v version) {
	d := t.s.db
	if !d.tells || t.light || v.value == nil {
		return
	}
	if t.versions == nil {
		t.versions = map[string]int64{}
	}
	at := v.commit
	if d.opt.lies > 0 && t.s.rng.Float64() < d.opt.lies {
		at = max(0, at+1+t.s.rng.Int64N(d.opt.lag)-t.s.rng.Int64N(2)*2*d.opt.lag)
	}
	t.versions[key] = at
}

// Version implements drivers.Versioned.
func (t *tx) Version(key string) (commit int64, told bool) {
	d := t.s.db
	d.mu.Lock()
	defer d.mu.Unlock()
	commit, told = t.versions[key]
	return commit, told
}

// Snapshot implements drivers.Snapshotted.
func (t *tx) Snapshot() *drivers.Snapshot { return t.asSet }

// told is the snapshot with which t begins, as a set of transactions: all that began before, without those that are open
// and those whose commits it hides. A locking isolation has none, and read committed has one for each statement. A lie
// hides a transaction that t may see, or shows one that it does not see.
func (t *tx) told() *drivers.Snapshot {
	d := t.s.db
	if !d.tells || t.light || d.iso.locking || d.iso.statement {
		return nil
	}
	s := &drivers.Snapshot{Max: t.id}
	for _, u := range d.active {
		s.Open = append(s.Open, u.id)
	}
	for _, n := range d.nodes {
		for _, a := range n.pending {
			if slices.Contains(t.snap.hidden, a.t.commit) {
				s.Open = append(s.Open, a.t.id)
			}
		}
	}
	if d.opt.lies > 0 && t.id > 1 && t.s.rng.Float64() < d.opt.lies {
		if n := len(s.Open); n > 0 && t.s.rng.IntN(2) == 0 {
			shown := s.Open[t.s.rng.IntN(n)]
			s.Open = slices.DeleteFunc(s.Open, func(id int64) bool { return id == shown })
		} else {
			s.Open = append(s.Open, max(1, t.id-1-t.s.rng.Int64N(d.opt.lag)))
		}
	}
	slices.Sort(s.Open)
	s.Open = slices.Compact(s.Open)
	if s.Min = s.Max; len(s.Open) > 0 {
		s.Min = s.Open[0]
	}
	return s
}
