package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/scans"
	"github.com/isohound/isohound/checker/single"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/history"
)

// Name sets the names of a. Unlike Fill it looks only at the transactions of a.
func Name(h *history.History, lvl level.Level, a *verdict.Anomaly) {
	if a.Kind == verdict.Cycle || a.Kind == verdict.Contradiction && len(a.Cycle) > 0 {
		a.Names = Classify(h, named(h, lvl, a), a.Forced)
	} else if a.Kind == verdict.NoChoice {
		a.Names = sharedByCases(a)
	} else {
		a.Names = kindNames[a.Kind]
		if stale(h, a) {
			a.Names = []string{StaleRead}
		}
		if dirtyUpdate(h, a) && !stale(h, a) {
			a.Names = append(a.Names[:len(a.Names):len(a.Names)], "dirty-update")
		}
	}
	if f, _, _ := fault(h, a); f != scans.NoFault {
		a.Names = []string{faultNames[f]}
	}
}

// Fill sets the names and the text of a.
func Fill(h *history.History, lvl level.Level, a *verdict.Anomaly) {
	Name(h, lvl, a)
	w := newWords(h, a, nil)
	w.snapshot = lvl.Snapshot()
	if f, at, p := fault(h, a); f != scans.NoFault {
		a.Text = w.faulty(f, at, p)
	} else {
		a.Text = w.anomaly(lvl, a)
	}
	var b strings.Builder
	if slices.Contains(a.Names, LostWrite) {
		for _, e := range a.Cycle {
			if e.Kind == verdict.RW && h.AtEnd(int(e.From)) {
				fmt.Fprintf(&b, "\n%s belongs to the final read, which came after all of the run. What %s wrote was lost, although its commit was confirmed.", w.txn(e.From), w.txn(e.To))
			}
		}
	}
	for _, e := range a.Support {
		if n := reading(h, e.To, e.Key, e.Value); n >= 0 && !w.clients(verdict.OpRef{Txn: e.To, Op: n}) {
			fmt.Fprintf(&b, "\nThe outcome of %s was not reported. It wrote %s, and %s %s, so it did commit.", w.txn(e.From), w.pair(e.Key, e.Value), w.txn(e.To), w.read(e.To, e.Key, e.Value))
			continue
		}
		fmt.Fprintf(&b, "\nThe outcome of %s was not reported, but %s read %s from it, so it did commit.", w.txn(e.From), w.txn(e.To), w.pair(e.Key, e.Value))
	}
	a.Text += b.String()
}

// words describes transactions of one history.
type words struct {
	h *history.History
	// writers are the transactions that may have committed a version.
	writers map[version]int32
	// forced has, by index in the cycle of the anomaly about, the reads that force edges.
	forced map[int]verdict.OpRef
	about  *verdict.Anomaly
	// snapshot: transactions read at one moment and write at another.
	snapshot bool
}

type version struct {
	key   history.Key
	value history.Value
}

// newWords finds, in one pass, the writers of the versions of a's edges and of others.
func newWords(h *history.History, a *verdict.Anomaly, others []verdict.Edge) words {
	w := words{h: h, writers: map[version]int32{}, forced: a.Forced, about: a}
	wanted := map[version]bool{}
	for _, e := range slices.Concat(a.Cycle, others) {
		if e.Kind == verdict.RW && e.Value != h.Initial(e.Key) {
			wanted[version{e.Key, e.Value}] = true
		}
	}
	if len(wanted) == 0 {
		return w
	}
	for i := range h.Txns {
		t := &h.Txns[i]
		if t.Status == history.Aborted {
			continue
		}
		for _, op := range h.Ops(t) {
			v := version{op.Key, op.Value}
			if op.Kind == history.Write && wanted[v] && finalValue(h, t, op.Key, op.Value) {
				if _, ok := w.writers[v]; !ok {
					w.writers[v] = int32(i)
				}
			}
		}
	}
	return w
}

func (w words) txn(i int32) string { return fmt.Sprintf("T%d", w.h.Txns[i].ID) }

// introduce names a transaction with its session, its node if there are several, and its number in
// the database if that is known.
func (w words) introduce(i int32) string {
	t := &w.h.Txns[i]
	s := fmt.Sprintf("T%d (session %d", t.ID, w.h.SessionName(t.Session))
	switch n := int(t.Node); {
	case n > 0 && n <= len(w.h.Nodes):
		s += fmt.Sprintf(" on node %d, %s", n, Printable(w.h.Nodes[n-1]))
	case n > 0:
		s += fmt.Sprintf(" on node %d", n)
	}
	if id := w.h.DBTxn(int(i)); id != 0 {
		s += fmt.Sprintf(", database transaction %d", id)
	}
	return s + ")"
}

func (w words) pair(k history.Key, v history.Value) string {
	if v == history.Absent {
		return w.key(k) + " absent"
	}
	return w.key(k) + " = " + w.value(v)
}

// key and value escape what terminals would interpret, and the ends of lines. Long ones are cut: the operations have them in full.
func (w words) key(k history.Key) string { return brief(oneLine(w.h.KeyName(k))) }

func (w words) value(v history.Value) string {
	text := brief(oneLine(w.h.ValueText(v)))
	if at := w.h.Commit(v); at != 0 {
		text += fmt.Sprintf(" (version %d)", at)
	}
	return text
}

func (w words) ref(r verdict.OpRef) history.Op { return w.h.Ops(&w.h.Txns[r.Txn])[r.Op] }

// source says which transaction wrote a version, or that it is the initial value.
func (w words) source(k history.Key, v history.Value) string {
	if v == w.h.Initial(k) {
		return "the initial value"
	}
	if i, ok := w.writers[version{k, v}]; ok {
		return "which " + w.txn(i) + " wrote"
	}
	return "whose writer is not known"
}

func finalValue(h *history.History, t *history.Txn, k history.Key, v history.Value) bool {
	ops := h.Ops(t)
	for n := len(ops) - 1; n >= 0; n-- {
		if ops[n].Kind == history.Write && ops[n].Key == k {
			return ops[n].Value == v
		}
	}
	return false
}

// written says what i finally wrote to k.
func (w words) written(i int32, k history.Key) string {
	ops := w.h.Ops(&w.h.Txns[i])
	for n := len(ops) - 1; n >= 0; n-- {
		if ops[n].Kind == history.Write && ops[n].Key == k {
			if ops[n].Value == history.Absent {
				return "deleted it"
			}
			return "wrote " + w.value(ops[n].Value)
		}
	}
	return "overwrote it"
}

func (w words) anomaly(lvl level.Level, a *verdict.Anomaly) string {
	var op, other history.Op
	got, see := "", "read"
	if n := len(a.Ops); n > 0 {
		op = w.ref(a.Ops[n-1])
		other = w.ref(a.Ops[0])
		if got = w.got(a.Ops[n-1]); !w.clients(a.Ops[n-1]) {
			see = "see"
		}
	}
	last := a.Txns[len(a.Txns)-1]
	if (a.Kind == verdict.NotMyOwnWrite || a.Kind == verdict.NonRepeatableReads) && (op.Kind == history.ReadNot || other.Kind == history.ReadNot) {
		return w.selfContradiction(a)
	}
	switch a.Kind {
	case verdict.ThinAirRead:
		text, ok := w.scan(last, a.Ops[len(a.Ops)-1].Op)
		if stale(w.h, a) {
			if ok {
				got = text
			}
			return w.stale(last, op, got, ok)
		}
		if ok && op.Value == history.Absent {
			return fmt.Sprintf("%s %s, although the row always exists and every value that anybody wrote fulfils the conditions.", w.introduce(last), text)
		}
		if op.Value == history.Absent {
			return fmt.Sprintf("%s found %s, although it exists at first and nobody deleted it.", w.introduce(last), w.pair(op.Key, op.Value))
		}
		if at := w.h.Commit(op.Value); at != 0 {
			return fmt.Sprintf("%s read %s, and no transaction with the position %d left that value.", w.introduce(last), w.pair(op.Key, op.Value), at)
		}
		return fmt.Sprintf("%s %s, a value that nobody wrote.", w.introduce(last), got)
	case verdict.AbortedRead:
		if stale(w.h, a) {
			return w.settled(last, a.Txns[0], op, got)
		}
		return fmt.Sprintf("%s %s, which only %s wrote, and that transaction aborted.",
			w.introduce(last), got, w.introduce(a.Txns[0]))
	case verdict.IntermediateRead:
		return fmt.Sprintf("%s %s, which %s wrote but then overwrote itself: it %s. No other transaction may see an intermediate value.",
			w.introduce(last), got, w.introduce(a.Txns[0]), w.written(a.Txns[0], op.Key))
	case verdict.FutureRead:
		return fmt.Sprintf("%s %s before it wrote that value itself, and nobody else wrote it.", w.introduce(last), w.got(a.Ops[0]))
	case verdict.NotMyLastWrite:
		return fmt.Sprintf("%s %s, a value of its own that it had overwritten before: it must %s its latest write.", w.introduce(last), got, see)
	case verdict.NotMyOwnWrite:
		if w.ofScan(a.Ops[len(a.Ops)-1]) {
			return w.selfContradiction(a)
		}
		return fmt.Sprintf("%s %s after it had itself written %s: it must %s its own write.",
			w.introduce(last), got, w.value(other.Value), see)
	case verdict.NonRepeatableReads:
		if w.ofScan(a.Ops[0]) || w.ofScan(a.Ops[len(a.Ops)-1]) {
			return w.selfContradiction(a)
		}
		if !w.clients(a.Ops[0]) || !w.clients(a.Ops[len(a.Ops)-1]) {
			return fmt.Sprintf("%s %s. It also %s. It wrote nothing to the key in between, so both must be about one version.", w.introduce(last), w.got(a.Ops[0]), got)
		}
		return fmt.Sprintf("%s read %s and later %s, without writing the key in between: a second read must return what the first one did.",
			w.introduce(last), w.pair(other.Key, other.Value), w.pair(op.Key, op.Value))
	case verdict.Divergence:
		return w.divergence(a)
	case verdict.DoubleInsert:
		if len(a.Txns) == 1 {
			return fmt.Sprintf("%s inserted key %s, although it exists and nobody deleted it.", w.introduce(last), w.key(op.Key))
		}
		return fmt.Sprintf("%s and %s both inserted key %s, which may succeed only once.",
			w.introduce(a.Txns[0]), w.introduce(a.Txns[1]), w.key(op.Key))
	case verdict.ImpossibleFailure:
		return w.impossibleFailure(a)
	case verdict.Contradiction:
		return w.contradiction(lvl, a)
	case verdict.NoChoice:
		return w.noChoice(a)
	case verdict.DuplicateRow:
		return w.duplicate(a)
	default:
		return w.cycle(lvl, a)
	}
}

// selfContradiction explains two operations of one transaction on a key that contradict each other.
// One of them only says which value the key did not have.
func (w words) selfContradiction(a *verdict.Anomaly) string {
	first, second := a.Ops[0], a.Ops[len(a.Ops)-1]
	if first.Op > second.Op {
		first, second = second, first
	}
	return fmt.Sprintf("%s %s and later %s, without writing the key in between.", w.introduce(first.Txn), w.did(first), w.did(second))
}

// did says what an operation did.
func (w words) did(r verdict.OpRef) string {
	op := w.ref(r)
	if text, ok := w.scan(r.Txn, r.Op); ok {
		if w.returned(r) {
			return text + ", which " + w.state(op.Value) + " and does not fulfil the conditions"
		}
		if op.Kind == history.ReadNot {
			return text + ", so it was not " + w.value(op.Value)
		}
		return text + ", so it " + w.state(op.Value)
	}
	switch op.Kind {
	case history.ReadNot:
		return "found that " + w.pair(op.Key, op.Value) + " did not hold"
	case history.Write:
		return "wrote " + w.pair(op.Key, op.Value)
	}
	return w.got(r)
}

// returned reports whether an operation says that a version was not seen which the statement
// nevertheless returned.
func (w words) returned(r verdict.OpRef) bool {
	op := w.ref(r)
	p, missed := implied(w.h, r.Txn, r.Op)
	if p == nil || missed || op.Kind != history.ReadNot {
		return false
	}
	return slices.Contains(w.h.Ops(&w.h.Txns[r.Txn])[p.Ops[0]+p.Implied:p.Ops[1]], history.Op{Kind: history.Read, Key: op.Key, Value: op.Value})
}

// ofScan reports whether an operation follows from the conditions of a statement.
func (w words) ofScan(r verdict.OpRef) bool {
	p, _ := implied(w.h, r.Txn, r.Op)
	return p != nil
}

func (w words) divergence(a *verdict.Anomaly) string {
	e := a.Cycle[0]
	from, to := w.read(e.From, e.Key, e.Value), w.read(e.To, e.Key, e.Value)
	if plain := "read " + w.pair(e.Key, e.Value); from != plain || to != plain {
		return fmt.Sprintf("%s %s. %s %s. Both overwrote that version, %s: %s %s, %s %s. "+
			"One of the two updates is lost, because whichever came second did not see the first.",
			w.introduce(e.From), from, w.introduce(e.To), to, w.source(e.Key, e.Value),
			w.txn(e.From), w.written(e.From, e.Key), w.txn(e.To), w.written(e.To, e.Key))
	}
	return fmt.Sprintf("%s and %s both read %s, %s, and both overwrote it: %s %s, %s %s. "+
		"One of the two updates is lost, because whichever came second did not see the first.",
		w.introduce(e.From), w.introduce(e.To), w.pair(e.Key, e.Value), w.source(e.Key, e.Value),
		w.txn(e.From), w.written(e.From, e.Key), w.txn(e.To), w.written(e.To, e.Key))
}

// impossibleFailure explains a compare-and-set that failed although the key had the expected value.
func (w words) impossibleFailure(a *verdict.Anomaly) string {
	last := a.Ops[0].Txn
	op := w.ref(a.Ops[0])
	begin, end := w.h.Txns[last].Begin, w.h.Txns[last].End
	clock := NewClock(begin, end)
	return fmt.Sprintf("The compare-and-set of %s failed, so %s must have been false at some moment while it ran, from %s to %s. "+
		"But the other operations show that it was true all that time.",
		w.introduce(last), w.pair(op.Key, op.Value), clock.Seconds(begin), clock.Seconds(end))
}

// contradiction explains transactions that have no order.
func (w words) contradiction(lvl level.Level, a *verdict.Anomaly) string {
	if len(a.Cycle) > 0 {
		return w.cycle(lvl, a)
	}
	var b strings.Builder
	writers := map[version][]string{}
	for _, r := range a.Ops {
		if op := w.ref(r); op.Kind == history.Write {
			writers[version{op.Key, op.Value}] = append(writers[version{op.Key, op.Value}], w.txn(r.Txn))
		}
	}
	if len(a.Txns) > maxListed {
		fmt.Fprintf(&b, "%d transactions contradict each other. Some of what they read:\n", len(a.Txns))
	}
	reads := 0
	for _, r := range a.Ops {
		op := w.ref(r)
		if op.Kind == history.Write {
			continue
		}
		ops := w.h.Ops(&w.h.Txns[r.Txn])
		own := single.LastWrite(ops[:r.Op], op.Key)
		wrong := own >= 0 && (ops[own].Value == op.Value) == (op.Kind == history.ReadNot)
		if own >= 0 && !wrong { // it says nothing about other transactions
			continue
		}
		if reads++; reads > maxListed {
			continue
		}
		if wrong {
			fmt.Fprintf(&b, "%s %s, although it wrote %s before.\n", w.txn(r.Txn), w.did(r), w.pair(op.Key, ops[own].Value))
			continue
		}
		if op.Kind == history.ReadNot {
			fmt.Fprintf(&b, "%s %s.\n", w.txn(r.Txn), w.did(r))
			continue
		}
		var from []string
		if op.Value == w.h.Initial(op.Key) {
			from = append(from, "the initial transaction")
		}
		for _, t := range writers[version{op.Key, op.Value}] {
			if t != w.txn(r.Txn) {
				from = append(from, t)
			}
		}
		if len(from) == 0 {
			from = []string{"nobody else"}
		}
		fmt.Fprintf(&b, "%s %s, which %s wrote.\n", w.txn(r.Txn), w.did(r), alternatives(from))
	}
	if reads > maxListed {
		fmt.Fprintf(&b, "… and %d more reads.\n", reads-maxListed)
	}
	ordered := ""
	if w.h.OrderAssumed() {
		ordered = " and that has the versions in the order that the database claims"
	}
	if lvl.Snapshot() && w.h.SnapshotsAssumed() {
		ordered += " and that has the snapshots that it claims"
		if !w.h.OrderAssumed() {
			ordered = " and that has the snapshots that the database claims"
		}
	}
	fmt.Fprintf(&b, "No execution that %s allows%s explains these reads: every order of the writes makes a read wrong or puts a transaction before itself.", lvl.Title(), ordered)
	return b.String()
}

// maxListed bounds the lines of a text. maxAlternatives bounds the writers in a line.
const (
	maxListed       = 20
	maxAlternatives = 6
)

func alternatives(list []string) string {
	if more := len(list) - maxAlternatives; more > 1 {
		list = append(list[:maxAlternatives:maxAlternatives], fmt.Sprintf("one of %d more", more))
	}
	return strings.Join(list, " or ")
}

func (w words) cycle(lvl level.Level, a *verdict.Anomaly) string {
	if lvl.Weak() {
		return w.commitCycle(lvl, a)
	}
	var b strings.Builder
	w.edges(&b, a)
	b.WriteString("So each of them would have to come before itself: ")
	switch {
	case lvl == level.PSI:
		fmt.Fprintf(&b, "%s allows such a cycle only with at least two anti-dependencies (RW).", lvl.Title())
	case lvl == level.PC:
		fmt.Fprintf(&b, "%s allows such a cycle only where two anti-dependencies (RW) follow each other, or have only write dependencies (WW) between them.", lvl.Title())
	case lvl.Snapshot() && slices.ContainsFunc(a.Cycle, func(e verdict.Edge) bool { return e.Kind == verdict.NV }):
		fmt.Fprintf(&b, "%s allows such a cycle only where two anti-dependencies (RW), or claims of a snapshot that lacks a commit (NV), follow each other.", lvl.Title())
	case lvl.Snapshot():
		fmt.Fprintf(&b, "%s allows such a cycle only where two anti-dependencies (RW) follow each other.", lvl.Title())
	default:
		fmt.Fprintf(&b, "%s allows no such cycle.", lvl.Title())
	}
	return b.String()
}

// edges writes why each edge of a's cycle holds, in lines.
func (w words) edges(b *strings.Builder, a *verdict.Anomaly) {
	for n, e := range a.Cycle {
		if more := len(a.Cycle) - n; n >= maxListed && more > 1 {
			fmt.Fprintf(b, "… and %d more dependencies, of which the last leads back to %s.\n", more, w.txn(a.Cycle[0].From))
			return
		}
		b.WriteString(w.edge(e, n) + "\n")
	}
}

// Edges describes the edges of a's cycle, and the further edges of its picture.
func Edges(h *history.History, a *verdict.Anomaly) (cycle, context []Edge) {
	rest := slices.Concat(a.Context, a.Support)
	w := newWords(h, a, rest)
	for n, e := range a.Cycle {
		cycle = append(cycle, NewEdge(h, e, w.edge(e, n)))
	}
	for _, e := range rest {
		context = append(context, NewEdge(h, e, w.edge(e, -1)))
	}
	return cycle, context
}

// edge says why an edge holds. n is its index in the cycle, or -1 if it is not in the cycle.
func (w words) edge(e verdict.Edge, n int) string {
	from, to := w.txn(e.From), w.txn(e.To)
	head := fmt.Sprintf("%s -%s-> %s: ", from, e.Kind, to)
	if text := w.denied(e); text != "" {
		return head + text
	}
	switch e.Kind {
	case verdict.SO:
		return head + fmt.Sprintf("%s came first in session %d.", from, w.h.SessionName(w.h.Txns[e.From].Session))
	case verdict.RT:
		end, begin := w.h.Txns[e.From].End, w.h.Txns[e.To].Begin
		clock := NewClock(end, begin)
		return head + fmt.Sprintf("%s ended at %s, before %s began at %s.", from, clock.Seconds(end), to, clock.Seconds(begin))
	case verdict.WR:
		if e.Value == history.Absent {
			return head + fmt.Sprintf("%s %s; %s had deleted it.", to, w.read(e.To, e.Key, e.Value), from)
		}
		return head + fmt.Sprintf("%s %s, which %s wrote.", to, w.read(e.To, e.Key, e.Value), from)
	case verdict.VO:
		return head + fmt.Sprintf("both wrote %s: %s %s, %s %s. The database says that the commit of %s, at %d, came before that of %s, at %d.",
			w.key(e.Key), from, w.written(e.From, e.Key), to, w.written(e.To, e.Key), from, w.h.Place(int(e.From)), to, w.h.Place(int(e.To)))
	case verdict.VS:
		return head + fmt.Sprintf("the database says that %s has %s, which wrote %s.", w.claimedSnapshot(e.To), w.claimedCommit(e.From), w.pair(e.Key, e.Value))
	case verdict.NV:
		return head + fmt.Sprintf("the database says that %s lacks %s, which wrote %s.", w.claimedSnapshot(e.From), w.claimedCommit(e.To), w.pair(e.Key, e.Value))
	case verdict.WW:
		if _, forced := w.forced[n]; !forced && readBy(w.h, e) {
			if n := reading(w.h, e.To, e.Key, e.Value); n >= 0 && !w.clients(verdict.OpRef{Txn: e.To, Op: n}) {
				return head + fmt.Sprintf("%s %s, which %s wrote.", to, w.read(e.To, e.Key, e.Value), from)
			}
			return head + fmt.Sprintf("%s overwrote %s, which %s wrote: it %s.", to, w.pair(e.Key, e.Value), from, w.written(e.To, e.Key))
		}
		return head + w.overwrote(e, n)
	default:
		if p, _ := scanOf(w.h, e); p != nil {
			return head + fmt.Sprintf("%s %s; %s then %s.", from, w.read(e.From, e.Key, e.Value), to, w.written(e.To, e.Key))
		}
		if source, ok := w.writers[version{e.Key, e.Value}]; ok && !readBy(w.h, e) && w.h.Place(int(source)) > 0 && w.h.Place(int(source)) < w.h.Place(int(e.To)) {
			return head + fmt.Sprintf("%s read %s, %s at %d; %s %s at %d, later as the database says.",
				from, w.pair(e.Key, e.Value), w.source(e.Key, e.Value), w.h.Place(int(source)), to, w.written(e.To, e.Key), w.h.Place(int(e.To)))
		}
		if n := reading(w.h, e.To, e.Key, e.Value); n >= 0 && !w.clients(verdict.OpRef{Txn: e.To, Op: n}) {
			return head + fmt.Sprintf("%s %s, %s; %s %s.", from, w.read(e.From, e.Key, e.Value), w.source(e.Key, e.Value), to, w.read(e.To, e.Key, e.Value))
		}
		return head + fmt.Sprintf("%s %s, %s; %s overwrote that: it %s.",
			from, w.read(e.From, e.Key, e.Value), w.source(e.Key, e.Value), to, w.written(e.To, e.Key))
	}
}

// claimedSnapshot is the claimed snapshot of a transaction, and claimedCommit the claimed place of its commit.
func (w words) claimedSnapshot(i int32) string {
	text := fmt.Sprintf("the snapshot of %s", w.txn(i))
	at, told := w.h.SnapshotAt(int(i))
	switch v := w.h.Claim(int(i)).Visible; {
	case told && v != nil:
		text += fmt.Sprintf(" (up to %d; %s)", at, v)
	case told:
		text += fmt.Sprintf(", up to %d,", at)
	case v != nil:
		text += fmt.Sprintf(" (%s)", v)
	}
	return text
}

func (w words) claimedCommit(i int32) string {
	var places []string
	if at := w.h.Claim(int(i)).Commit; at != 0 {
		places = append(places, fmt.Sprintf("commit %d", at))
	}
	if n := w.h.DBTxn(int(i)); n != 0 && w.h.HasVisible() {
		places = append(places, fmt.Sprintf("database transaction %d", n))
	}
	return fmt.Sprintf("%s (%s)", w.txn(i), strings.Join(places, ", "))
}

// denied says why an edge holds at a transaction that only says which versions it did not see. It
// returns "" for other edges.
func (w words) denied(e verdict.Edge) string {
	if e.Kind != verdict.WR && e.Kind != verdict.RW {
		return ""
	}
	reader, writer := reader(e)
	n := denying(w.h, reader, e.Key, writer)
	if n < 0 {
		return ""
	}
	when := "before"
	if e.Kind == verdict.WR {
		when = "after"
	}
	ref := verdict.OpRef{Txn: reader, Op: n}
	did, scan := w.scan(reader, n)
	if !scan {
		did = w.did(ref)
	}
	return fmt.Sprintf("%s %s. So it saw %s %s %s %s.", w.txn(reader), did, w.key(e.Key), when, w.txn(writer), w.written(writer, e.Key))
}

// overwrote says why one of two writers of a key came first, if the other did not read its write.
func (w words) overwrote(e verdict.Edge, n int) string {
	from, to := w.txn(e.From), w.txn(e.To)
	both := fmt.Sprintf("both wrote %s: %s %s, %s %s. ", w.key(e.Key), from, w.written(e.From, e.Key), to, w.written(e.To, e.Key))
	if ref, ok := w.forced[n]; ok {
		read := w.ref(ref)
		if path := seen(w.about, e.From, ref.Txn); len(path) > 0 {
			return both + fmt.Sprintf("%s read %s from %s, %s. So %s was first: otherwise its write would have been read.",
				w.txn(ref.Txn), w.pair(read.Key, read.Value), to, w.saw(ref, path), from)
		}
		return both + fmt.Sprintf("%s read %s from %s, and %s came before %s. So %s was first: otherwise its write would have been read.",
			w.txn(ref.Txn), w.pair(read.Key, read.Value), to, from, w.txn(ref.Txn), from)
	}
	if w.snapshot {
		return both + fmt.Sprintf("Transactions that write the same key must not overlap, and %s began before %s committed. So %s came first.", from, to, from)
	}
	return both + fmt.Sprintf("%s came first: the other order would make a read wrong.", from)
}

// readBy reports whether To read the version of the edge.
func readBy(h *history.History, e verdict.Edge) bool {
	for _, op := range h.Ops(&h.Txns[e.To]) {
		if op.Kind == history.Read && op.Key == e.Key && op.Value == e.Value {
			return true
		}
	}
	return false
}
