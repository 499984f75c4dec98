package dbcop

import (
	"bufio"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/fit"
)

// Carries is what the binary format can hold: no times, no unknown outcomes, no
// absence; keys and values are u64.
func Carries() fit.Carries {
	return fit.Carries{
		Format: "dbcop", Aborted: fit.AbortedWhole, Empty: true, Initial: fit.InitialZero,
		Key: fit.Unsigned, Value: fit.Unsigned, Renumbers: true,
	}
}

// CarriesJSON is what JSON can hold: in contrast to the binary format, also reads of absence of
// a key that nobody deleted.
func CarriesJSON() fit.Carries {
	c := Carries()
	c.Format, c.Initial = "dbcop-json", fit.InitialVersion
	return c
}

// Write writes h, which fit.To must have prepared, in the binary format. If h was read from a
// dbcop file, the header's info and start are copied.
func Write(w io.Writer, h *history.History) error {
	keys, err := keyNumbers(h)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	sessions := h.BySession()
	txns := 0
	for _, s := range sessions {
		txns = max(txns, len(s))
	}
	events := 0
	for i := range h.Txns {
		events = max(events, h.Txns[i].OpCount())
	}
	u64(b, 0, uint64(len(sessions)), uint64(h.KeyCount()), uint64(txns), uint64(events))
	for _, text := range []string{info(h), h.Created, ""} {
		u64(b, uint64(len(text)))
		_, _ = b.WriteString(text)
	}
	u64(b, uint64(len(sessions)))
	for _, s := range sessions {
		u64(b, uint64(len(s)))
		for _, i := range s {
			if err := writeTxn(b, h, &h.Txns[i], keys); err != nil {
				return err
			}
		}
	}
	return b.Flush() // Flush returns the first error of all writes
}

func writeTxn(b *bufio.Writer, h *history.History, t *history.Txn, keys []uint64) error {
	if err := plain(t); err != nil {
		return err
	}
	ops := h.Ops(t)
	u64(b, uint64(len(ops)))
	for _, op := range ops {
		v, err := number(h, t, op)
		if err != nil {
			return err
		}
		_ = b.WriteByte(flag(op.Kind == history.Write))
		u64(b, keys[op.Key], v)
		_ = b.WriteByte(1)
	}
	return b.WriteByte(flag(t.Status == history.Committed))
}

func u64(b *bufio.Writer, numbers ...uint64) {
	for _, n := range numbers {
		_, _ = b.Write(binary.LittleEndian.AppendUint64(b.AvailableBuffer(), n))
	}
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func info(h *history.History) string { return h.Params["info"] }

// plain refuses a transaction that the format cannot hold.
func plain(t *history.Txn) error {
	if t.Status == history.Unknown || t.Begin != history.NoTime || t.End != history.NoTime {
		return errors.Errorf("transaction %d has an unknown outcome or times, which dbcop cannot carry", t.ID)
	}
	return nil
}

func keyNumbers(h *history.History) ([]uint64, error) {
	keys := make([]uint64, h.KeyCount())
	for k := range keys {
		n, err := strconv.ParseUint(h.KeyName(history.Key(k)), 10, 64)
		if err != nil {
			return nil, errors.Errorf("key %s is not a number that dbcop can carry", h.KeyName(history.Key(k)))
		}
		keys[k] = n
	}
	return keys, nil
}

func number(h *history.History, t *history.Txn, op history.Op) (uint64, error) {
	if op.Kind != history.ReadNot {
		if op.Value >= 0 {
			return uint64(op.Value), nil
		}
		if n, err := strconv.ParseUint(h.ValueText(op.Value), 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, errors.Errorf("transaction %d: dbcop cannot carry %s(%s,%s)", t.ID, op.Kind, h.KeyName(op.Key), h.ValueText(op.Value))
}
