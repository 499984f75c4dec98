// Package ctwitter is C-Twitter, a clone of Twitter: the workload of section 6 of the Cobra
// paper, which the Vbox and VeriStrong papers use too. It works on tables, and writes duplicate
// values as such an application does.
package ctwitter

import (
	"iter"
	"math/rand"
	"strconv"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/workloads"
)

// The kinds of transactions.
const (
	aTweet     = "tweet"
	aFollow    = "follow"
	anUnfollow = "unfollow"
	aLike      = "like"
	aTimeline  = "timeline"
	aFollowers = "followers"
	aProfile   = "profile"
)

// skew is the skew of whom users follow. The Cobra paper gives α = 100, which is 1/(1-θ) in the
// method of YCSB's generator for its θ of 0.99.
const skew = 0.99

func init() {
	workloads.Register(workloads.Spec{
		Name:    "ctwitter",
		Summary: "a clone of Twitter: users tweet, follow, unfollow, like, look at timelines, followers and profiles",
		Source:  "C-Twitter of the Cobra paper, section 6, also in Vbox, section 5, and VeriStrong, section 7.1; likes are added",
		Needs:   []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates},
		Engines: []string{"polygraph"},
		Checks:  "follower counters against follows, like counters against likes, and that both directions of a follow and the newest tweet of a user exist",
		// The keys are the users.
		Defaults: workloads.Common{Keys: 1000, Dist: "zipfian", Skew: skew},
		Params: []workloads.Param{
			{Name: "mix", Default: "tweet:20,follow:20,unfollow:15,like:10,timeline:10,followers:10,profile:15", Help: "weights of the transactions; one that is not named does not occur", Weights: true},
			{Name: "activity", Default: "0.5", Help: "zipfian skew of who acts; 0 has all users act equally often; --dist and --skew say whom they follow and look at"},
			{Name: "tweets", Default: "10", Help: "tweets of each user at the beginning", Least: 1},
			{Name: "length", Default: "140", Help: "length of a tweet in bytes, up to 255; shorter tweets make smaller histories"},
			{Name: "page", Default: "10", Help: "how many rows a page shows: a timeline is that many tweets by that many followed users", Least: 1},
		},
		New: New,
	})
}

type twitter struct {
	users  int64
	others *dist.Spec // whom users follow, whose tweets they like
	active *dist.Spec // who acts
	mix    *workloads.Mix
	tweets int64 // of each user at the beginning
	length int64
	page   int
}

// New makes the workload. The keys are the users.
func New(c workloads.Common, v workloads.Values) (generator.Workload, error) {
	w := &twitter{users: c.Keys}
	if c.Keys < 2 {
		return nil, errors.New("--keys is the number of users here; it must be at least 2")
	}
	var err error
	if w.mix, err = v.Mix("mix", aTweet, aFollow, anUnfollow, aLike, aTimeline, aFollowers, aProfile); err != nil {
		return nil, err
	}
	if w.others, err = dist.Parse(c.Dist, c.Keys, c.Skew); err != nil {
		return nil, err
	}
	if w.active, err = activity(c.Keys, v["activity"]); err != nil {
		return nil, err
	}
	if w.tweets, err = v.Int("tweets", 0); err != nil {
		return nil, err
	}
	if w.length, err = v.Int("length", 1); err != nil {
		return nil, err
	}
	if w.length > maxText {
		return nil, errors.Errorf("-p length=%d: a tweet has at most %d bytes", w.length, maxText)
	}
	page, err := v.Int("page", 1)
	w.page = int(min(page, maxPage))
	return w, err
}

// activity reads the distribution of the acting users.
func activity(users int64, text string) (*dist.Spec, error) {
	skew, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errors.Errorf("-p activity=%s: expected the skew of a zipfian distribution, or 0", text)
	}
	kind := "zipfian"
	if skew == 0 {
		kind = "uniform"
	}
	d, err := dist.Parse(kind, users, skew)
	return d, errors.Wrapf(err, "-p activity=%s", text)
}

// maxPage bounds the size of a page. No page of the application is that large.
const maxPage = 1_000_000

// Initial implements generator.Workload: there are no keys outside the tables.
func (w *twitter) Initial() iter.Seq2[string, int64] {
	return func(func(string, int64) bool) {}
}

// Plan draws the transactions. The most likely users of both distributions are the same: the
// most followed user is the most active.
func (w *twitter) Plan(_ int, stream *rand.Rand) generator.Plan {
	return &plan{w: w, rng: stream, others: w.others.New(), active: w.active.New()}
}

type plan struct {
	w              *twitter
	rng            *rand.Rand
	others, active dist.Distribution
}

func (p *plan) Next() generator.Program {
	kind := p.w.mix.Draw(p.rng)
	// Both are always drawn, even if not needed, so that plans with different mixes differ as
	// little as possible.
	who, whom := p.active.Next(p.rng), p.others.Next(p.rng)
	if whom == who {
		whom = (whom + 1) % p.w.users
	}
	b := base{w: p.w, who: who + 1, whom: whom + 1}
	switch kind {
	case aTweet:
		return tweet{b}
	case aFollow:
		return follow{b}
	case anUnfollow:
		return unfollow{b}
	case aLike:
		return like{b}
	case aTimeline:
		return timeline{b}
	case aFollowers:
		return followers{b}
	}
	return profile{b}
}
