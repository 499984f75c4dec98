package etcd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/history"
)

// begin makes the record of a request.
func begin(op *operation) history.Record {
	return history.Record{
		Session: op.ClientID, Begin: op.Call, End: op.Return, Due: history.NoTime, Status: history.Committed,
	}
}

// apart puts a transaction into a session of its own, without times.
func (m *maker) apart(rec *history.Record) {
	m.last++
	rec.Session, rec.Begin, rec.End = m.last, history.NoTime, history.NoTime
}

func (m *maker) op(kind history.OpKind, key string, v history.Value) history.Op {
	return history.Op{Kind: kind, Key: m.sym.Key(key), Value: v}
}

// value returns a value: an integer where its text is one as Go writes it, else the text.
func (m *maker) value(v value) history.Value {
	if v.Hash != 0 { // etcd tells values of 20 bytes and more by their hash only, so no value that is told is as long as this text
		return m.sym.String(fmt.Sprintf("value with the hash %d", v.Hash))
	}
	if n, err := strconv.ParseInt(v.Value, 10, 64); err == nil && strconv.FormatInt(n, 10) == v.Value {
		return m.sym.Int(n)
	}
	return m.sym.String(v.Value)
}

// found returns the reads of a range.
func (m *maker) found(rec *history.Record, b bounds, r *rows) {
	in, last := map[string]bool{}, ""
	for _, kv := range r.KVs {
		rec.Ops = append(rec.Ops, m.op(history.Read, kv.Key, m.value(kv.Value)))
		rec.Tell(kv.ModRevision)
		in[kv.Key], last = true, max(last, kv.Key)
	}
	keys := m.sorted
	from, _ := slices.BinarySearch(keys, b.Start)
	to := len(keys)
	switch b.End {
	case "":
		to, _ = slices.BinarySearch(keys, b.Start+"\x00")
	case "\x00":
	default:
		to, _ = slices.BinarySearch(keys, b.End)
	}
	if int64(len(r.KVs)) < r.Count {
		to, _ = slices.BinarySearch(keys, last)
	}
	for _, k := range keys[from:max(from, to)] {
		if in[k] {
			continue
		}
		if m.spare--; m.spare < 0 {
			m.beyond++
			break
		}
		rec.Ops = append(rec.Ops, m.op(history.Read, k, history.Absent))
	}
}

// ranged adds a request that reads a range.
func (m *maker) ranged(op *operation) {
	rec := begin(op)
	m.found(&rec, op.Input.Range.bounds, op.Output.Range)
	rec.Claim.Snapshot, rec.Claim.Snapped = op.Output.Revision, op.Output.Revision > 0
	if at := op.Input.Range.Revision; at > 0 {
		m.stale++
		m.apart(&rec)
		rec.Claim.Snapshot, rec.Claim.Snapped = at, true
	}
	m.add(rec)
}

// answered adds a transaction whose answer is known.
func (m *maker) answered(op *operation) {
	rec := begin(op)
	out := op.Output.Txn
	m.conditions(&rec, op, !out.Failure)
	wrote := false
	for n, s := range op.steps(!out.Failure) {
		switch r := &out.Results[n]; {
		case s.Type == rangeStep:
			m.found(&rec, s.Range, &r.rows)
		case s.Type == putStep:
			rec.Ops = append(rec.Ops, m.op(history.Write, s.Put.Key, m.value(s.Put.Value)))
			wrote = true
		case s.Type == deleteStep && r.Deleted > 0:
			rec.Ops = append(rec.Ops, m.op(history.ReadNot, s.Delete.Key, history.Absent), m.op(history.Write, s.Delete.Key, history.Absent))
			wrote = true
		case s.Type == deleteStep:
			rec.Ops = append(rec.Ops, m.op(history.Read, s.Delete.Key, history.Absent))
		}
	}
	if wrote {
		rec.Claim.Commit, rec.DBTxn = op.Output.Revision, op.Output.Revision
	} else {
		rec.Claim.Snapshot, rec.Claim.Snapped = op.Output.Revision, op.Output.Revision > 0
	}
	m.add(rec)
}

// add adds a transaction, unless it did nothing.
func (m *maker) add(rec history.Record) {
	if len(rec.Ops) > 0 {
		m.out = append(m.out, rec)
	}
}

// conditions adds what a transaction read because its conditions held, or did not.
func (m *maker) conditions(rec *history.Record, op *operation, hold bool) {
	list := op.Input.Txn.Conditions
	if !hold && len(list) != 1 {
		return
	}
	for _, c := range list {
		kind, v := history.Read, history.Absent
		if !hold {
			kind = history.ReadNot
		}
		if c.ExpectedVersion > 0 || c.ExpectedRevision > 0 {
			known, ok := m.values[version{c.Key, c.ExpectedRevision}]
			// Another version may have the same value.
			if !ok || c.ExpectedVersion > 0 || !hold && m.puts[put{c.Key, known}] > 1 {
				m.unnamed++
				continue
			}
			v = m.value(known)
		}
		if rec.Ops = append(rec.Ops, m.op(kind, c.Key, v)); hold && v != history.Absent {
			rec.Tell(c.ExpectedRevision)
		}
	}
}

// lost adds a transaction whose answer was lost. It committed where watches tell of all its changes, if no other request
// can have made them. Otherwise its outcome is unknown; one that may have done two things is there twice.
func (m *maker) lost(op *operation, unclaimed map[put][]int64, ends bool) {
	var maybe []history.Record
	for _, hold := range []bool{true, false} {
		if !hold && len(op.Input.Txn.Conditions) == 0 {
			continue
		}
		changes := map[string]event{}
		rec := begin(op)
		rec.Status, rec.End, rec.Cause = history.Unknown, history.NoTime, op.Output.Error
		m.conditions(&rec, op, hold)
		for _, s := range op.steps(hold) {
			switch s.Type {
			case putStep:
				changes[s.Put.Key] = event{Type: putStep, Key: s.Put.Key, Value: s.Put.Value}
				rec.Ops = append(rec.Ops, m.op(history.Write, s.Put.Key, m.value(s.Put.Value)))
			case deleteStep:
				changes[s.Delete.Key] = event{Type: deleteStep, Key: s.Delete.Key}
				rec.Ops = append(rec.Ops, m.op(history.Write, s.Delete.Key, history.Absent))
			}
		}
		if len(changes) == 0 {
			continue
		}
		if revision := m.place(changes, unclaimed); revision > 0 {
			m.placed++
			rec.Status, rec.Cause, rec.DBTxn = history.Committed, "", revision
			rec.Claim.Commit = revision
			m.owner[revision] = -1
			maybe = []history.Record{rec}
			break
		}
		maybe = append(maybe, rec)
	}
	for n, rec := range maybe {
		if rec.Status == history.Unknown && n == 0 {
			m.open++
		}
		// Its effect may come after later requests of its session.
		if !ends || n > 0 {
			begin := rec.Begin
			m.apart(&rec)
			rec.Begin = begin
		}
		m.add(rec)
	}
}

// place returns the revision at which watches tell of these changes and of no other one, or 0 if there is none, or if
// another request may have made them. A deletion may come from the end of a lease, so a put must be among them.
func (m *maker) place(changes map[string]event, unclaimed map[put][]int64) int64 {
	for key, c := range changes {
		p := put{key, c.Value}
		if c.Type != putStep || m.puts[p] != 1 || len(unclaimed[p]) != 1 {
			continue
		}
		revision := unclaimed[p][0]
		for k, e := range m.told[revision] {
			if own, ok := changes[k]; !ok || own.Type != e.Type || own.Value != e.Value && e.Type == putStep {
				return 0
			}
		}
		for k, own := range changes {
			if _, told := m.told[revision][k]; !told && own.Type == putStep {
				return 0
			}
		}
		return revision
	}
	return 0
}

// unrecorded adds the changes that watches tell and that belong to no request.
func (m *maker) unrecorded() {
	for _, revision := range slices.Sorted(maps.Keys(m.told)) {
		if _, known := m.owner[revision]; known {
			continue
		}
		rec := history.Record{Due: history.NoTime, Status: history.Committed, DBTxn: revision, Claim: history.Claim{Commit: revision}}
		m.apart(&rec)
		events := m.told[revision]
		for _, key := range slices.Sorted(maps.Keys(events)) {
			v := history.Absent
			if e := events[key]; e.Type == putStep {
				v = m.value(e.Value)
			}
			rec.Ops = append(rec.Ops, m.op(history.Write, key, v))
		}
		m.owner[revision] = -1
		m.add(rec)
	}
}

// missing returns how many revisions have no writer. The first change of an empty etcd makes revision 2.
func (m *maker) missing() int64 {
	first := int64(2)
	n := max(m.newest-first+1, 0)
	for revision := range m.owner {
		if revision >= first {
			n--
		}
	}
	return n
}

// leftOut says what is not known of the writes, or "". Each missing revision may be that of a request whose answer was
// lost, if no lease can have made it.
func (m *maker) leftOut() string {
	var parts []string
	if n := m.missing(); n > int64(m.open) || n > 0 && m.leases {
		parts = append(parts, fmt.Sprintf("the changes of %d of %d revisions, which are in no request and in no watch", n, m.newest-1))
	}
	for _, what := range slices.Sorted(maps.Keys(m.strange)) {
		parts = append(parts, fmt.Sprintf("%d of the type %s", m.strange[what], what))
	}
	return strings.Join(parts, "; ")
}

// notes says what was assumed.
func (m *maker) notes() []string {
	var notes []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	add(m.wrong, "etcd contradicts itself %d times: %s", m.wrong, m.firstWrong)
	add(m.placed+m.open, "the answers of %d requests that write were lost; watches show that %d of them committed", m.placed+m.open, m.placed)
	add(m.stale, "%d ranges at an older revision have sessions of their own, without times", m.stale)
	add(m.unnamed, "%d conditions say nothing here: their version is not known, or not told apart from others", m.unnamed)
	add(m.beyond, "%d ranges are read without the keys that they did not find", m.beyond)
	return notes
}
