package debezium

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
)

// txn is a transaction of the database.
type txn struct {
	number int64 // in the database, or 0
	commit int64 // in the claimed order, 0 if it is not known
	ops    []history.Op
	events int64
	seen   map[int64]bool // total_order of the events
	place  place
	placed bool
	marked bool // BEGIN or END was seen
	counts int64
}

// maker makes transactions of change events.
type maker struct {
	sym       *history.Symbols
	connector string
	txns      map[string]*txn
	order     []*txn // in the order of their first events
	marks     []*txn // in the order of BEGIN or END
	// shape has the names of the columns that a row had at last.
	shape map[history.Key]string
	// guessed has the column that was taken for the key of tables without keys.
	guessed map[string]string

	truncated, repeated, tables, late int
	// torn counts the transactions that lack events. unmarked counts those without BEGIN and END, where others have them.
	torn, unmarked int
	byLines        bool
}

func newMaker(sym *history.Symbols) *maker {
	return &maker{sym: sym, txns: map[string]*txn{}, shape: map[history.Key]string{}, guessed: map[string]string{}}
}

// line reads a line.
func (m *maker) line(line []byte) error {
	key, msg, err := parse(line)
	switch {
	case err != nil || msg == nil:
		return err
	case msg.Op == "" && msg.Status != nil:
		return m.mark(msg)
	case msg.Op == "" && msg.DDL != nil:
		m.tables++
		return nil
	case msg.Op == "" || msg.Source == nil:
		return errors.New("this is no change event of Debezium: it has no op and source. Events that were flattened (ExtractNewRecordState) do not say enough")
	}
	switch c := msg.Source.Connector; c {
	case Postgres, mysql, mariadb:
		if m.connector == "" {
			m.connector = c
		}
		if m.connector != c {
			return errors.Errorf("the event is of the connector %s, those before are of %s", c, m.connector)
		}
	default:
		return errors.Errorf("the event is of the connector %q; those that are read are %s, %s and %s", c, mysql, mariadb, Postgres)
	}
	switch msg.Op {
	case "c", "u", "d", "r":
		return m.change(key, msg)
	case "t":
		m.truncated++
	case "m": // a message of the application
	default:
		return errors.Errorf("the op is %q; it must be c, u, d, r, t or m", msg.Op)
	}
	return nil
}

// mark reads BEGIN or END.
func (m *maker) mark(msg *message) error {
	var status, id string
	if json.Unmarshal(msg.Status, &status) != nil || json.Unmarshal(msg.ID, &id) != nil || status != "BEGIN" && status != "END" || id == "" {
		return errors.New(`the event has a status, but is neither BEGIN nor END of a transaction with an id`)
	}
	// Events of MySQL have GTIDs, or the text file=…,pos=…; of PostgreSQL xid:lsn.
	_, digits := strconv.ParseInt(short(id, true), 10, 64)
	t := m.txn(short(id, digits == nil))
	if !t.marked {
		t.marked = true
		m.marks = append(m.marks, t)
	}
	if msg.EventCount != nil {
		t.counts = *msg.EventCount
	}
	return nil
}

func (m *maker) txn(name string) *txn {
	t := m.txns[name]
	if t == nil {
		t = &txn{seen: map[int64]bool{}}
		m.txns[name] = t
		m.order = append(m.order, t)
	}
	return t
}

// change reads the change of a row, or its content at the begin.
func (m *maker) change(rawKey json.RawMessage, msg *message) error {
	before, err := columns(msg.Before)
	if err != nil {
		return errors.Wrap(err, "before")
	}
	after, err := columns(msg.After)
	if err != nil {
		return errors.Wrap(err, "after")
	}
	keyed, err := columns(rawKey)
	if err != nil {
		return errors.Wrap(err, "the key")
	}
	switch {
	case msg.Op != "d" && after == nil:
		return errors.Errorf("an event with op %s has no row in after", msg.Op)
	case msg.Op == "d" && before == nil && keyed == nil:
		return errors.New("a deletion has neither a key nor a row in before")
	}
	row := after
	if row == nil {
		row = before
	}
	key, rest, err := m.item(msg.Source, keyed, row)
	if err != nil {
		return err
	}
	shape, known := m.shape[key]
	if msg.Op == "r" {
		if known {
			m.late++ // it says again what the changes said
			return nil
		}
		m.sym.SetInitial(key, m.value(after, rest))
		m.shape[key] = names(after)
		return nil
	}
	name, number, err := msg.transaction()
	if err != nil {
		return err
	}
	t := m.txn(name)
	if msg.Transaction != nil && msg.Transaction.TotalOrder > 0 {
		if t.seen[msg.Transaction.TotalOrder] {
			m.repeated++ // Debezium repeats events after a restart
			return nil
		}
		t.seen[msg.Transaction.TotalOrder] = true
	}
	if t.events++; t.events == 1 {
		t.number = number
		t.place, t.placed = msg.Source.place()
	}
	m.reads(t, key, msg, before, rest, shape, known)
	v := history.Absent
	m.shape[key] = ""
	if msg.Op != "d" {
		v = m.value(after, rest)
		m.shape[key] = names(after)
	}
	t.ops = append(t.ops, history.Op{Kind: history.Write, Key: key, Value: v})
	return nil
}

// reads adds what a change of MySQL and MariaDB overwrote, if the row had the same columns before. shape is "" for a row
// that was deleted.
func (m *maker) reads(t *txn, key history.Key, msg *message, before []column, rest map[string]bool, shape string, known bool) {
	if msg.Source.Connector == Postgres {
		return
	}
	v := history.Absent // for c: the row was not there
	if msg.Op != "c" {
		if before == nil || known && shape != "" && names(before) != shape {
			return
		}
		v = m.value(before, rest)
		if !known {
			m.sym.SetInitial(key, v)
		}
	}
	t.ops = append(t.ops, history.Op{Kind: history.Read, Key: key, Value: v})
}

// item returns the key of a row, and which columns belong to its primary key.
func (m *maker) item(s *source, keyed, row []column) (history.Key, map[string]bool, error) {
	table := s.DB + "." + s.Table
	if s.Connector == Postgres {
		table = s.Schema + "." + s.Table
	}
	if keyed == nil {
		if len(row) == 0 {
			return 0, nil, errors.New("the row has no columns")
		}
		name, ok := m.guessed[table]
		if !ok {
			name = row[0].name
			if slices.ContainsFunc(row, func(c column) bool { return c.name == "id" }) {
				name = "id"
			}
			m.guessed[table] = name
		}
		at := slices.IndexFunc(row, func(c column) bool { return c.name == name })
		if at < 0 {
			return 0, nil, errors.Errorf("the row of %s has no column %s, which was taken for its key", table, name)
		}
		keyed = row[at : at+1]
	}
	primary := map[string]bool{}
	var values []string
	for _, c := range keyed {
		primary[c.name] = true
		values = append(values, c.value)
	}
	return m.sym.Key(table + "(" + strings.Join(values, ",") + ")"), primary, nil
}

// value returns the value of a row: the integer in its only column that is not in its key, or the text of an object.
func (m *maker) value(row []column, primary map[string]bool) history.Value {
	var rest []column
	for _, c := range row {
		if !primary[c.name] {
			rest = append(rest, c)
		}
	}
	if len(rest) == 1 {
		if n, err := strconv.ParseInt(rest[0].value, 10, 64); err == nil {
			return m.sym.Int(n)
		}
	}
	var b strings.Builder
	b.WriteString("{")
	for i, c := range rest {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "%s:%s", c.name, c.value)
	}
	b.WriteString("}")
	return m.sym.String(b.String())
}

// ordered returns the transactions in the claimed order, with their positions.
func (m *maker) ordered() []*txn {
	list := m.order
	switch {
	case len(m.marks) > 0:
		list = slices.Clone(m.marks)
		for _, t := range m.order {
			if !t.marked {
				m.unmarked++
				list = append(list, t)
			}
		}
	case !slices.ContainsFunc(list, func(t *txn) bool { return !t.placed }):
		slices.SortStableFunc(list, func(a, b *txn) int {
			return cmp.Or(strings.Compare(a.place.file, b.place.file), cmp.Compare(a.place.at, b.place.at))
		})
	default:
		m.byLines = true
	}
	out := list[:0]
	for i, t := range list {
		if t.counts > t.events {
			m.torn++
		}
		if t.events == 0 {
			continue // it changed only tables that Debezium does not read, or the file does not have
		}
		if t.marked || len(m.marks) == 0 {
			t.commit = int64(i + 1)
		}
		out = append(out, t)
	}
	return out
}

// leftOut says which changes are not understood, or "".
func (m *maker) leftOut() string {
	if m.truncated == 0 {
		return ""
	}
	return fmt.Sprintf("%d truncations of tables", m.truncated)
}

// notes says what is not known, and what was assumed.
func (m *maker) notes() []string {
	notes := []string{"Debezium tells what was committed; what clients read, their sessions, times, and what rolled back is not known, so only the order of the changes is judged"}
	if m.connector == Postgres {
		notes[0] = "Debezium tells what was committed; what clients read, their sessions, times, and what rolled back is not known, nor what a change of PostgreSQL overwrote, so nothing is read"
	}
	add := func(n int, one, more string) {
		if n > 0 {
			notes = append(notes, history.Many(n, one, more))
		}
	}
	for _, table := range sortedKeys(m.guessed) {
		notes = append(notes, fmt.Sprintf("the events have no keys; the column %s is taken for the primary key of %s", m.guessed[table], table))
	}
	add(m.torn, "transaction lacks events that its END counts, so the recording does not count as closed", "transactions lack events that their END counts, so the recording does not count as closed")
	add(m.unmarked, "transaction has neither BEGIN nor END, and no position", "transactions have neither BEGIN nor END, and no position")
	if m.byLines {
		notes = append(notes, "the events do not tell the order of the commits; that of their lines is taken, which is right if they come from one topic")
	}
	add(m.repeated, "event is there twice", "events are there twice")
	add(m.late, "event of a snapshot is about a row that was there before, and is left out", "events of a snapshot are about rows that were there before, and are left out")
	add(m.tables, "event is a change of a table; a row is not compared with what it was before its columns changed", "events are changes of tables; a row is not compared with what it was before its columns changed")
	return notes
}

func sortedKeys(m map[string]string) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
