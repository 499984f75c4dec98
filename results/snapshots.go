package results

import (
	"fmt"

	"github.com/isohound/isohound/checker/snapshots"
	"github.com/isohound/isohound/history"
)

// Snapshots says how what transactions read agrees with the snapshots that the database says they used. It changes no
// verdict.
type Snapshots struct {
	// Txns counts the transactions whose snapshot is told, and Reads their reads that could be compared. Left counts
	// those that could not.
	Txns  int `json:"txns"`
	Reads int `json:"reads"`
	Left  int `json:"left,omitempty"`
	// Inserted counts the insertions of rows that the snapshot has: see snapshots.Report.
	Inserted int `json:"inserted,omitempty"`
	// Wrong counts the reads that disagree, WrongTxns the transactions with such reads, and Finds has the first ones.
	Wrong     int            `json:"wrong"`
	WrongTxns int            `json:"wrong_txns,omitempty"`
	Finds     []SnapshotFind `json:"finds,omitempty"`
}

// SnapshotFind is a read that disagrees with the snapshot of its transaction, with the numbers of transactions in the file.
type SnapshotFind struct {
	Txn int64 `json:"txn"`
	// Other wrote what should not have been read or, with Missed, what was not read.
	Other  int64  `json:"other"`
	Missed bool   `json:"missed,omitempty"`
	Text   string `json:"text"`
}

// NewSnapshots describes a report on h. It is nil if no snapshot is told.
func NewSnapshots(h *history.History, r *snapshots.Report) *Snapshots {
	if r == nil || r.Snapshots == 0 {
		return nil
	}
	s := &Snapshots{Txns: r.Snapshots, Reads: r.Reads, Left: r.Left, Inserted: r.Inserted, Wrong: r.Wrong, WrongTxns: r.Txns}
	for i := range r.Finds {
		f := &r.Finds[i]
		s.Finds = append(s.Finds, SnapshotFind{Txn: h.Txns[f.Txn].ID, Other: h.Txns[f.Other].ID, Missed: f.Missed, Text: f.Words(h)})
	}
	return s
}

// Words says in a sentence whether the reads agree with the snapshots.
func (s *Snapshots) Words() string {
	text := "the database told the snapshots of " + count(s.Txns, "transaction")
	switch {
	case s.Reads == 0:
		return text + "; no read could be compared with them"
	case s.Wrong == 0:
		text += ", and all " + count(s.Reads, "read") + " agree with them"
	default:
		verb := "do"
		if s.Wrong == 1 {
			verb = "does"
		}
		text += fmt.Sprintf(", and %s of %s %s not agree with them, of %s: %s", Thousands(s.Wrong), count(s.Reads, "read"), verb, count(s.WrongTxns, "transaction"), s.Finds[0].Text)
	}
	if s.Left > 0 {
		text += "; " + count(s.Left, "read") + " could not be compared"
	}
	if s.Inserted > 0 {
		text += "; " + count(s.Inserted, "insertion") + " of rows that the snapshot has, which somebody had deleted since"
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Thousands(n) + " " + what + "s"
}

// maxSnapshotFinds bounds the finds of a run in windows.
const maxSnapshotFinds = snapshots.MaxFinds

// addSnapshots adds what was compared in window number n.
func (o *Outcome) addSnapshots(n int, w *Snapshots, first bool) {
	if w == nil {
		return
	}
	sum := *w
	sum.Finds = nil
	if !first && o.Snapshots != nil {
		old := o.Snapshots
		sum.Txns, sum.Reads, sum.Left = sum.Txns+old.Txns, sum.Reads+old.Reads, sum.Left+old.Left
		sum.Inserted += old.Inserted
		sum.Wrong, sum.WrongTxns = sum.Wrong+old.Wrong, sum.WrongTxns+old.WrongTxns
		sum.Finds = old.Finds
	}
	for _, f := range w.Finds {
		if len(sum.Finds) < maxSnapshotFinds {
			f.Text = fmt.Sprintf("in window %d, %s", n, f.Text)
			sum.Finds = append(sum.Finds[:len(sum.Finds):len(sum.Finds)], f)
		}
	}
	o.Snapshots = &sum
}
