package replay

import (
	"fmt"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// another counts what does not fit, if something did not fit before: then it needs no words, and nobody has to look for
// them. In a history with many misfits that would take long.
func (r *run) another() bool {
	if r.misfits > 0 {
		r.misfits++
		return true
	}
	return false
}

// misfit counts what does not fit. The first is put into words.
func (r *run) misfit(words func() string, txns ...int32) {
	if r.another() {
		return
	}
	r.misfits++
	for _, i := range txns {
		if i >= 0 {
			r.txns = append(r.txns, i)
		}
	}
	r.text = words()
}

// tooEarly says that a transaction comes before an earlier one of its session.
func (r *run) tooEarly(i int32, t *history.Txn) {
	if r.another() {
		return
	}
	before := verdict.FromInitial
	for j, skipped := int32(0), r.placed[t.Session]; j < i; j++ {
		if u := &r.h.Txns[j]; u.Session == t.Session && u.Status == history.Committed {
			if skipped--; skipped < 0 {
				before = j
				break
			}
		}
	}
	if before < 0 {
		before = i // unreachable: a transaction of the session is not placed
	}
	r.misfit(func() string {
		return fmt.Sprintf("session %d ran %s before %s, and %s says that %s came before %s",
			r.h.SessionName(t.Session), r.name(before), r.name(i), r.database(), r.name(i)+r.place(i), r.name(before)+r.place(before))
	}, before, i)
}

// tooLate says that a transaction ended before one began that comes before it.
func (r *run) tooLate(i int32) {
	r.misfit(func() string {
		return fmt.Sprintf("%s ended before %s began, and %s says that %s came before %s",
			r.name(i), r.name(r.newest), r.database(), r.name(r.newest)+r.place(r.newest), r.name(i)+r.place(i))
	}, i, r.newest)
}

// notFirst says that another transaction wrote a key between a transaction's snapshot and its commit.
func (r *run) notFirst(i int32, k history.Key) {
	other := r.writer[k]
	r.misfit(func() string {
		return fmt.Sprintf("%s says that %s committed after the snapshot of %s and before its commit, and both wrote %s",
			r.database(), r.name(other)+r.place(other), r.name(i)+r.place(i), r.h.KeyName(k))
	}, other, i)
}

// misread says what is wrong about a read.
func (r *run) misread(i int32, n int) {
	if r.another() {
		return
	}
	op := r.h.Ops(&r.h.Txns[i])[n]
	for _, before := range r.h.Ops(&r.h.Txns[i])[:n] {
		if before.Kind == history.Write && before.Key == op.Key {
			r.misfit(func() string {
				return fmt.Sprintf("%s %s, which it had written itself before", r.name(i), r.did(i, n, op))
			}, i)
			return
		}
	}
	now := r.writer[op.Key]
	if op.Kind == history.ReadNot {
		r.misfit(func() string {
			return fmt.Sprintf("%s says that %s was current at %s%s, and %s %s", r.database(), r.version(now, op.Key), r.name(i), r.place(i), r.name(i), r.did(i, n, op))
		}, now, i)
		return
	}
	from, found := r.origin(op)
	if at := r.h.Commit(op.Value); !found && at != 0 {
		r.misfit(func() string {
			return fmt.Sprintf("%s says that %s%s %s, and no transaction with the position %d left that value", r.database(), r.name(i), r.place(i), r.did(i, n, op), at)
		}, i)
		return
	}
	if !found {
		r.misfit(func() string {
			return fmt.Sprintf("%s%s %s, which no transaction wrote that takes part", r.name(i), r.place(i), r.did(i, n, op))
		}, i)
		return
	}
	r.misfit(func() string {
		text := fmt.Sprintf("%s%s %s", r.name(i), r.place(i), r.did(i, n, op))
		if now >= 0 && r.before(from, now) {
			return fmt.Sprintf("%s says that %s came before %s, and %s, which %s had overwritten",
				r.database(), r.version(from, op.Key), r.name(now)+r.place(now), text, r.name(now))
		}
		return fmt.Sprintf("%s says that %s came after %s, and %s", r.database(), r.version(from, op.Key), r.name(i), text)
	}, from, now, i)
}

// did says what an operation was.
func (r *run) did(i int32, n int, op history.Op) string {
	key, value := r.h.KeyName(op.Key), r.h.ValueText(op.Value)
	p, implied := r.h.PredicateOf(int(i), n)
	switch {
	case implied:
		return fmt.Sprintf("did not see %s = %s when it looked for %s", key, value, p.Asked())
	case op.Kind == history.ReadNot:
		return fmt.Sprintf("saw that %s was not %s", key, value)
	}
	if v := r.h.Version(&r.h.Txns[i], n); v != 0 {
		value += fmt.Sprintf(" (version %d)", history.SpellVersion(v))
	}
	return fmt.Sprintf("read %s = %s", key, value)
}

// origin finds a transaction that takes part and left a key with the value that was read, or FromInitial.
func (r *run) origin(op history.Op) (i int32, found bool) {
	write := history.Op{Kind: history.Write, Key: op.Key, Value: op.Value}
	for _, e := range r.events {
		if e.kind() == start {
			continue
		}
		for _, o := range r.h.Ops(&r.h.Txns[e.txn()]) {
			if o.Key == write.Key && o.Kind == history.Write {
				found = o.Value == write.Value
				i = e.txn()
			}
		}
		if found && i == e.txn() {
			return i, true
		}
	}
	return verdict.FromInitial, r.h.Initial(op.Key) == op.Value
}

// before reports whether a transaction, or the initial state, comes before another in the order.
func (r *run) before(a, b int32) bool {
	if a < 0 {
		return true
	}
	for _, e := range r.events {
		if e.kind() != start && (e.txn() == a || e.txn() == b) {
			return e.txn() == a
		}
	}
	return false
}

// version is what a transaction, or nobody, wrote to a key.
func (r *run) version(i int32, k history.Key) string {
	if i < 0 {
		return "the initial value of " + r.h.KeyName(k)
	}
	return fmt.Sprintf("what %s wrote to %s", r.name(i)+r.place(i), r.h.KeyName(k))
}

func (r *run) name(i int32) string { return fmt.Sprintf("T%d", r.h.Txns[i].ID) }

// place is where the database says it placed a transaction, in brackets.
func (r *run) place(i int32) string {
	if r.guessed != nil {
		return r.placeBySnapshot(i)
	}
	switch c := r.h.Claim(int(i)); {
	case r.byPoints && c.Commit != 0 && c.Snapped:
		return fmt.Sprintf(" (snapshot %d, commit %d)", c.Snapshot, c.Commit)
	case c.Commit != 0 && !(c.Snapped && kindOf(r.h.Ops(&r.h.Txns[i])) == reads):
		return fmt.Sprintf(" (commit %d)", c.Commit)
	case c.Snapped:
		return fmt.Sprintf(" (snapshot %d)", c.Snapshot)
	}
	return " (without a position)"
}

// placeBySnapshot is the number and the snapshot of a transaction, in brackets.
func (r *run) placeBySnapshot(i int32) string {
	number, v := r.h.DBTxn(int(i)), r.h.Claim(int(i)).Visible
	switch {
	case number != 0 && v != nil:
		return fmt.Sprintf(" (%d, snapshot %s)", number, v)
	case number != 0:
		return fmt.Sprintf(" (%d)", number)
	case v != nil:
		return fmt.Sprintf(" (snapshot %s)", v)
	}
	return " (without a position)"
}

func (r *run) database() string {
	if r.h.Driver != "" {
		return r.h.Driver
	}
	return "the database"
}
