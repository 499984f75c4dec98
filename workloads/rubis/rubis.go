// Package rubis is RUBiS, an auction site modelled on eBay: the workload of section 6 of the
// Cobra paper, which the VeriStrong paper uses too. It works on tables, and many rows share
// prices, quantities and ratings.
package rubis

import (
	"iter"
	"math/rand"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/workloads"
)

// The kinds of transactions, RUBiS' interactions with the database.
const (
	registerUser = "register-user"
	registerItem = "register-item"
	browseItems  = "browse"
	viewItem     = "view"
	placeBid     = "bid"
	buyItem      = "buy"
	giveComment  = "comment"
	aboutUser    = "about"
)

// Sizes. The papers' market has 200,000 items and 20,000 users. The default is a tenth of that:
// it is created quickly, and sessions still conflict.
const (
	defaultItems = 20_000
	itemsPerUser = 10 // as in the papers
)

func init() {
	kinds := []string{registerUser + ":5", registerItem + ":10", browseItems + ":15", viewItem + ":15", placeBid + ":25", buyItem + ":10", giveComment + ":15", aboutUser + ":5"}
	workloads.Register(workloads.Spec{
		Name:    "rubis",
		Summary: "an auction site: users register, sell, browse, bid, buy at once, comment on sellers and look at their pages",
		Source:  "C-RUBiS of the Cobra paper, section 6, also in VeriStrong, section 7.1; bids and pages after RUBiS itself",
		Needs:   []drivers.Capability{drivers.Transactions, drivers.Tables, drivers.Predicates},
		Engines: []string{"polygraph"},
		Checks:  "bid counters and prices against bids, stocks against purchases, ratings against comments, that nicknames are unique, and that nothing with bids is sold out",
		// The keys are the items.
		Defaults: workloads.Common{Keys: defaultItems, Dist: "zipfian", Skew: 0.99},
		Params: []workloads.Param{
			{Name: "mix", Default: strings.Join(kinds, ","), Help: "weights of the transactions; one that is not named does not occur", Weights: true},
			{Name: "users", Default: "0", Help: "users at the beginning; 0 is a tenth of the items, which --keys says; the papers have 20000 users and 200000 items"},
			{Name: "categories", Default: "20", Help: "categories of items", Least: 1},
			{Name: "fresh", Default: "20%", Help: "share of the transactions that go for one of the newest items, which may be about to appear; the others take those of the beginning, by --dist and --skew"},
			{Name: "page", Default: "10", Help: "how many rows a list on a page shows", Least: 1},
		},
		New: New,
	})
}

type rubis struct {
	sessions   int64
	items      int64 // at the beginning, numbered from 1
	users      int64 // likewise
	categories int64
	fresh      float64 // percent
	page       int
	mix        *workloads.Mix
	popular    *dist.Spec // items
}

// maxPage bounds the size of a page. No page of the application is that large.
const maxPage = 1_000_000

// New makes the workload. The keys are the items.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	w := &rubis{sessions: int64(max(c.Sessions, 1)), items: c.Keys}
	var err error
	if w.mix, err = v.Mix("mix", registerUser, registerItem, browseItems, viewItem, placeBid, buyItem, giveComment, aboutUser); err != nil {
		return nil, err
	}
	if w.users, err = v.Int("users", 0); err != nil {
		return nil, err
	}
	if w.users == 0 {
		w.users = max(2, c.Keys/itemsPerUser)
	}
	if w.categories, err = v.Int("categories", 1); err != nil {
		return nil, err
	}
	if w.fresh, err = v.Percent("fresh"); err != nil {
		return nil, err
	}
	page, err := v.Int("page", 1)
	if err != nil {
		return nil, err
	}
	w.page = int(min(page, maxPage))
	w.popular, err = dist.Parse(c.Dist, c.Keys, c.Skew)
	return w, errors.Wrap(err, "items")
}

// Initial implements generator.Workload: there are no keys outside the tables.
func (w *rubis) Initial() iter.Seq2[string, int64] {
	return func(func(string, int64) bool) {}
}

// Plan draws the transactions. The users and items that a worker registers have numbers that
// only this worker uses, so that other sessions can try to access them before they exist.
func (w *rubis) Plan(worker int, stream *rand.Rand) generator.Plan {
	return &plan{w: w, worker: int64(worker), rng: stream, popular: w.popular.New()}
}

type plan struct {
	w       *rubis
	worker  int64
	rng     *rand.Rand
	popular dist.Distribution
	// users and items count those registered so far by this worker.
	users, items int64
}

func (p *plan) Next() generator.Program {
	w := p.w
	kind := w.mix.Draw(p.rng)
	// All are always drawn, even if not needed, so that plans with different mixes differ as
	// little as possible.
	item, user, draw := p.item(), p.user(), p.rng.Int63()
	b := base{w: w, item: item, nick: nickname(user)}
	switch kind {
	case registerUser:
		u := &newUser{id: w.users + p.users*w.sessions + p.worker + 1, region: 1 + draw%regions}
		// Workers at the same point of their plans choose from the same few names.
		u.nick = nickname(w.users + p.users*w.sessions + 1 + draw/regions%(2*w.sessions))
		p.users++
		return u
	case registerItem:
		id := w.items + p.items*w.sessions + p.worker + 1
		p.items++
		return &newItem{base: b, id: id, offer: offer{start: 1 + draw%100, quantity: 1 + draw/100%10}}
	case browseItems:
		return &browse{b, 1 + draw%w.categories}
	case viewItem:
		return &view{b}
	case placeBid:
		return &bid{b, 1 + draw%10}
	case buyItem:
		return &buy{b, 1 + draw%3}
	case giveComment:
		return &comment{b, ratings[draw%int64(len(ratings))]}
	}
	return &about{b}
}

// item draws an item: an initial one, or one that is registered at about this time, perhaps
// later.
func (p *plan) item() int64 {
	w := p.w
	popular, recent, share := p.popular.Next(p.rng), p.rng.Int63n(2*w.sessions), p.rng.Float64()*100
	if share < w.fresh {
		return max(1, w.items+p.items*w.sessions+w.sessions-recent)
	}
	return 1 + popular
}

// user draws the acting user, uniformly. Sometimes it is one that is registered at about this
// time, perhaps later.
func (p *plan) user() int64 {
	w := p.w
	user, recent, share := p.rng.Int63n(w.users), p.rng.Int63n(2*w.sessions), p.rng.Float64()*100
	if share < w.fresh/4 {
		return max(1, w.users+p.users*w.sessions+w.sessions-recent)
	}
	return 1 + user
}
