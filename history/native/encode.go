// Package native reads and writes isohound's own history format: JSON Lines,
// optionally compressed with zstd. docs/history-format.md describes it.
//
// A file is a header line, lines with initial values, one line for each finished transaction,
// one intent line before each commit of a writing transaction, and a closing line. The writer
// never holds a record back, so a crash loses at most transactions that had not finished.
//
// A transaction's line leaves out what its intent said. Keys have numbers after their first
// occurrence, and texts refer to the key's latest text (references.go). So the lines of a file
// depend on each other, and all of them come from one Log.
package native

import (
	"encoding/json"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/quote"
)

// Version is the format's version, the value of the header's first field. A reader refuses a
// version above its own, and reads all below. Version 1 had no references: each line said
// everything. Version 3 is version 2 with times of several clocks (history.Header.NoCommonClock), or
// without some transactions (history.Header.Incomplete): a reader that does not know that would judge real-time order by these times, or
// take what the missing transactions wrote for written by nobody. All other files are of version 2.
const (
	Version      = 3
	plainVersion = 2
)

// Ending is the closing line: the recording ended in good order.
type Ending struct {
	// Reason is "complete", "duration reached", "interrupted", or another reason for the end of
	// the recording.
	Reason string `json:"reason"`
	Txns   int64  `json:"txns"`
	// Fresh is history.Header.Fresh.
	Fresh bool `json:"fresh,omitempty"`
}

type headerLine struct {
	Isohound int `json:"isohound"`
	history.Header
	Initial json.RawMessage `json:"initial,omitempty"`
}

// needsVersion is the lowest version whose readers understand a header.
func needsVersion(h *history.Header) int {
	if h.NoCommonClock || h.Incomplete {
		return Version
	}
	return 1
}

// appendHeader appends the header line of a version. initial is the default initial value, of keys without
// their own.
func appendHeader(b []byte, version int, h *history.Header, initial string) ([]byte, error) {
	line, err := json.Marshal(headerLine{Isohound: max(version, needsVersion(h)), Header: *h, Initial: json.RawMessage(initial)})
	if err != nil {
		return b, errors.Wrap(err, "history header")
	}
	return append(append(b, line...), '\n'), nil
}

// initials builds lines with the initial values of keys.
type initials struct{ n int }

// perLine keeps lines of initial values short enough to read.
const perLine = 500

// append appends one key with its initial value, a JSON scalar.
func (i *initials) append(b []byte, key, value string) []byte {
	if i.n == 0 {
		b = append(b, `{"initial":[`...)
	} else {
		b = append(b, ',')
	}
	b = append(b, '[')
	b = appendString(b, key)
	b = append(b, ',')
	b = append(b, value...)
	b = append(b, ']')
	if i.n++; i.n == perLine {
		b = i.end(b)
	}
	return b
}

// end completes the line in progress, if there is one.
func (i *initials) end(b []byte) []byte {
	if i.n == 0 {
		return b
	}
	i.n = 0
	return append(b, "]}\n"...)
}

// Op is an operation as a file spells it.
type Op struct {
	Kind history.OpKind
	Key  string
	// Value is a JSON scalar, null for absence. A text has the spelling of AppendText, so that equal
	// texts are equal bytes.
	Value []byte
	// Version is that of what was read (history.Record.Versions), or 0.
	Version int64
}

// nothing is what a line without an intent is compared with: every field that may be left out.
var nothing = history.Record{Due: history.NoTime, Begin: history.NoTime}

// appendFields appends the fields that transaction and intent lines share, as far as they differ
// from those of base: the transaction's intent, or nil. A field of the intent that is taken back
// becomes null.
func appendFields(b []byte, rec, base *history.Record) []byte {
	if base == nil || rec.Session != base.Session {
		b = append(b, `,"session":`...)
		b = strconv.AppendInt(b, rec.Session, 10)
	}
	if base == nil {
		base = &nothing
	}
	b = appendField(b, `,"node":`, int64(rec.Node), int64(base.Node), 0)
	b = appendField(b, `,"dbtxn":`, rec.DBTxn, base.DBTxn, 0)
	b = appendField(b, `,"due":`, rec.Due, base.Due, history.NoTime)
	return appendField(b, `,"begin":`, rec.Begin, base.Begin, history.NoTime)
}

func appendField(b []byte, name string, n, base, none int64) []byte {
	if n == base {
		return b
	}
	b = append(b, name...)
	if n == none {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, n, 10)
}

// appendOutcome appends the fields that only a transaction line has.
func appendOutcome(b []byte, rec *history.Record) []byte {
	if rec.End != history.NoTime {
		b = append(b, `,"end":`...)
		b = strconv.AppendInt(b, rec.End, 10)
	}
	b = append(b, `,"status":"`...)
	b = append(b, rec.Status.String()...)
	b = append(b, '"')
	if rec.Cause != "" {
		b = append(b, `,"cause":`...)
		b = appendString(b, rec.Cause)
	}
	b = appendField(b, `,"commit":`, rec.Claim.Commit, 0, 0)
	if rec.Claim.Snapped {
		b = append(b, `,"snapshot":`...)
		b = strconv.AppendInt(b, rec.Claim.Snapshot, 10)
	}
	if s := rec.Claim.Visible; s != nil {
		b = append(b, `,"visible":[`...)
		b = strconv.AppendInt(b, s.Min, 10)
		b = strconv.AppendInt(append(b, ','), s.Max, 10)
		for _, n := range s.Open {
			b = strconv.AppendInt(append(b, ','), n, 10)
		}
		b = append(b, ']')
	}
	return b
}

// AppendText appends a text as a JSON scalar.
func AppendText(b []byte, text string) []byte { return appendString(b, text) }

// appendEnding appends the closing line.
func appendEnding(b []byte, e Ending) ([]byte, error) {
	line, err := json.Marshal(struct {
		Closed Ending `json:"closed"`
	}{e})
	if err != nil {
		return b, errors.Wrap(err, "closing line")
	}
	return append(append(b, line...), '\n'), nil
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte { return quote.Append(b, s) }
