package tpcc

import (
	"iter"
	"math/rand"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/history/schema"
)

// Initial values of rows. Dates of transactions are positive.
const (
	loadDate     = -1
	none         = 0     // no carrier, no date of delivery
	firstPayment = 10_00 // each customer has paid once
	creditLimit  = 50_000_00
	goodCredit   = "GC"
	badCredit    = "BC"
)

// Rows implements generator.Tables: the population of clause 4.3.3.1. The same
// seed yields the same rows each time.
func (w *tpcc) Rows() iter.Seq2[*schema.Table, schema.Row] {
	return func(yield func(*schema.Table, schema.Row) bool) {
		l := &loader{tpcc: w, r: generator.Stream(w.seed, populationStream), yield: yield}
		l.load()
	}
}

// loader yields rows until the consumer stops.
type loader struct {
	*tpcc
	r       *rand.Rand
	yield   func(*schema.Table, schema.Row) bool
	stopped bool
	history int64
}

func (l *loader) add(t *schema.Table, key []any, groups ...[]any) {
	if !l.stopped {
		l.stopped = !l.yield(t, schema.Row{Key: key, Groups: groups})
	}
}

func (l *loader) load() {
	for i := int64(1); i <= l.items && !l.stopped; i++ {
		l.add(item, key(i), []any{between(l.r, 1, 10_000), between(l.r, 1_00, 100_00), l.filler(14, 24), l.original()})
	}
	for w := int64(1); w <= l.warehouses && !l.stopped; w++ {
		l.add(warehouse, key(w), append(l.address(), between(l.r, 0, 2000)), values(l.districts*l.customers*firstPayment))
		for i := int64(1); i <= l.items && !l.stopped; i++ {
			var info []any
			for range allDistricts {
				info = append(info, l.filler(24, 24))
			}
			l.add(stock, key(w, i), values(between(l.r, 10, 100), 0, 0, 0), append(info, l.original()))
		}
		for d := int64(1); d <= l.districts && !l.stopped; d++ {
			l.district(w, d)
		}
	}
}

func (l *loader) district(w, d int64) {
	l.add(district, key(w, d), append(l.address(), between(l.r, 0, 2000)), values(l.customers*firstPayment), values(l.orders+1))
	for c := int64(1); c <= l.customers && !l.stopped; c++ {
		l.customerRow(w, d, c)
	}
	var customers []int64 // each has one order, if there are as many orders
	for o := int64(1); o <= l.orders && !l.stopped; o++ {
		if len(customers) == 0 {
			customers = shuffle(l.r, l.customers)
		}
		l.order(w, d, o, customers[0])
		customers = customers[1:]
	}
}

func (l *loader) customerRow(w, d, c int64) {
	last := c - 1
	if last >= l.names {
		last = l.lastLoad.draw(l.r)
	}
	credit := goodCredit
	if chance(l.r, 10) {
		credit = badCredit
	}
	// An address without the name.
	info := append([]any{word(l.r, 8, 16), "OE", lastName(last)}, l.address()[1:]...)
	info = append(info, l.phone(), credit, int64(loadDate), int64(creditLimit), between(l.r, 0, 5000))
	l.add(customer, key(w, d, c), info, values(-firstPayment, firstPayment, 1, 0), []any{l.filler(300, dataSize)})
	l.history++
	l.add(historyTable, key(w, d, -l.history), append(values(w, d, c, loadDate, firstPayment), l.filler(12, 24)))
}

func (l *loader) order(w, d, o, c int64) {
	lines := between(l.r, 5, 15)
	carrier, date := between(l.r, 1, 10), int64(loadDate)
	delivered := o <= l.delivered()
	if !delivered {
		carrier, date = none, none
		l.add(newOrder, key(w, d, o), values(loadDate))
	}
	l.add(orders, key(w, d, o), values(c, loadDate, lines, 1), values(carrier))
	for n := int64(1); n <= lines; n++ {
		amount := between(l.r, 1, 9_999_99)
		if delivered {
			amount = 0
		}
		l.add(orderLine, key(w, d, o, n), append(values(between(l.r, 1, l.items), w, 5, amount), l.filler(24, 24)), values(date))
	}
}

// address draws a name, two streets, a city, a state and a ZIP code.
func (l *loader) address() []any {
	return []any{word(l.r, 6, 10), l.filler(10, 20), l.filler(10, 20), l.filler(10, 20), word(l.r, 2, 2), digits(l.r, 4) + "11111"}
}

func (l *loader) phone() string { return digits(l.r, 16) }

// filler draws a meaningless text. The parameter padding scales its length.
func (l *loader) filler(low, high int64) string {
	return word(l.r, l.padded(low), l.padded(high))
}

// padded is the length of a text that has n characters in the specification.
func (w *tpcc) padded(n int64) int64 { return max(1, int64(float64(n)*w.pad/100)) }

const originalMark = "ORIGINAL"

// original draws i_data or s_data: a tenth of them contain "ORIGINAL".
func (l *loader) original() string {
	s := l.filler(26, 50)
	if !chance(l.r, 10) {
		return s
	}
	if len(s) <= len(originalMark) {
		return originalMark
	}
	at := l.r.Intn(len(s) - len(originalMark))
	return s[:at] + originalMark + s[at+len(originalMark):]
}
