package debezium

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// message is a value in Debezium's topics: the change of a row, the begin or end of a transaction, or a change of tables.
type message struct {
	Before, After json.RawMessage
	Source        *source
	Op            string
	Transaction   *struct {
		ID         string `json:"id"`
		TotalOrder int64  `json:"total_order"` // from 1; 0 if it is not told
	}
	// Of BEGIN and END. A row that was flattened may have such columns, of any type.
	Status, ID json.RawMessage
	EventCount *int64          `json:"event_count"`
	DDL        json.RawMessage `json:"ddl"`
	Payload    json.RawMessage
}

// source says where a change is from.
type source struct {
	Connector, DB, Schema, Table string
	// PostgreSQL. Sequence is the text of a JSON array: the position of the last commit before, and that of the change.
	TxID     *int64 `json:"txId"`
	Sequence *string
	// MySQL and MariaDB.
	GTID *string `json:"gtid"`
	File string
	Pos  int64
}

// The connectors.
const (
	Postgres = "postgresql"
	mysql    = "mysql"
	mariadb  = "mariadb"
)

// Begins is what the lines of change events begin with, as a regular expression.
const Begins = `^(\{[^\n]*\}[ \t]+)?\{\s*"(before|after|source|op|transaction|schema|payload)"|^\{\s*"status"\s*:\s*"(BEGIN|END)"`

// Detect reports whether a file that begins with head has change events.
func Detect(head []byte) bool { return regexp.MustCompile(Begins).Match(bytes.TrimSpace(head)) }

// parse reads a line. key is nil if it has none. The message is nil for a tombstone, which follows a deletion.
func parse(line []byte) (key json.RawMessage, m *message, err error) {
	var value json.RawMessage
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(&value); err != nil {
		return nil, nil, errors.WithStack(err)
	}
	if rest := bytes.TrimSpace(line[d.InputOffset():]); len(rest) > 0 {
		if key, err = payload(value); err != nil {
			return nil, nil, errors.Wrap(err, "the key")
		}
		value = rest
	}
	if string(value) == "null" {
		return key, nil, nil
	}
	m = &message{}
	if err := json.Unmarshal(value, m); err != nil {
		return nil, nil, errors.WithStack(err)
	}
	if m.Op == "" && m.Payload != nil {
		if string(m.Payload) == "null" {
			return key, nil, nil
		}
		value, *m = m.Payload, message{}
		if err := json.Unmarshal(value, m); err != nil {
			return nil, nil, errors.WithStack(err)
		}
	}
	return key, m, nil
}

// payload returns what is beside a schema, or all if there is none. It is nil for null.
func payload(value json.RawMessage) (json.RawMessage, error) {
	var with struct{ Schema, Payload json.RawMessage }
	if value[0] == '{' {
		if err := json.Unmarshal(value, &with); err != nil {
			return nil, errors.WithStack(err)
		}
		if with.Schema != nil && with.Payload != nil {
			value = with.Payload
		}
	}
	if string(value) == "null" {
		return nil, nil
	}
	return value, nil
}

// column is a column of a row, with its value as JSON without spaces.
type column struct{ name, value string }

// columns reads a row in the order of its columns. It returns nil for null and for none.
func columns(raw json.RawMessage) ([]column, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Errorf("%.40q is no row: a JSON object is expected", raw)
	}
	var out []column
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errors.WithStack(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.WithStack(err)
		}
		var text bytes.Buffer
		if err := json.Compact(&text, value); err != nil {
			return nil, errors.WithStack(err)
		}
		out = append(out, column{name.(string), text.String()})
	}
	return out, nil
}

// names are the names of columns as one text.
func names(list []column) string {
	var b strings.Builder
	for _, c := range list {
		b.WriteString(strconv.Quote(c.name))
	}
	return b.String()
}

// transaction returns a name of the transaction of an event, and its number in the database, 0 if it has none.
func (m *message) transaction() (name string, number int64, err error) {
	s := m.Source
	switch {
	case s.Connector == Postgres && s.TxID != nil:
		return strconv.FormatInt(*s.TxID, 10), *s.TxID, nil
	case m.Transaction != nil && m.Transaction.ID != "":
		name = short(m.Transaction.ID, s.Connector == Postgres)
	case s.GTID != nil && *s.GTID != "":
		name = *s.GTID
	default:
		return "", 0, errors.New("the event does not say of which transaction it is; set provide.transaction.metadata=true, or let the database have GTIDs")
	}
	if s.Connector == Postgres {
		number, _ = strconv.ParseInt(name, 10, 64)
	} else if s.GTID != nil {
		number, _ = strconv.ParseInt((*s.GTID)[strings.LastIndexAny(*s.GTID, ":-")+1:], 10, 64)
	}
	return name, max(number, 0), nil
}

// short returns the name of a transaction. PostgreSQL's events have the position of each event behind it.
func short(id string, postgres bool) string {
	if xid, _, ok := strings.Cut(id, ":"); ok && postgres {
		return xid
	}
	return id
}

// place is where an event is in the log, in the order of commits.
type place struct {
	file string
	at   int64
}

// place returns the place of an event, and whether it is known.
func (s *source) place() (place, bool) {
	if s.Connector != Postgres {
		return place{s.File, s.Pos}, s.File != ""
	}
	var sequence []*string
	if s.Sequence == nil || json.Unmarshal([]byte(*s.Sequence), &sequence) != nil || len(sequence) != 2 {
		return place{}, false
	}
	if sequence[0] == nil {
		return place{}, true
	}
	at, err := strconv.ParseInt(*sequence[0], 10, 64)
	return place{at: at}, err == nil
}
