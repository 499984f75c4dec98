package dbcop

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"

	"github.com/isohound/isohound/history"
)

// jsonParams is the head of dbcop's JSON, with its fields in dbcop's order.
type jsonParams struct {
	ID           int `json:"id"`
	Nodes        int `json:"n_node"`
	Variables    int `json:"n_variable"`
	Transactions int `json:"n_transaction"`
	Events       int `json:"n_event"`
}

// noTime stands for an unknown start, which dbcop requires.
const noTime = "1970-01-01T00:00:00+00:00"

// WriteJSON writes h, which fit.To must have prepared, as dbcop's JSON, one transaction per
// line.
func WriteJSON(w io.Writer, h *history.History) error {
	keys, err := keyNumbers(h)
	if err != nil {
		return err
	}
	sessions := h.BySession()
	p := jsonParams{Nodes: len(sessions), Variables: h.KeyCount()}
	for _, s := range sessions {
		p.Transactions = max(p.Transactions, len(s))
	}
	for i := range h.Txns {
		p.Events = max(p.Events, h.Txns[i].OpCount())
	}
	start := h.Created
	if start == "" {
		start = noTime
	}
	head, err := json.Marshal(struct {
		Params jsonParams `json:"params"`
		Info   string     `json:"info"`
		Start  string     `json:"start"`
		End    string     `json:"end"`
	}{p, info(h), start, start})
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	_, _ = b.Write(head[:len(head)-1])
	_, _ = b.WriteString(`,"data":[`)
	for n, s := range sessions {
		comma(b, n)
		_, _ = b.WriteString("\n[")
		for n, i := range s {
			comma(b, n)
			if err := jsonTxn(b, h, &h.Txns[i], keys); err != nil {
				return err
			}
		}
		_ = b.WriteByte(']')
	}
	_, _ = b.WriteString("]}\n")
	return b.Flush() // Flush returns the first error of all writes
}

func comma(b *bufio.Writer, n int) {
	if n > 0 {
		_ = b.WriteByte(',')
	}
}

func jsonTxn(b *bufio.Writer, h *history.History, t *history.Txn, keys []uint64) error {
	if err := plain(t); err != nil {
		return err
	}
	_, _ = b.WriteString("\n{\"events\":[")
	for n, op := range h.Ops(t) {
		comma(b, n)
		kind := "Read"
		if op.Kind == history.Write {
			kind = "Write"
		}
		_, _ = b.WriteString(`{"` + kind + `":{"variable":`)
		_, _ = b.Write(strconv.AppendUint(b.AvailableBuffer(), keys[op.Key], 10))
		_, _ = b.WriteString(`,"version":`)
		if op.Kind == history.Read && op.Value == history.Absent {
			_, _ = b.WriteString("null}}")
			continue
		}
		v, err := number(h, t, op)
		if err != nil {
			return err
		}
		_, _ = b.Write(strconv.AppendUint(b.AvailableBuffer(), v, 10))
		_, _ = b.WriteString("}}")
	}
	_, err := b.WriteString(`],"committed":` + strconv.FormatBool(t.Status == history.Committed) + "}")
	return err
}
