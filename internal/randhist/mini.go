package randhist

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/isohound/isohound/history"
)

// shapes are all shapes of mini-transactions, as letters: r and w on key a, R and W on key b.
var shapes = miniShapes()

func miniShapes() []string {
	var out []string
	var grow func(s string)
	grow = func(s string) {
		reads, writes := 0, 0
		for _, c := range s {
			if c == 'r' || c == 'R' {
				reads++
			} else {
				writes++
			}
		}
		if reads > 2 || writes > 2 {
			return
		}
		if reads > 0 {
			out = append(out, s)
		}
		for _, c := range "rwRW" {
			ok := c == 'r' || c == 'R' && s != ""
			for _, d := range s {
				ok = ok || c == 'w' && d == 'r' || c == 'W' && d == 'R'
			}
			if ok {
				grow(s + string(c))
			}
		}
	}
	grow("")
	return out
}

// Mini makes a small history of mini-transactions, and of some that only read. Most follow a real execution with some
// stale reads added, so that both verdicts are common and violations are subtle. The others read
// random values.
func Mini(rng *rand.Rand) *history.History {
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	keys := 1 + rng.IntN(3)
	if rng.IntN(4) == 0 {
		sym.SetInitial(sym.Key("k0"), history.Absent)
	}
	sessions := 1 + rng.IntN(4)
	txns := 2 + rng.IntN(4)
	stale := []int{0, 3, 10, 40, 100}[rng.IntN(5)] // percent of reads
	current := map[history.Key]history.Value{}
	written := map[history.Key][]history.Value{}
	b := history.NewBuilder(history.Header{}, sym, txns)
	next := int64(0)
	clock := make([]int64, sessions)
	for i := range txns {
		rec := history.Record{ID: int64(i), Session: int64(rng.IntN(sessions)), Due: history.NoTime, Status: history.Committed}
		switch p := rng.IntN(20); {
		case p == 0:
			rec.Status = history.Aborted
		case p <= 2:
			rec.Status = history.Unknown
		}
		// Real time is loose: intervals overlap, and now and then are missing.
		begin := clock[rec.Session] + rng.Int64N(4)
		if base := int64(i) * 2; rng.IntN(3) > 0 && begin < base {
			begin = base
		}
		rec.Begin, rec.End = begin, begin+rng.Int64N(7)
		clock[rec.Session] = rec.End
		if rng.IntN(15) == 0 {
			rec.Begin = history.NoTime
		}
		if rng.IntN(15) == 0 {
			rec.End = history.NoTime
		}
		a, c := rng.IntN(keys), rng.IntN(keys)
		if keys > 1 && c == a {
			c = (a + 1) % keys
		}
		own := map[history.Key]history.Value{}
		shape := shapes[rng.IntN(len(shapes))]
		if rng.IntN(12) == 0 {
			shape = strings.Repeat("x", 3+rng.IntN(3)) // it only reads, and many keys
		}
		for _, letter := range shape {
			k := sym.Key("k" + strconv.Itoa(a))
			if letter == 'x' {
				k = sym.Key("k" + strconv.Itoa(rng.IntN(keys)))
			}
			if letter == 'R' || letter == 'W' {
				k = sym.Key("k" + strconv.Itoa(c))
			}
			if letter == 'w' || letter == 'W' {
				next++
				own[k] = sym.Int(next)
				written[k] = append(written[k], own[k])
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: k, Value: own[k]})
				continue
			}
			v, mine := own[k]
			if !mine {
				var ok bool
				if v, ok = current[k]; !ok {
					v = sym.Initial(k)
				}
			}
			if rng.IntN(100) < stale/(1+len(own)) {
				switch n := rng.IntN(len(written[k]) + 2); {
				case n < len(written[k]):
					v = written[k][n]
				case n == len(written[k]):
					v = sym.Initial(k)
				case rng.IntN(8) == 0:
					v = sym.Int(1000) // nobody writes it
				default:
					v = sym.Int(next + int64(rng.IntN(3))) // perhaps written later
				}
			}
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: k, Value: v})
		}
		if rec.Status == history.Committed || rec.Status == history.Unknown && rng.IntN(2) == 0 {
			// Sometimes a concurrent transaction does not see it at once.
			if rng.IntN(6) > 0 {
				for k, v := range own {
					current[k] = v
				}
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(rng.IntN(20) > 0, nil)
}

// WithClassReads returns h, closed, with reads that say which versions of a key they did not see.
// Most of them fit the versions of the key up to the transaction.
func WithClassReads(rng *rand.Rand, h *history.History) *history.History {
	values := map[history.Key][]history.Value{}
	for k := range h.KeyCount() {
		values[history.Key(k)] = []history.Value{h.Initial(history.Key(k))}
	}
	for _, op := range h.AllOps() {
		if op.Kind == history.Write && !slices.Contains(values[op.Key], op.Value) {
			values[op.Key] = append(values[op.Key], op.Value)
		}
	}
	b := history.NewBuilder(h.Header, h.Symbols, len(h.Txns))
	seen := map[history.Key]int{} // how many of the values were written before
	for i := range h.Txns {
		rec := h.Record(i)
		rec.Ops = slices.Clone(rec.Ops)
		for range rng.IntN(3) {
			k := history.Key(rng.IntN(h.KeyCount()))
			known := values[k]
			at := seen[k]
			if rng.IntN(3) == 0 {
				at = rng.IntN(len(known))
			}
			shape := rng.IntN(4)
			for n, v := range known {
				var denied bool
				switch shape {
				case 0:
					denied = n < at
				case 1:
					denied = n > at
				case 2:
					denied = n != at && rng.IntN(2) == 0
				default:
					denied = rng.IntN(4) == 0
				}
				if denied {
					rec.Ops = slices.Insert(rec.Ops, rng.IntN(len(rec.Ops)+1), history.Op{Kind: history.ReadNot, Key: k, Value: v})
				}
			}
		}
		for _, op := range h.Record(i).Ops {
			if op.Kind == history.Write {
				seen[op.Key] = slices.Index(values[op.Key], op.Value)
			}
		}
		if err := b.Add(&rec); err != nil {
			panic(err)
		}
	}
	return b.Done(true, nil)
}
