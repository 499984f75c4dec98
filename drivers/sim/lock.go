package sim

import (
	"context"
	"slices"
	"strings"
)

// lockRead waits until no other open transaction has written key. The caller records the lock.
func (t *tx) lockRead(ctx context.Context, key string) error {
	if !t.s.db.iso.locking {
		return nil
	}
	return t.wait(ctx, func(u *tx) bool { return u.writes[key] != nil })
}

// lockRange waits until no other open transaction has written a key with the prefix.
func (t *tx) lockRange(ctx context.Context, prefix string) error {
	if !t.s.db.iso.locking {
		return nil
	}
	return t.wait(ctx, func(u *tx) bool {
		return slices.ContainsFunc(u.order, func(key string) bool { return strings.HasPrefix(key, prefix) })
	})
}

// lockWrite waits until no other open transaction has read or written key, or read a range that
// contains it.
func (t *tx) lockWrite(ctx context.Context, key string) error {
	if !t.s.db.iso.locking {
		return nil
	}
	return t.wait(ctx, func(u *tx) bool { return u.writes[key] != nil || u.covers(key) })
}

// wait waits, with the store unlocked, until no other transaction blocks. It fails if t would
// wait for itself, or when ctx ends.
//
// A transaction waits for one of its blockers at a time, and looks for a cycle again when that
// one has ended. The last transaction to close a cycle of waits detects it.
// one that closes it.
func (t *tx) wait(ctx context.Context, blocks func(u *tx) bool) error {
	d := t.s.db
	defer func() { t.waiting = nil }()
	for {
		t.waiting = nil
		for _, u := range d.active {
			if u != t && blocks(u) {
				t.waiting = append(t.waiting, u)
			}
		}
		if len(t.waiting) == 0 {
			return nil
		}
		if t.waitsFor(t, map[*tx]bool{}) {
			return aborted("deadlock")
		}
		first := t.waiting[0]
		d.mu.Unlock()
		select {
		case <-first.done:
		case <-ctx.Done():
		}
		d.mu.Lock()
		if ctx.Err() != nil {
			return timedOut(ctx)
		}
	}
}

// waitsFor reports whether t waits for u, directly or through others.
func (t *tx) waitsFor(u *tx, seen map[*tx]bool) bool {
	for _, w := range t.waiting {
		if w == u {
			return true
		}
		if !seen[w] {
			seen[w] = true
			if w.waitsFor(u, seen) {
				return true
			}
		}
	}
	return false
}
