package tpcc

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/workloads"
)

func draw(w generator.Workload, seed int64, worker, n int) []generator.Program {
	p := w.Plan(worker, generator.Stream(seed, worker))
	out := make([]generator.Program, n)
	for i := range out {
		out[i] = p.Next()
	}
	return out
}

// TestPlan: the same seed gives the same plan for any number of sessions, another seed another
// one, and different workers have different plans.
func TestPlan(t *testing.T) {
	make := func(seed int64, sessions int) generator.Workload {
		w, err := makeTPCC(workloads.Common{Seed: seed, Sessions: sessions, Keys: 100, Dist: "uniform"})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	one := draw(make(1, 1), 1, 3, 300)
	if !reflect.DeepEqual(one, draw(make(1, 64), 1, 3, 300)) {
		t.Error("the plan depends on the number of sessions")
	}
	if reflect.DeepEqual(one, draw(make(2, 1), 2, 3, 300)) || reflect.DeepEqual(one, draw(make(1, 1), 1, 5, 300)) {
		t.Error("plans do not differ")
	}
}

// near fails unless the share of n draws is as expected, within five standard deviations.
func near(t *testing.T, what string, hits, n int, percent float64) {
	t.Helper()
	p := percent / 100
	if got := float64(hits) / float64(n); math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/float64(n)) {
		t.Errorf("%s: %d of %d, want %v%%", what, hits, n, percent)
	}
}

// TestMix: each deck has exactly the right cards, in a different order than the previous deck.
func TestMix(t *testing.T) {
	for _, tc := range []struct {
		mix   string
		cards [kinds]int
	}{
		{"45,43,4,4,4", [kinds]int{45, 43, 4, 4, 4}}, {"10,10,1,1,1", [kinds]int{10, 10, 1, 1, 1}}, {"0,0, 2,0,7", [kinds]int{0, 0, 2, 0, 7}},
	} {
		size := 0
		for _, n := range tc.cards {
			size += n
		}
		all := draw(newTPCC(t, "mix="+tc.mix), 1, 0, 20*size)
		orders := map[string]bool{}
		for deck := 0; deck < len(all); deck += size {
			var got [kinds]int
			order := ""
			for _, p := range all[deck : deck+size] {
				k := kindOf(p)
				got[k]++
				order += string(rune('0' + k))
			}
			if got != tc.cards {
				t.Errorf("mix %s: a deck has %v", tc.mix, got)
			}
			orders[order] = true
		}
		if len(orders) < 10 {
			t.Errorf("mix %s: decks are dealt in %d orders", tc.mix, len(orders))
		}
	}
}

func kindOf(p generator.Program) kind {
	switch p.(type) {
	case *newOrderTx:
		return newOrderKind
	case *payment:
		return paymentKind
	case *orderStatus:
		return orderStatusKind
	case *delivery:
		return deliveryKind
	}
	return stockLevelKind
}

// TestInputs: inputs are in their ranges and have the frequencies of clauses 2.4.1 to 2.8.1.
func TestInputs(t *testing.T) {
	w := newTPCC(t, "warehouses=4", "mix=1,1,1,1,1")
	const worker, n = 6, 100_000
	home, station := w.home(worker)
	if home != 3 || station != 2 {
		t.Fatalf("worker %d is at home in warehouse %d, district %d", worker, home, station)
	}
	var orders, lines, remoteLines, unused, payments, remote, named, people, statuses int
	elsewhere, lengths := map[int64]int{}, map[int]int{}
	within := func(v, low, high int64) {
		if v < low || v > high {
			t.Fatalf("%d is not from %d to %d", v, low, high)
		}
	}
	person := func(c who) {
		people++
		if c.last != "" {
			named++
		} else {
			within(c.id, 1, w.customers)
		}
		within(c.district, 1, w.districts)
		within(c.warehouse, 1, w.warehouses)
	}
	for _, p := range draw(w, 3, worker, n) {
		switch p := p.(type) {
		case *newOrderTx:
			orders++
			lengths[len(p.lines)]++
			within(p.district, 1, 10)
			within(p.customer, 1, w.customers)
			within(int64(len(p.lines)), 5, 15)
			local := int64(1)
			for i, l := range p.lines {
				lines++
				within(l.quantity, 1, 10)
				within(l.supply, 1, 4)
				if l.supply != home {
					remoteLines++
					local = 0
				}
				if i == len(p.lines)-1 && p.unused {
					unused++
					within(l.item, w.items+1, w.items+1)
				} else {
					within(l.item, 1, w.items)
				}
			}
			if p.warehouse != home || p.allLocal != local {
				t.Fatalf("%+v", p)
			}
		case *payment:
			payments++
			within(p.amount, 1_00, 5000_00)
			if person(p.who); p.who.warehouse != home {
				remote++
				elsewhere[p.who.warehouse]++
			} else if p.who.district != p.district {
				t.Fatalf("a local payment in district %d by a customer of district %d", p.district, p.who.district)
			}
		case *orderStatus:
			statuses++
			if person(p.who); p.warehouse != home {
				t.Fatalf("%+v", p)
			}
		case *delivery:
			within(p.carrier, 1, 10)
		case *stockLevel:
			if p.warehouse != home || p.district != station {
				t.Fatalf("%+v", p)
			}
		}
	}
	near(t, "remote lines", remoteLines, lines, 1)
	near(t, "rollbacks", unused, orders, 1)
	near(t, "remote payments", remote, payments, 15)
	near(t, "customers by name", named, people, 60)
	for l := 5; l <= 15; l++ {
		near(t, "orders of a length", lengths[l], orders, 100.0/11)
	}
	for _, other := range []int64{1, 2, 4} {
		near(t, "payments by customers of another warehouse", elsewhere[other], remote, 100.0/3)
	}
}

// TestOneWarehouse: with a single warehouse everything is local.
func TestOneWarehouse(t *testing.T) {
	w := newTPCC(t, "warehouses=1", "remote-stock=100%", "remote-payment=100%", "mix=1,1,0,0,0")
	for _, p := range draw(w, 1, 0, 1000) {
		switch p := p.(type) {
		case *newOrderTx:
			if p.allLocal != 1 {
				t.Fatalf("%+v", p)
			}
		case *payment:
			if p.who.warehouse != 1 {
				t.Fatalf("%+v", p)
			}
		}
	}
}

// TestNames: only existing names of customers are used.
func TestNames(t *testing.T) {
	w := newTPCC(t, "warehouses=1")
	known := map[string]bool{}
	for _, c := range tables(w)[customer] {
		known[text(customer, c, "c_last")] = true
	}
	for _, p := range draw(w, 1, 0, 5000) {
		if p, ok := p.(*payment); ok && p.last != "" && !known[p.last] {
			t.Fatalf("nobody is called %s", p.last)
		}
	}
}

// TestPace: waits are those of clause 5.2.5, scaled, and do not change the plan.
func TestPace(t *testing.T) {
	full, half, off := draw(newTPCC(t, "pace=100%"), 1, 0, 20_000), draw(newTPCC(t, "pace=50%"), 1, 0, 20_000), draw(newTPCC(t), 1, 0, 20_000)
	total, want := 0.0, 0.0
	var before *kind
	for i, p := range full {
		k := kindOf(p)
		wait := p.(generator.Waiter).Wait()
		total += wait.Seconds()
		want += keying[k]
		least, longest := keying[k], keying[k]
		if before != nil {
			want += thinking[*before]
			longest += 10 * thinking[*before]
		}
		before = &k
		if s := wait.Seconds(); s < least-0.001 || s > longest+0.001 {
			t.Fatalf("transaction %d waits %v, want %v s to %v s", i, wait, least, longest)
		}
		if h := half[i].(generator.Waiter).Wait(); h < wait/2-time.Millisecond || h > wait/2+time.Millisecond || off[i].(generator.Waiter).Wait() != 0 {
			t.Fatalf("transaction %d waits %v, %v at half pace, %v without", i, wait, h, off[i].(generator.Waiter).Wait())
		}
		if kindOf(half[i]) != k || kindOf(off[i]) != k {
			t.Fatal("the plan depends on the pace")
		}
	}
	if math.Abs(total/want-1) > 0.05 {
		t.Errorf("waits of %.0f s, want %.0f s", total, want)
	}
}
