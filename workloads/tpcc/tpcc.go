// Package tpcc is the five transactions of TPC Benchmark C (revision 5.11) on a population that
// may be much smaller than one warehouse. The twelve consistency conditions of clause 3.3.2 are
// a test oracle in addition to the checkers.
//
// Values that the specification only displays are read, but not computed. If a row that must
// exist is not found, the operations that depend on it are left out and the transaction commits,
// because only reads of committed transactions can prove a violation.
package tpcc

import (
	"iter"
	"math"
	"math/rand"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/workloads"
)

// keysUnused is the only allowed value of --keys, because the workload has its own keys.
const keysUnused = 100

// The population of one warehouse by clauses 1.2.1 and 4.3.3.1. Seven tenths of the orders of a
// district are delivered.
const (
	allItems     = 100_000
	allDistricts = 10
	allCustomers = 3000 // of a district; as many orders
	allNames     = 1000 // last names, which are three syllables each
)

func init() {
	workloads.Register(workloads.Spec{
		Name:     "tpcc",
		Summary:  "TPC-C: a wholesale supplier's orders, payments and deliveries, in five kinds of transactions",
		Source:   "TPC Benchmark C, revision 5.11, clauses 1 to 5",
		Needs:    []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates},
		Defaults: workloads.Common{Keys: keysUnused, Dist: "uniform"},
		OwnKeys:  true,
		Checks:   "the twelve consistency conditions of clause 3.3.2, in every district and for every order and customer",
		Engines:  []string{"polygraph"},
		Params: []workloads.Param{
			{Name: "warehouses", Default: "10", Help: "warehouses; session n is at home in number n mod warehouses. With one there are no remote ones", Least: 1},
			{Name: "districts", Default: "10", Help: "districts of a warehouse, 1 to 10", Least: 1},
			{Name: "scale", Default: "1%", Help: "share of the specification's items, and of its customers and orders of each district, 100000 and 3000; at least 1 of each"},
			{Name: "customers", Default: "auto", Help: "customers of a district, or auto: by the scale"},
			{Name: "items", Default: "auto", Help: "items, or auto: by the scale"},
			{Name: "orders", Default: "auto", Help: "orders that a district begins with, seven tenths of them delivered, or auto: as many as customers"},
			{Name: "mix", Default: "45,43,4,4,4", Help: "cards of New-Order, Payment, Order-Status, Delivery and Stock-Level in the deck from which each session deals"},
			{Name: "remote-stock", Default: "1%", Help: "share of the order lines that another warehouse supplies", Plain: "0%"},
			{Name: "remote-payment", Default: "15%", Help: "share of the payments by a customer of another warehouse", Plain: "0%"},
			{Name: "rollback", Default: "1%", Help: "share of the new orders that end in an item that does not exist and are rolled back", Plain: "0%"},
			{Name: "next", Default: "add", Help: "how an order gets its number: add increments the district's counter in one statement; set reads it and writes it back, as the specification's sample program does, which needs a stronger isolation"},
			{Name: "pad", Default: "10%", Help: "share of the specification's length that texts without a meaning have"},
			{Name: "pace", Default: "0%", Help: "share of the specification's keying and thinking times that sessions wait between transactions; has no effect in an open loop (--rate)"},
		},
		New: New,
	})
}

// tpcc is the workload: sizes of the population, shares from 0 to 100, and the
// constants of the distributions.
type tpcc struct {
	seed                                  int64
	warehouses, districts                 int64
	customers, items, orders, names       int64
	deck                                  []kind
	remoteStock, remotePayment, rollbacks float64
	setNext                               bool
	pad, pace                             float64

	customer, item    nurand // of the run
	lastLoad, lastRun nurand // of the population and of the run
}

// New makes the workload.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	if c.Keys != 0 && c.Keys != keysUnused || c.Dist != "" && c.Dist != "uniform" || c.Skew != 0 {
		return nil, errors.New("tpcc has tables and distributions of its own: instead of --keys, --dist and --skew it has -p warehouses and -p scale")
	}
	w := &tpcc{seed: c.Seed}
	if err := w.sizes(v); err != nil {
		return nil, err
	}
	var err error
	if w.deck, err = parseMix(v["mix"]); err != nil {
		return nil, err
	}
	for name, share := range map[string]*float64{
		"remote-stock": &w.remoteStock, "remote-payment": &w.remotePayment, "rollback": &w.rollbacks, "pad": &w.pad, "pace": &w.pace,
	} {
		if *share, err = v.Percent(name); err != nil {
			return nil, err
		}
	}
	next, err := v.OneOf("next", "add", "set")
	if err != nil {
		return nil, err
	}
	w.setNext = next == "set"
	w.constants(generator.Stream(w.seed, constantsStream))
	return w, nil
}

// sizes reads the sizes of the population.
func (w *tpcc) sizes(v workloads.Values) error {
	scale, err := v.Percent("scale")
	if err != nil {
		return err
	}
	if w.warehouses, err = v.Int("warehouses", 1); err != nil {
		return err
	}
	if w.districts, err = v.Int("districts", 1); err != nil {
		return err
	}
	if w.districts > allDistricts {
		return errors.Errorf("-p districts=%d: a warehouse has at most %d", w.districts, allDistricts)
	}
	size := func(name string, by int64) (int64, error) {
		if v[name] == "auto" {
			return max(1, by), nil
		}
		return v.Int(name, 1)
	}
	scaled := func(n int64) int64 { return int64(math.Round(float64(n) * scale / 100)) }
	if w.customers, err = size("customers", scaled(allCustomers)); err != nil {
		return err
	}
	if w.items, err = size("items", scaled(allItems)); err != nil {
		return err
	}
	if w.orders, err = size("orders", w.customers); err != nil {
		return err
	}
	w.names = min(allNames, max(1, w.customers*allNames/allCustomers))
	return nil
}

// delivered is how many of a district's first orders are initially delivered, 2100 of 3000.
func (w *tpcc) delivered() int64 { return w.orders * 7 / 10 }

// Streams of random numbers in addition to those of the workers.
const constantsStream, populationStream = -1_000_001, -1_000_002

// constants draws the constants of clause 2.1.6, which are the same for all
// terminals of a run.
func (w *tpcc) constants(r *rand.Rand) {
	w.customer = newNURand(r, 1023, 1, w.customers, allCustomers)
	w.item = newNURand(r, 8191, 1, w.items, allItems)
	w.lastLoad = newNURand(r, 255, 0, w.names-1, allNames)
	w.lastRun = newNURand(r, 255, 0, w.names-1, allNames)
	// Clause 2.1.6.1: the run must not prefer the same names as the population. With few names
	// there is no such choice.
	for w.lastRun.a == 255 && !apart(w.lastLoad.c, w.lastRun.c) {
		w.lastRun.c = r.Int63n(256)
	}
}

func apart(load, run int64) bool {
	d := max(load-run, run-load)
	return d >= 65 && d <= 119 && d != 96 && d != 112
}

// Initial implements generator.Workload: there are no keys outside the tables.
func (w *tpcc) Initial() iter.Seq2[string, int64] { return func(func(string, int64) bool) {} }

// home returns the warehouse of a worker, and the district that its Stock-Level transactions
// read (clause 2.8.1.1).
func (w *tpcc) home(worker int) (warehouse, district int64) {
	n := int64(worker)
	return n%w.warehouses + 1, n/w.warehouses%w.districts + 1
}

// place names a district in messages.
func place(warehouse, district int64) string {
	return "district (" + strconv.FormatInt(warehouse, 10) + "," + strconv.FormatInt(district, 10) + ")"
}
