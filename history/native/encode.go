// Package native reads and writes isohound's own history format: JSON Lines,
// optionally compressed with zstd. docs/history-format.md describes it.
//
// A file is a header line, lines with initial values, one line for each finished transaction,
// one intent line before each commit of a writing transaction, and a closing line. The writer
// never holds a record back, so a crash loses at most transactions that had not finished.
package native

import (
	"encoding/json"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/quote"
)

// Version is the format's version, the value of the header's first field. A
// reader refuses a version above its own.
const Version = 1

// Ending is the closing line: the recording ended in good order.
type Ending struct {
	// Reason is "complete", "duration reached", "interrupted", or another reason for the end of
	// the recording.
	Reason string `json:"reason"`
	Txns   int64  `json:"txns"`
}

type headerLine struct {
	Isohound int `json:"isohound"`
	history.Header
	Initial json.RawMessage `json:"initial,omitempty"`
}

// AppendHeader appends the header line. initial is the default initial value, of keys without
// their own.
func AppendHeader(b []byte, h *history.Header, initial string) ([]byte, error) {
	line, err := json.Marshal(headerLine{Isohound: Version, Header: *h, Initial: json.RawMessage(initial)})
	if err != nil {
		return b, errors.Wrap(err, "history header")
	}
	return append(append(b, line...), '\n'), nil
}

// Initials builds lines with the initial values of keys.
type Initials struct{ n int }

// perLine keeps lines of initial values short enough to read.
const perLine = 500

// Append appends one key with its initial value, a JSON scalar.
func (i *Initials) Append(b []byte, key, value string) []byte {
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
		b = i.End(b)
	}
	return b
}

// End completes the line in progress, if there is one.
func (i *Initials) End(b []byte) []byte {
	if i.n == 0 {
		return b
	}
	i.n = 0
	return append(b, "]}\n"...)
}

// BeginTxn appends a transaction line up to its operations, which the caller adds with AppendOp
// before EndLine. It uses all of rec except rec.Ops.
func BeginTxn(b []byte, rec *history.Record) []byte {
	b = append(b, `{"txn":`...)
	b = beginCommon(b, rec)
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
	return append(b, `,"ops":[`...)
}

// BeginIntent appends an intent line up to its operations: what the transaction has done by the
// time its commit is sent.
func BeginIntent(b []byte, rec *history.Record) []byte {
	b = append(b, `{"intent":`...)
	b = beginCommon(b, rec)
	return append(b, `,"ops":[`...)
}

func beginCommon(b []byte, rec *history.Record) []byte {
	b = strconv.AppendInt(b, rec.ID, 10)
	b = append(b, `,"session":`...)
	b = strconv.AppendInt(b, rec.Session, 10)
	if rec.Node != 0 {
		b = append(b, `,"node":`...)
		b = strconv.AppendInt(b, int64(rec.Node), 10)
	}
	if rec.DBTxn != 0 {
		b = append(b, `,"dbtxn":`...)
		b = strconv.AppendInt(b, rec.DBTxn, 10)
	}
	if rec.Due != history.NoTime {
		b = append(b, `,"due":`...)
		b = strconv.AppendInt(b, rec.Due, 10)
	}
	if rec.Begin != history.NoTime {
		b = append(b, `,"begin":`...)
		b = strconv.AppendInt(b, rec.Begin, 10)
	}
	return b
}

// AppendOp appends an operation up to its value. The caller then appends a JSON scalar, null for
// absence, and calls EndOp.
func AppendOp(b []byte, kind history.OpKind, key string) []byte {
	if b[len(b)-1] == ']' {
		b = append(b, ',')
	}
	b = append(b, '[', '"')
	b = append(b, kind.String()...)
	b = append(b, '"', ',')
	b = appendString(b, key)
	return append(b, ',')
}

// EndOp completes an operation.
func EndOp(b []byte) []byte { return append(b, ']') }

// EndLine completes a transaction or intent line.
func EndLine(b []byte) []byte { return append(b, "]}\n"...) }

// AppendText appends a text as a JSON scalar.
func AppendText(b []byte, text string) []byte { return appendString(b, text) }

// AppendRecord appends the line of a complete transaction.
func AppendRecord(b []byte, rec *history.Record, sym *history.Symbols) []byte {
	b = BeginTxn(b, rec)
	for _, op := range rec.Ops {
		b = AppendOp(b, op.Kind, sym.KeyName(op.Key))
		b = sym.AppendValue(b, op.Value)
		b = EndOp(b)
	}
	return EndOps(b, rec.Predicates)
}

// AppendEnding appends the closing line.
func AppendEnding(b []byte, e Ending) ([]byte, error) {
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
