package weak_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/certify"
	"github.com/isohound/isohound/checker/engine"
	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/checker/weak"
	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/elle"
	"github.com/isohound/isohound/internal/randhist"
)

// listOp reads a list or, if list is nil, appends an element.
type listOp struct {
	key, element int
	list         []int
}

// listTxn is a transaction on lists.
type listTxn struct {
	session int
	status  history.Status
	ops     []listOp
}

// listTxns makes up to five transactions on lists, in the order of their commits. Most reads return what some prefix
// of them had appended.
func listTxns(rng *rand.Rand) []listTxn {
	txns := make([]listTxn, 2+rng.IntN(4))
	keys, sessions := 1+rng.IntN(3), 1+rng.IntN(3)
	outcomes, wild := rng.IntN(3) == 0, rng.IntN(4) == 0
	lag := rng.IntN(3)
	states := make([][][]int, keys) // by key and number of commits
	for k := range states {
		states[k] = [][]int{{}}
	}
	element := 0
	for i := range txns {
		t := &txns[i]
		t.session = rng.IntN(sessions)
		if outcomes {
			t.status = []history.Status{history.Committed, history.Committed, history.Aborted, history.Unknown}[rng.IntN(4)]
		} else {
			t.status = history.Committed
		}
		if t.status == history.Unknown {
			t.session = sessions + i
		}
		now := make([][]int, keys)
		for k := range now {
			now[k] = slices.Clone(states[k][i])
		}
		own := map[int]bool{}
		for range 1 + rng.IntN(3) {
			k := rng.IntN(keys)
			if rng.IntN(2) == 0 {
				element++
				now[k] = append(now[k], element)
				own[k] = true
				t.ops = append(t.ops, listOp{key: k, element: element})
			} else {
				t.ops = append(t.ops, listOp{key: k, list: slices.Clone(now[k])})
				if !own[k] {
					t.ops[len(t.ops)-1].list = slices.Clone(states[k][max(0, i-rng.IntN(lag+1))])
				}
			}
		}
		kept := t.status == history.Committed || t.status == history.Unknown && rng.IntN(2) == 0 || wild && rng.IntN(4) == 0
		for k := range states {
			if kept {
				states[k] = append(states[k], now[k])
			} else {
				states[k] = append(states[k], states[k][i])
			}
		}
	}
	if wild {
		t := &txns[rng.IntN(len(txns))]
		op := &t.ops[rng.IntN(len(t.ops))]
		if n := len(op.list); op.list != nil && n > 0 {
			switch rng.IntN(3) {
			case 0:
				op.list = slices.Delete(op.list, n-1, n)
			case 1: // lists that contradict each other
				op.list = slices.Delete(op.list, 0, 1+rng.IntN(n))
			default:
				rng.Shuffle(n, func(a, b int) { op.list[a], op.list[b] = op.list[b], op.list[a] })
			}
		}
	}
	// The record need not be in the order of commits.
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(txns), func(a, b int) { txns[a], txns[b] = txns[b], txns[a] })
	}
	return txns
}

// edn writes transactions in Elle's format.
func edn(txns []listTxn) string {
	var b strings.Builder
	for _, t := range txns {
		kind := map[history.Status]string{history.Committed: "ok", history.Aborted: "fail", history.Unknown: "info"}[t.status]
		fmt.Fprintf(&b, "{:process %d, :type :%s, :value [", t.session, kind)
		for _, op := range t.ops {
			switch {
			case op.list == nil:
				fmt.Fprintf(&b, "[:append %d %d] ", op.key, op.element)
			case t.status == history.Committed:
				fmt.Fprintf(&b, "[:r %d %v] ", op.key, op.list)
			default:
				fmt.Fprintf(&b, "[:r %d nil] ", op.key)
			}
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

// allowedLists tries all orders of commits, by the definition for lists: a read returns what was appended before some
// moment, and an append reads nothing.
func allowedLists(txns []listTxn, lvl level.Level) bool {
	d := define(plain(txns), lvl)
	var extend func(order []int) bool
	extend = func(order []int) bool {
		complete := true
		for i := range txns {
			if !d.in[i] || slices.Contains(order, i) {
				continue
			}
			complete = false
			if extend(append(slices.Clone(order), i)) {
				return true
			}
		}
		return complete && d.explains(txns, order)
	}
	for mask := range 1 << len(txns) {
		fits := true
		for i := range txns {
			d.in[i] = mask>>i&1 == 1
			fits = fits && (txns[i].status == history.Unknown || d.in[i] == (txns[i].status == history.Committed))
		}
		if fits && extend(nil) {
			return true
		}
	}
	return false
}

// plain is the history with appends as blind writes.
func plain(txns []listTxn) *history.History {
	sym := history.NewSymbols()
	b := history.NewBuilder(history.Header{}, sym, len(txns))
	for i, t := range txns {
		rec := history.Record{ID: int64(i), Session: int64(t.session), Begin: history.NoTime, End: history.NoTime, Due: history.NoTime, Status: t.status}
		for _, op := range t.ops {
			key := sym.Key(fmt.Sprint(op.key))
			switch {
			case op.list == nil:
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: key, Value: sym.Int(int64(op.element))})
			case len(op.list) == 0:
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: key, Value: history.Absent})
			default:
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: key, Value: sym.Int(int64(op.list[len(op.list)-1]))})
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}

// explains reports whether an order of commits explains the lists.
func (d *definition) explains(txns []listTxn, order []int) bool {
	lists := map[int][]int{}
	final := map[int]int{} // by element that its transaction appended last to a list: the transaction
	for _, i := range order {
		last := map[int]int{}
		for _, op := range txns[i].ops {
			if op.list == nil {
				lists[op.key] = append(lists[op.key], op.element)
				last[op.key] = op.element
			}
		}
		for _, e := range last {
			final[e] = i
		}
	}
	d.reads = d.reads[:0]
	for _, i := range order {
		if txns[i].status == history.Unknown {
			continue // what it read was not recorded
		}
		own := map[int]int{}
		for j, op := range txns[i].ops {
			if op.list == nil {
				own[op.key] = op.element
				continue
			}
			n := len(op.list)
			if n > len(lists[op.key]) || !slices.Equal(op.list, lists[op.key][:n]) {
				return false
			}
			if e, wrote := own[op.key]; wrote {
				if n == 0 || op.list[n-1] != e {
					return false
				}
				continue
			}
			r := reading{txn: i, op: j, key: d.ops(i)[j].Key, source: initial}
			if n > 0 {
				w, ok := final[op.list[n-1]]
				if !ok || w == i {
					return false
				}
				r.source = w
			}
			if d.strict && slices.ContainsFunc(d.reads, func(o reading) bool { return o.txn == i && o.key == r.key && o.source != r.source }) {
				return false
			}
			d.reads = append(d.reads, r)
		}
	}
	for t, before := range d.must() {
		for p := range d.in {
			if before>>p&1 == 1 && (!d.in[p] || slices.Index(order, p) >= slices.Index(order, t)) {
				return false
			}
		}
	}
	return true
}

// TestListsDiffer judges lists that contradict each other: what could not be must not be satisfied, and the reads that an
// append is taken to have made must not be taken for a client's. The order of the lines makes no difference.
func TestListsDiffer(t *testing.T) {
	for _, text := range []string{
		"0 a1; 1 a3 a5; 2 r1; 3 r3,5",
		"0 a2; 1 a1; 3 r1; 2 r2,1",
		"0 a1; 1 a3 a5; 2 r3,5; 3 r1,3,5",
		"0 r1,2; 1 a2 r2; 2 a1",
	} {
		var lines []string
		for _, txn := range strings.Split(text, "; ") {
			words := strings.Fields(txn)
			line := "{:process " + words[0] + ", :type :ok, :value ["
			for _, w := range words[1:] {
				if w[0] == 'a' {
					line += "[:append x " + w[1:] + "] "
				} else {
					line += "[:r x [" + strings.ReplaceAll(w[1:], ",", " ") + "]] "
				}
			}
			lines = append(lines, line+"]}")
		}
		for range 2 {
			slices.Reverse(lines)
			h, err := history.Load(t.Context(), elle.NewReader(strings.NewReader(strings.Join(lines, "\n")), "test", false))
			if err != nil {
				t.Fatal(err)
			}
			if !h.ListsDiffer {
				t.Errorf("%s: the lists agree", text)
			}
			for _, lvl := range (weak.Engine{}).Levels() {
				if r, err := (weak.Engine{}).Judge(t.Context(), h, lvl, engine.Options{Proof: true}); !errors.As(err, new(*engine.Refusal)) {
					t.Errorf("%s, %s: %+v, %v", text, lvl, r, err)
				}
				var order []int32
				for i := range int32(len(h.Txns)) {
					order = append(order, i)
				}
				for range 24 { // no order is a proof
					if err := certify.Witness(t.Context(), h, lvl, &verdict.Witness{Order: order}); err == nil {
						t.Errorf("%s, %s: the certifier takes the order %v", text, lvl, order)
					}
					rand.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
				}
			}
		}
	}
}

// TestListsAgainstOracle compares verdicts on lists with the trial of all commit orders, and replays their proofs.
func TestListsAgainstOracle(t *testing.T) {
	n := randhist.Count(t, 6_000)
	for _, lvl := range (weak.Engine{}).Levels() {
		if lvl == level.RU { // it allows lists with what did not commit
			continue
		}
		t.Run(lvl.String(), func(t *testing.T) {
			seed := randhist.Seed(t, rand.Uint64())
			rng := rand.New(rand.NewPCG(seed, uint64(lvl)))
			count := map[string]int{}
			for range n {
				txns := listTxns(rng)
				text := edn(txns)
				h, err := history.Load(t.Context(), elle.NewReader(strings.NewReader(text), "test", false))
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if !h.Lists {
					continue
				}
				r, err := weak.Engine{}.Judge(t.Context(), h, lvl, engine.Options{Proof: true})
				if errors.As(err, new(*engine.Refusal)) {
					count["refused"]++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				allowed := allowedLists(txns, lvl)
				if r.Verdict == verdict.Unknown || allowed != (r.Verdict == verdict.Satisfied) {
					t.Fatalf("seed %d, %s: %s %s, but the oracle says %v\n%s%+v", seed, lvl, r.Verdict, r.Reason, allowed, text, r.Anomalies)
				}
				if err := certify.Result(t.Context(), h, r); err != nil {
					t.Fatalf("seed %d, %s: %s: %v\n%s%+v", seed, lvl, r.Verdict, err, text, r.Anomalies)
				}
				count[r.Verdict.String()]++
			}
			t.Logf("seed %d: %v", seed, count)
			if n >= 1000 && (count["satisfied"] < n/5 || count["violated"] < n/20 || count["refused"] > n/5) {
				t.Error("the generator tests one side only, or too much is refused")
			}
		})
	}
}
