package etcd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// version names a version of a key by the revision that made it.
type version struct {
	key      string
	revision int64
}

// put is a value that is put to a key.
type put struct {
	key   string
	value value
}

// maker makes transactions of a report.
type maker struct {
	sym *history.Symbols
	ops []operation
	// told has the changes that watches tell, by revision.
	told map[int64]map[string]event
	// values has the value of each version that is known; keys has all keys that occur.
	values map[version]value
	keys   map[string]bool
	// owner has the request of each revision of which the answer is known, as an index of ops.
	owner map[int64]int
	// puts counts the requests that put a value, executed or not.
	puts map[put]int
	// sorted is keys in order. spare is how many more reads of absent keys are made.
	sorted []string
	spare  int

	out []history.Record
	// last is the highest number of a session, newest the highest revision that occurs.
	last, newest int64
	leases       bool

	strange map[string]int // requests and steps of types that are not known
	// placed and open count requests with lost answers that wrote, or would: with a place in the watches, and without.
	placed, open, beyond, stale, unnamed int
	// wrong counts contradictions, firstWrong is one of them.
	wrong      int
	firstWrong string
}

// maxAbsent bounds the reads of absent keys that ranges add. A small report could ask for very many.
const maxAbsent = 20_000_000

func newMaker(sym *history.Symbols) *maker {
	return &maker{
		sym: sym, told: map[int64]map[string]event{}, values: map[version]value{}, keys: map[string]bool{},
		owner: map[int64]int{}, puts: map[put]int{}, strange: map[string]int{}, spare: maxAbsent,
	}
}

// Replaced bytes could make two keys or values equal.
var errNotUTF8 = errors.New("the line is not valid UTF-8")

// operation reads a line of operations.json.
func (m *maker) operation(line []byte) error {
	if !utf8.Valid(line) {
		return errNotUTF8
	}
	var op operation
	if err := json.Unmarshal(line, &op); err != nil {
		return errors.WithStack(err)
	}
	if err := op.check(); err != nil {
		return err
	}
	m.last = max(m.last, op.ClientID)
	m.newest = max(m.newest, op.Output.Revision)
	m.ops = append(m.ops, op)
	return nil
}

// check reports what is wrong with a request and its answer.
func (op *operation) check() error {
	in, out := &op.Input, &op.Output
	switch {
	case in.Type == "":
		return errors.New("this is no operation of a report of etcd: it has no Input with a Type")
	case in.Type == typeRange && in.Range == nil || in.Type == typeTxn && in.Txn == nil:
		return errors.Errorf("the request is of type %s, but has no such part", in.Type)
	case out.Revision < 0:
		return errors.Errorf("the revision is %d", out.Revision)
	case op.lost() || out.ClientError != "":
		return nil
	case in.Type == typeRange && out.Range == nil || in.Type == typeTxn && out.Txn == nil:
		return errors.Errorf("the request is of type %s, but its answer is of another one", in.Type)
	case op.Return < op.Call:
		return errors.Errorf("the answer came at %d, before the request at %d", op.Return, op.Call)
	}
	if in.Type == typeTxn {
		if steps, results := len(op.steps(!out.Txn.Failure)), len(out.Txn.Results); steps != results {
			return errors.Errorf("the transaction has %d operations, but %d results", steps, results)
		}
	}
	return nil
}

// lost reports whether the answer is not known.
func (op *operation) lost() bool {
	return op.Output.Error != "" || op.Output.Persisted || op.Output.PartialResponse
}

// steps returns the operations for conditions that hold, or for those that do not.
func (op *operation) steps(hold bool) []step {
	if hold {
		return op.Input.Txn.OperationsOnSuccess
	}
	return op.Input.Txn.OperationsOnFailure
}

// watch reads a line of watch.json.
func (m *maker) watch(line []byte) error {
	if !utf8.Valid(line) {
		return errNotUTF8
	}
	var w watch
	if err := json.Unmarshal(line, &w); err != nil {
		return errors.WithStack(err)
	}
	for _, resp := range w.Responses {
		for _, e := range resp.Events {
			if e.Type != putStep && e.Type != deleteStep || e.Revision < 1 {
				return errors.Errorf("an event of type %q at revision %d is none of etcd's", e.Type, e.Revision)
			}
			if m.told[e.Revision] == nil {
				m.told[e.Revision] = map[string]event{}
			}
			if other, twice := m.told[e.Revision][e.Key]; twice && other != e {
				m.contradiction("watches tell of two different changes of %s at revision %d", e.Key, e.Revision)
			} else if !twice {
				m.told[e.Revision][e.Key] = e
			}
			m.newest = max(m.newest, e.Revision)
		}
	}
	return nil
}

func (m *maker) contradiction(format string, args ...any) {
	if m.wrong++; m.wrong == 1 {
		m.firstWrong = fmt.Sprintf(format, args...)
	}
}

// learn remembers the value of a version.
func (m *maker) learn(key string, revision int64, v value) {
	m.keys[key] = true
	at := version{key, revision}
	if other, known := m.values[at]; revision > 0 && known && other != v {
		m.contradiction("%s has two values at revision %d: %s and %s", key, revision, show(other), show(v))
	} else if revision > 0 {
		m.values[at] = v
	}
}

// inOrder returns the keys of a map, sorted.
func inOrder[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func show(v value) string {
	if v.Hash != 0 {
		return fmt.Sprintf("hash %d", v.Hash)
	}
	return strconv.Quote(v.Value)
}

// records makes the transactions, and notes on them.
func (m *maker) records() ([]history.Record, []string) {
	slices.SortStableFunc(m.ops, func(a, b operation) int { return cmp.Compare(a.Call, b.Call) })
	ends := map[int64]int{} // the last request of each session
	for i := range m.ops {
		m.survey(i)
		ends[m.ops[i].ClientID] = i
	}
	for _, revision := range inOrder(m.told) { // the first contradiction is told
		events := m.told[revision]
		for _, key := range inOrder(events) {
			if e := events[key]; e.Type == putStep {
				m.learn(key, revision, e.Value)
			}
			m.keys[key] = true
		}
		if i, known := m.owner[revision]; known {
			m.compare(revision, i)
		}
	}
	m.sorted = inOrder(m.keys)
	unclaimed := m.unclaimed()
	for i := range m.ops {
		switch op := &m.ops[i]; {
		case op.Output.ClientError != "":
		case op.lost() && op.Input.Type == typeTxn:
			m.lost(op, unclaimed, ends[op.ClientID] == i)
		case op.lost():
		case op.Input.Type == typeRange:
			m.ranged(op)
		case op.Input.Type == typeTxn:
			m.answered(op)
		}
	}
	m.unrecorded()
	for i := range m.out {
		m.out[i].ID = int64(i + 1)
	}
	return m.out, m.notes()
}

// survey looks at a request: which keys occur, which versions are known, which revisions have an owner.
func (m *maker) survey(i int) {
	op := &m.ops[i]
	out := &op.Output
	switch {
	case without[op.Input.Type]:
	case op.Input.Type == typeRange:
		if op.Input.Range.End == "" {
			m.keys[op.Input.Range.Start] = true
		}
		if out.Range != nil {
			m.rows(out.Range)
		}
	case op.Input.Type == typeTxn:
		for _, c := range op.Input.Txn.Conditions {
			m.keys[c.Key] = true
		}
		for _, hold := range []bool{true, false} {
			for _, s := range op.steps(hold) {
				switch s.Type {
				case putStep:
					m.keys[s.Put.Key] = true
					m.puts[put{s.Put.Key, s.Put.Value}]++
					m.leases = m.leases || s.Put.LeaseID != 0
				case deleteStep:
					m.keys[s.Delete.Key] = true
				case rangeStep:
					if s.Range.End == "" {
						m.keys[s.Range.Start] = true
					}
				default:
					m.strange["operation "+strconv.Quote(s.Type)]++
				}
			}
		}
		if op.lost() || out.Txn == nil {
			return
		}
		wrote := false
		for n, s := range op.steps(!out.Txn.Failure) {
			m.rows(&out.Txn.Results[n].rows)
			if s.Type == putStep {
				m.learn(s.Put.Key, out.Revision, s.Put.Value)
			}
			wrote = wrote || s.Type == putStep || s.Type == deleteStep && out.Txn.Results[n].Deleted > 0
		}
		if !wrote || out.Revision == 0 {
			return
		}
		if other, twice := m.owner[out.Revision]; twice {
			m.contradiction("two requests made revision %d, at %d ns and at %d ns", out.Revision, m.ops[other].Call, op.Call)
		}
		m.owner[out.Revision] = i
	default:
		m.strange["request "+strconv.Quote(op.Input.Type)]++
	}
}

func (m *maker) rows(r *rows) {
	for _, kv := range r.KVs {
		m.learn(kv.Key, kv.ModRevision, kv.Value)
	}
}

// compare reports whether watches tell at a revision what its request changed. A watch of some keys need not tell
// everything.
func (m *maker) compare(revision int64, i int) {
	op := &m.ops[i]
	changes := map[string]event{}
	for n, s := range op.steps(!op.Output.Txn.Failure) {
		switch {
		case s.Type == putStep:
			changes[s.Put.Key] = event{putStep, s.Put.Key, s.Put.Value, revision}
		case s.Type == deleteStep && op.Output.Txn.Results[n].Deleted > 0:
			changes[s.Delete.Key] = event{Type: deleteStep, Key: s.Delete.Key, Revision: revision}
		}
	}
	for _, key := range inOrder(m.told[revision]) {
		e := m.told[revision][key]
		if c, ok := changes[key]; !ok || c.Type != e.Type || c.Type == putStep && c.Value != e.Value {
			m.contradiction("watches tell at revision %d of a change of %s that its request did not make", revision, key)
		}
	}
}

// unclaimed returns where watches tell of each put at a revision without a known request.
func (m *maker) unclaimed() map[put][]int64 {
	at := map[put][]int64{}
	for _, revision := range inOrder(m.told) {
		if _, known := m.owner[revision]; known {
			continue
		}
		for key, e := range m.told[revision] {
			if e.Type == putStep {
				p := put{key, e.Value}
				at[p] = append(at[p], revision)
			}
		}
	}
	return at
}
