// Package dist draws keys from the distributions of section V-A of the MTC paper and of YCSB. It
// uses the generators of go-ycsb.
package dist

import (
	"math"
	"math/rand"
	"strings"

	ycsb "github.com/pingcap/go-ycsb/pkg/generator"
	"github.com/pkg/errors"
)

// Distribution draws numbers from 0 to n-1. Only one goroutine may use it.
type Distribution interface {
	Next(r *rand.Rand) int64
}

// Kind describes a distribution.
type Kind struct {
	Name string
	Help string
	// Skew is the default of the skew, 0 if the distribution has none.
	Skew     float64
	SkewHelp string
}

// Kinds lists the distributions.
var Kinds = []Kind{
	{"uniform", "every key equally often", 0, ""},
	{"zipfian", "key i in proportion to 1/(i+1)^skew", 0.99, "above 0 and not within 0.001 of 1"},
	{"hotspot", "a fifth of the keys gets a share of the accesses given by the skew", 0.8, "between 0 and 1"},
	{"exponential", "the first six sevenths of the keys get a share of the accesses given by the skew, falling exponentially", 0.95, "from 0.05 to below 1"},
	{"latest", "zipfian, from the newest key downwards", 0.99, "above 0, at most 0.999"},
}

// hotKeys is the share of the keys that hotspot prefers, and firstKeys the share that
// exponential prefers, both as in YCSB's core workload.
const (
	hotKeys   = 0.2
	firstKeys = 6.0 / 7
)

// Spec is a distribution over a number of keys. Each session makes its own generator from it.
type Spec struct {
	kind  Kind
	n     int64
	skew  float64
	zetan float64 // the sum of 1/i^skew for i up to n, for zipfian and latest
}

// nearOne is the smallest distance of the skew from 1 that YCSB's zipfian method supports. Its
// exponent is 1/(1-skew), so its arithmetic fails closer to 1.
const nearOne = 1e-3

// leastShare is a lower bound of the share of exponential. With a smaller share most draws would
// be beyond the last key and be repeated.
const leastShare = 0.05

// Parse checks the name of a distribution, the number n of keys, at least 1, and the skew; 0
// means the default skew.
func Parse(name string, n int64, skew float64) (*Spec, error) {
	if n < 1 {
		return nil, errors.Errorf("there must be at least one key, not %d", n)
	}
	kind, err := find(name)
	if err != nil {
		return nil, err
	}
	if skew == 0 {
		skew = kind.Skew
	}
	s := &Spec{kind: kind, n: n, skew: skew}
	var ok bool
	switch name {
	case "uniform":
		if skew != 0 {
			return nil, errors.Errorf("distribution %s has no skew", name)
		}
		ok = true
	case "zipfian":
		ok = skew > 0 && math.Abs(skew-1) >= nearOne && !math.IsInf(skew, 1)
	case "hotspot":
		ok = skew > 0 && skew < 1
	case "exponential":
		ok = skew >= leastShare && skew < 1
	default: // latest
		ok = skew > 0 && skew <= 1-nearOne
	}
	if !ok {
		return nil, errors.Errorf("the skew of distribution %s must be %s; %v is not", name, kind.SkewHelp, skew)
	}
	if (name == "zipfian" || name == "latest") && skew < 1 {
		for i := int64(1); i <= n; i++ {
			s.zetan += math.Pow(float64(i), -skew)
		}
	}
	return s, nil
}

// New returns a generator for one goroutine.
func (s *Spec) New() Distribution {
	n, skew := s.n, s.skew
	switch s.kind.Name {
	case "zipfian":
		if skew > 1 {
			// The method of YCSB's generator needs a skew below 1.
			return &stdZipf{s: skew, n: uint64(n)}
		}
		return ycsb.NewZipfian(0, n-1, skew, s.zetan)
	case "hotspot":
		if n >= 1/hotKeys { // with fewer keys, a fifth is less than one key
			return ycsb.NewHotspot(0, n-1, hotKeys, skew)
		}
	case "exponential":
		return bounded{ycsb.NewExponential(skew*100, firstKeys*float64(n)), n}
	case "latest":
		return newest{ycsb.NewZipfian(0, n-1, skew, s.zetan), n}
	}
	return ycsb.NewUniform(0, n-1)
}

func find(name string) (Kind, error) {
	var names []string
	for _, k := range Kinds {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, errors.Errorf("unknown distribution %q; known are %s", name, strings.Join(names, ", "))
}

// stdZipf is the standard library's Zipf generator. It uses the random source of the first call.
type stdZipf struct {
	s float64
	n uint64
	z *rand.Zipf
}

func (d *stdZipf) Next(r *rand.Rand) int64 {
	if d.z == nil {
		d.z = rand.NewZipf(r, d.s, 1, d.n-1)
	}
	return int64(d.z.Uint64())
}

// bounded repeats draws beyond the last key.
type bounded struct {
	d Distribution
	n int64
}

func (b bounded) Next(r *rand.Rand) int64 {
	for {
		if v := b.d.Next(r); v >= 0 && v < b.n {
			return v
		}
	}
}

// newest counts downwards from the last key.
type newest struct {
	d Distribution
	n int64
}

func (l newest) Next(r *rand.Rand) int64 { return l.n - 1 - l.d.Next(r) }
