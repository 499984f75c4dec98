package sim

import (
	"context"
	"slices"
)

// Commit implements drivers.Tx.
func (t *tx) Commit(context.Context) error {
	unlock, err := t.call()
	if err != nil {
		return err
	}
	defer unlock()
	return t.finish()
}

// finish commits, with the store locked.
func (t *tx) finish() error {
	if err := t.certify(); err != nil {
		t.abort()
		return err
	}
	t.between()
	d := t.s.db
	d.commits++
	t.commit = d.commits
	if t.s.keeps(durability) {
		t.install()
	}
	t.end()
	if !d.iso.locking {
		d.recent = append(d.recent, t)
		d.replicate(t)
	}
	d.forget(d.horizon())
	return nil
}

// Rollback implements drivers.Tx.
func (t *tx) Rollback(context.Context) error {
	unlock, err := t.call()
	if err != nil {
		return err
	}
	defer unlock()
	if len(t.order) == 0 {
		t.s.db.catchUp()
	}
	t.abort()
	return nil
}

// abort ends t and discards its effects.
func (t *tx) abort() {
	if len(t.order) > 0 && !t.s.keeps(undo) {
		t.s.db.commits++
		t.commit = t.s.db.commits
		t.install()
	}
	t.end()
}

// install turns the writes of t, which has its commit number, into versions.
func (t *tx) install() {
	d, horizon := t.s.db, t.s.db.horizon()
	atomic := len(t.order) < 2 || t.s.keeps(atomicVisibility)
	for n, key := range t.order {
		own := t.writes[key]
		v := version{value: own[len(own)-1], commit: t.commit, shown: t.commit}
		if n > 0 && !atomic {
			v.shown += 1 + t.s.rng.Int64N(d.opt.lag)
		}
		d.install(key, v, horizon)
	}
}

func (t *tx) end() {
	t.ended = true
	close(t.done)
	d := t.s.db
	d.active = slices.DeleteFunc(d.active, func(u *tx) bool { return u == t })
	if t.s.open == t {
		t.s.open = nil
	}
}

// certify returns the reason why t must not commit.
func (t *tx) certify() error {
	d := t.s.db
	if d.iso.locking {
		return nil // its locks have excluded all others
	}
	first := t.light
	if d.iso.keeps[firstCommitterWins] {
		first = t.s.keeps(firstCommitterWins)
	}
	if first {
		for _, key := range t.order {
			if v, ok := d.item(key).newest(); ok && !t.snap.shows(v) {
				return aborted("not the first committer")
			}
		}
	}
	if d.iso.keeps[dangerousStructure] && t.dangerous() && t.s.keeps(dangerousStructure) {
		return aborted("dangerous structure")
	}
	return nil
}

// dangerous reports whether t completes two consecutive anti-dependencies, a to b to c, between
// concurrent transactions, of which c committed first. It checks t as b and as a. As c, t would
// be the last to commit, so that case cannot occur.
func (t *tx) dangerous() bool {
	lastIn, danger := int64(0), false
	for _, u := range t.s.db.recent {
		if t.snap.has(u.commit) {
			continue // not concurrent
		}
		if t.overwritten(u) {
			if t.firstOut == 0 {
				t.firstOut = u.commit
			}
			danger = danger || u.firstOut > 0
		}
		if t.overwrote(u) {
			lastIn = u.commit
		}
	}
	return danger || t.firstOut > 0 && t.firstOut <= lastIn
}

// overwritten reports whether u is known to have written something that t read.
func (t *tx) overwritten(u *tx) bool {
	return slices.ContainsFunc(u.order, func(key string) bool { return t.covers(key) && t.missed[key] != u.commit })
}
