package tpcc

import (
	"math"
	"math/rand"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/generator"
)

// kind is one of the five transactions.
type kind int

const (
	newOrderKind kind = iota
	paymentKind
	orderStatusKind
	deliveryKind
	stockLevelKind
	kinds
)

// keying and thinking are the waits of clause 5.2.5.7 in seconds: the time for keying in a
// transaction, and the mean of the exponentially distributed think time after it.
var (
	keying   = [kinds]float64{18, 3, 2, 2, 2}
	thinking = [kinds]float64{12, 12, 10, 5, 5}
)

// longestThought is where think times are cut off, in means (clause 5.2.5.4).
const longestThought = 10

const maxCards = 10_000

// parseMix reads how many cards each kind has, and returns the deck of cards.
func parseMix(text string) ([]kind, error) {
	parts := strings.Split(text, ",")
	if len(parts) != int(kinds) {
		return nil, errors.Errorf("-p mix=%s: expected five numbers of cards, 45,43,4,4,4 say", text)
	}
	var deck []kind
	for k, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || n > maxCards {
			return nil, errors.Errorf("-p mix=%s: %q is no number of cards from 0 to %d", text, part, maxCards)
		}
		for range n {
			deck = append(deck, kind(k))
		}
	}
	if len(deck) == 0 {
		return nil, errors.Errorf("-p mix=%s: there must be a card", text)
	}
	return deck, nil
}

// Plan implements generator.Workload. A worker is a terminal of its home
// warehouse. It deals its transactions from a shuffled deck of cards, and
// shuffles again when all are dealt (clause 5.2.4.2).
func (w *tpcc) Plan(worker int, stream *rand.Rand) generator.Plan {
	p := &plan{tpcc: w, r: stream}
	p.home, p.station = w.home(worker)
	return p
}

type plan struct {
	*tpcc
	r             *rand.Rand
	home, station int64 // the terminal's warehouse and district
	cards         []kind
	thought       float64 // think time after the previous transaction, in seconds
}

// Next implements generator.Plan. All input of the user is drawn here.
func (p *plan) Next() generator.Program {
	if len(p.cards) == 0 {
		for _, i := range p.r.Perm(len(p.deck)) {
			p.cards = append(p.cards, p.deck[i])
		}
	}
	k := p.cards[0]
	p.cards = p.cards[1:]
	seconds := p.thought + keying[k]
	p.thought = math.Min(p.r.ExpFloat64(), longestThought) * thinking[k]
	pace := wait(seconds * p.pace / 100 * float64(time.Second))
	switch k {
	case newOrderKind:
		return p.newOrder(pace)
	case paymentKind:
		return p.payment(pace)
	case orderStatusKind:
		return &orderStatus{wait: pace, who: p.who(p.home, p.anyDistrict())}
	case deliveryKind:
		return &delivery{wait: pace, districts: p.districts, warehouse: p.home, carrier: between(p.r, 1, 10)}
	}
	return &stockLevel{wait: pace, warehouse: p.home, district: p.station}
}

// wait is how long a terminal waits before a transaction.
type wait time.Duration

// Wait implements generator.Waiter.
func (w wait) Wait() time.Duration { return time.Duration(w) }

func (p *plan) anyDistrict() int64 { return between(p.r, 1, p.districts) }

// elsewhere draws a warehouse other than the terminal's, if there is one.
func (p *plan) elsewhere() int64 {
	if p.warehouses == 1 {
		return p.home
	}
	w := between(p.r, 1, p.warehouses-1)
	if w >= p.home {
		w++
	}
	return w
}

// who identifies a customer: 60 in 100 times by a last name, else by number.
type who struct {
	warehouse, district int64
	id                  int64  // 0 where there is a name
	last                string // "" where there is a number
}

const byName = 60 // per cent

func (p *plan) who(warehouse, district int64) who {
	c := who{warehouse: warehouse, district: district}
	if chance(p.r, byName) {
		c.last = lastName(p.lastRun.draw(p.r))
	} else {
		c.id = p.customer.draw(p.r)
	}
	return c
}

// line is one line of a new order.
type line struct{ item, supply, quantity int64 }

func (p *plan) newOrder(pace wait) *newOrderTx {
	t := &newOrderTx{
		wait: pace, setNext: p.setNext,
		warehouse: p.home, district: p.anyDistrict(), customer: p.customer.draw(p.r), allLocal: 1,
	}
	t.lines = make([]line, between(p.r, 5, 15))
	t.unused = chance(p.r, p.rollbacks)
	for i := range t.lines {
		l := line{item: p.item.draw(p.r), supply: p.home, quantity: between(p.r, 1, 10)}
		if chance(p.r, p.remoteStock) {
			l.supply = p.elsewhere()
		}
		if l.supply != p.home {
			t.allLocal = 0
		}
		if t.unused && i == len(t.lines)-1 {
			l.item = p.items + 1
		}
		t.lines[i] = l
	}
	return t
}

func (p *plan) payment(pace wait) *payment {
	t := &payment{wait: pace, warehouse: p.home, district: p.anyDistrict(), amount: between(p.r, 1_00, 5000_00)}
	warehouse, district := p.home, t.district
	if chance(p.r, p.remotePayment) {
		warehouse, district = p.elsewhere(), p.anyDistrict()
	}
	t.who = p.who(warehouse, district)
	t.dataSize = int(p.padded(dataSize))
	return t
}
