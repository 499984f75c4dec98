package explain

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Txn describes a transaction for reports and pictures. Times are in nanoseconds since the start of
// the run, or null if they are not known.
type Txn struct {
	ID      int64 `json:"id"`
	Session int64 `json:"session"`
	// Node is the endpoint, from 1, if there are several.
	Node  int16 `json:"node,omitempty"`
	DBTxn int64 `json:"dbtxn,omitempty"`
	// Commit is the claimed position of the commit, and Visible the snapshot as a set, such as 812:820:815 (history.Claim).
	Commit  int64  `json:"commit,omitempty"`
	Visible string `json:"visible,omitempty"`
	// Snapshot is the claimed position of the snapshot, where that is assumed.
	Snapshot *int64 `json:"snapshot,omitempty"`
	Begin    *int64 `json:"begin"`
	End      *int64 `json:"end"`
	Status   string `json:"status"`
	Ops      []Op   `json:"ops"`
	// Named are the indexes in Ops of what the anomaly names, if there are more than MostBrief.
	Named []int `json:"named,omitempty"`
	// Kept are the operations of Ops that the counterexample needs; nil means all.
	Kept []Op `json:"kept,omitempty"`
}

// Edge describes a dependency: From must come before To.
type Edge struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	Kind  string `json:"kind"`
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	// Next is what To wrote, for a WW, RW or VO edge.
	Next string `json:"next,omitempty"`
	// Scan is what the statement asked for from whose conditions the read of a WR or RW edge follows:
	// "scan t where v > 10". Missed says that the statement did not find the row.
	Scan   string `json:"scan,omitempty"`
	Missed bool   `json:"missed,omitempty"`
	Text   string `json:"text"`
}

// Maybe is the kind of an edge from a writer to a reader that may also have read from another writer.
const Maybe = "WR?"

// Kinds of edges in pictures whose read follows from the conditions of a statement.
const (
	predicateWR = "PWR"
	predicateRW = "PRW"
)

// drawn is the kind of an edge in pictures.
func (e *Edge) drawn() string {
	if e.Scan != "" && (e.Kind == "WR" || e.Kind == "RW") {
		return "P" + e.Kind
	}
	return e.Kind
}

// Picture is what the drawings of a counterexample show.
type Picture struct {
	Title string
	Txns  []Txn
	// Cycle are the edges that prove the violation. Context are further edges that help to
	// understand it.
	Cycle, Context []Edge
	// Around are transactions that ran at the same time. More is how many of these are left out.
	Around []Txn
	More   int
}

// NewTxn describes the transaction at index i of h. If ops are given, the other operations are left
// out and counted. A statement with conditions lists, of the rows that it did not find, those with an
// operation that near chooses, and these rows first if it found many. near may be nil, for all.
func NewTxn(h *history.History, i int32, ops []int, near func(op int) bool) Txn {
	t := &h.Txns[i]
	out := Txn{ID: t.ID, Session: h.SessionName(t.Session), Node: t.Node, DBTxn: h.DBTxn(int(i)), Status: t.Status.String()}
	if settled(h, i) {
		out.Status = history.Unknown.String()
	}
	out.Begin, out.End = times(h, t)
	c := h.Claim(int(i))
	if out.Commit = c.Commit; c.Visible != nil {
		out.Visible = c.Visible.String()
	}
	if at, told := h.SnapshotAt(int(i)); told {
		out.Snapshot = &at
	}
	var shown func(int) bool
	if ops != nil {
		some := make(map[int]bool, len(ops))
		for _, n := range ops {
			some[n] = true
		}
		shown = func(n int) bool { return some[n] }
	}
	var more int
	if out.Ops, more = steps(h, int(i), shown, near); more > 0 {
		out.Ops = append(out.Ops, Note(fmt.Sprintf("… %d more", more)))
	}
	if near != nil && len(out.Ops) > MostBrief {
		for n, o := range out.Ops {
			if o.near {
				out.Named = append(out.Named, n)
			}
		}
	}
	return out
}

// MostBrief is how many operations of a transaction texts show.
const MostBrief = 100

// beside is how many operations Brief shows before and after a named one, and at both ends.
const beside = 2

// Brief calls show with the operations to show in a text, in stretches, and left with the number of operations between two of
// these. They are all, or those that the anomaly names, the first and the last ones, and their neighbours. Of more than
// MostBrief that it names, the first and the last ones are shown.
func (t *Txn) Brief(show func([]Op), left func(int)) {
	all := len(t.Ops)
	keep := make([]bool, all)
	mark := func(from, to int) {
		for n := max(from, 0); n < min(to, all); n++ {
			keep[n] = true
		}
	}
	mark(0, beside)
	mark(all-beside, all)
	named := t.Named
	if len(named) > MostBrief {
		named = slices.Concat(named[:MostBrief/2], named[len(named)-MostBrief/2:])
	}
	for _, n := range named {
		mark(n-beside, n+beside+1)
	}
	for from, to := 0, 0; from < all; from = to {
		for to = from + 1; to < all && keep[to] == keep[from]; to++ {
		}
		if keep[from] || to == from+1 || all <= MostBrief {
			show(t.Ops[from:to])
		} else {
			left(to - from)
		}
	}
}

// Place says which number and snapshot the database gave a transaction and, if it is known, where it placed its commit. It
// is "" if no snapshot is told.
func (t *Txn) Place() string {
	text := "snapshot " + t.Visible
	switch {
	case t.Visible == "" && t.Snapshot == nil:
		return ""
	case t.Visible == "":
		text = fmt.Sprintf("snapshot %d", *t.Snapshot)
	case t.Snapshot != nil:
		text += fmt.Sprintf(" (%d)", *t.Snapshot)
	}
	if t.DBTxn != 0 {
		text = fmt.Sprintf("database transaction %d, %s", t.DBTxn, text)
	}
	if t.Commit != 0 {
		text += fmt.Sprintf(", commit %d", t.Commit)
	}
	return text
}

// NewEdge describes an edge of h. text says why the edge holds.
func NewEdge(h *history.History, e verdict.Edge, text string) Edge {
	edge := Edge{From: h.Txns[e.From].ID, To: h.Txns[e.To].ID, Kind: e.Kind.String(), Text: text}
	if e.Kind != verdict.SO && e.Kind != verdict.RT {
		edge.Key, edge.Value = Printable(h.KeyName(e.Key)), Printable(h.ValueText(e.Value))
	}
	if p, missed := scanOf(h, e); p != nil {
		edge.Scan, edge.Missed = Question(p), missed
	}
	if e.Kind == verdict.WW || e.Kind == verdict.RW || e.Kind == verdict.VO {
		for _, op := range h.Ops(&h.Txns[e.To]) { // the last write counts
			if op.Kind == history.Write && op.Key == e.Key {
				edge.Next = Printable(h.ValueText(op.Value))
			}
		}
	}
	return edge
}

// Reads returns the edges from writers to readers of a small history, for each read of another
// transaction's write. If several transactions can have written the value, the edges are of kind
// Maybe. whole is the history of which h is a part, and txns are the transactions of h in it; nil if h is none.
func Reads(h, whole *history.History, txns []int32) []Edge {
	// What is not a final value of a transaction that may have committed is read only if something is
	// wrong. Such writers count where no other has the value.
	writers, wrong := map[version][]int32{}, map[version][]int32{}
	for i := range h.Txns {
		for _, op := range h.Ops(&h.Txns[i]) {
			if op.Kind != history.Write {
				continue
			}
			to, v := wrong, version{op.Key, op.Value}
			if h.Txns[i].Status != history.Aborted && finalValue(h, &h.Txns[i], op.Key, op.Value) {
				to = writers
			}
			if !slices.Contains(to[v], int32(i)) {
				to[v] = append(to[v], int32(i))
			}
		}
	}
	var out []Edge
	for i := range h.Txns {
		seen := map[history.Key][]history.Value{} // by the transaction's own reads and writes
		for _, op := range h.Ops(&h.Txns[i]) {
			known := slices.Contains(seen[op.Key], op.Value)
			seen[op.Key] = append(seen[op.Key], op.Value)
			if op.Kind != history.Read || known {
				continue
			}
			v := version{op.Key, op.Value}
			from := writers[v]
			if len(from) == 0 && op.Value != h.Initial(op.Key) {
				from = wrong[v]
			}
			from = slices.DeleteFunc(slices.Clone(from), func(w int32) bool { return w == int32(i) })
			certain := len(from) == 1 && op.Value != h.Initial(op.Key)
			for _, w := range from {
				e := NewEdge(h, verdict.Edge{From: w, To: int32(i), Kind: verdict.WR, Key: op.Key, Value: op.Value}, "")
				saw := words{h: h}.read(int32(i), op.Key, op.Value)
				if whole != nil && whole.ListReads != nil {
					saw = sawInWhole(whole, txns[i], e.Key, e.Value)
				}
				e.Text = fmt.Sprintf("T%d %s, which T%d wrote.", e.To, saw, e.From)
				if !certain {
					e.Kind = Maybe
					e.Text = fmt.Sprintf("T%d %s, which T%d may have written.", e.To, saw, e.From)
				}
				out = append(out, e)
			}
		}
	}
	return out
}

// sawInWhole says how a transaction read a version whose key and value have these texts.
func sawInWhole(h *history.History, i int32, key, value string) string {
	for _, op := range h.Ops(&h.Txns[i]) {
		if op.Kind == history.Read && Printable(h.KeyName(op.Key)) == key && Printable(h.ValueText(op.Value)) == value {
			return words{h: h}.read(i, op.Key, op.Value)
		}
	}
	return fmt.Sprintf("read %s = %s", key, value)
}

// Printable escapes what is not UTF-8, and control characters, which keys and values may contain
// and which are unsafe in terminals and invalid in XML. Line ends are kept.
func Printable(s string) string {
	bad := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF
	}
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, "\\x%02x", s[i])
		case bad(r) && r < 0x100:
			fmt.Fprintf(&b, "\\x%02x", r)
		case bad(r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func moment(t int64) *int64 {
	if t == history.NoTime {
		return nil
	}
	return &t
}

// times are the begin and end of a transaction as people see them beside those of others. They are nil where they cannot be
// compared, because there is no common clock.
func times(h *history.History, t *history.Txn) (begin, end *int64) {
	if h.NoCommonClock {
		return nil, nil
	}
	return moment(t.Begin), moment(t.End)
}

// maxAround is up to how many transactions around a counterexample are shown.
const maxAround = 10

// Around returns transactions of h that ran at the same time as one of txns, those on the same keys
// first, and how many more there are. If the history has no times, or no common clock, there are none.
func Around(h *history.History, txns []int32, keys func(history.Key) bool) (list []Txn, more int) {
	if h.NoCommonClock {
		return nil, 0
	}
	in := map[int32]bool{}
	for _, i := range txns {
		in[i] = true
	}
	overlaps := func(t *history.Txn) bool {
		for _, i := range txns {
			o := &h.Txns[i]
			if o.Begin != history.NoTime && o.End != history.NoTime && t.Begin <= o.End && o.Begin <= t.End {
				return true
			}
		}
		return false
	}
	var near, far []int32
	for i := range h.Txns {
		t := &h.Txns[i]
		if in[int32(i)] || t.Begin == history.NoTime || t.End == history.NoTime || !overlaps(t) {
			continue
		}
		if slices.ContainsFunc(h.Ops(t), func(op history.Op) bool { return keys(op.Key) }) {
			near = append(near, int32(i))
		} else {
			far = append(far, int32(i))
		}
	}
	all := append(near, far...)
	shown := all[:min(len(all), maxAround)]
	for _, i := range shown {
		list = append(list, NewTxn(h, i, nil, func(op int) bool { return keys(h.Ops(&h.Txns[i])[op].Key) }))
	}
	return list, len(all) - len(shown)
}
