// Package dist draws keys from the distributions of the MTC paper's section
// V-A and of YCSB, on the generators of go-ycsb.
package dist

import (
	"math"
	"math/rand"
	"strings"

	ycsb "github.com/pingcap/go-ycsb/pkg/generator"
	"github.com/pkg/errors"
)

// Distribution draws numbers from 0 to n-1. It is used by one goroutine.
type Distribution interface {
	Next(r *rand.Rand) int64
}

// Kind describes a distribution to people.
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
	{"zipfian", "key i in proportion to 1/(i+1)^skew", 0.99, "above 0 and other than 1"},
	{"hotspot", "a fifth of the keys gets a share of the accesses given by the skew", 0.8, "between 0 and 1"},
	{"exponential", "the first six sevenths of the keys get a share of the accesses given by the skew, falling exponentially", 0.95, "between 0 and 1"},
	{"latest", "zipfian, from the newest key downwards", 0.99, "above 0, below 1"},
}

// hotKeys is the share of the keys that hotspot prefers, and firstKeys that of
// exponential, both as in YCSB's core workload.
const (
	hotKeys   = 0.2
	firstKeys = 6.0 / 7
)

// New returns the distribution called name over n keys. A skew of 0 is the
// distribution's default.
func New(name string, n int64, skew float64) (Distribution, error) {
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
	bad := func() error {
		if kind.Skew == 0 {
			return errors.Errorf("distribution %s has no skew", name)
		}
		return errors.Errorf("the skew of distribution %s must be %s; %v is not", name, kind.SkewHelp, skew)
	}
	if math.IsNaN(skew) || skew < 0 || kind.Skew == 0 && skew != 0 {
		return nil, bad()
	}
	switch name {
	case "uniform":
		return ycsb.NewUniform(0, n-1), nil
	case "zipfian":
		switch {
		case skew == 1 || math.IsInf(skew, 1):
			return nil, bad()
		case skew > 1:
			// The method behind YCSB's generator needs a skew below 1.
			return &stdZipf{s: skew, n: uint64(n)}, nil
		}
		return ycsb.NewZipfianWithItems(n, skew), nil
	case "hotspot":
		if skew >= 1 {
			return nil, bad()
		}
		if n < 1/hotKeys { // too few to have a fifth of
			return ycsb.NewUniform(0, n-1), nil
		}
		return ycsb.NewHotspot(0, n-1, hotKeys, skew), nil
	case "exponential":
		if skew >= 1 {
			return nil, bad()
		}
		return bounded{ycsb.NewExponential(skew*100, firstKeys*float64(n)), n}, nil
	default: // latest
		if skew >= 1 {
			return nil, bad()
		}
		return newest{ycsb.NewZipfianWithItems(n, skew), n}, nil
	}
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

// stdZipf is the standard library's Zipf generator, bound to the source of the
// first call.
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

// bounded draws again what lies beyond the last key.
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

// newest counts down from the last key.
type newest struct {
	d Distribution
	n int64
}

func (l newest) Next(r *rand.Rand) int64 { return l.n - 1 - l.d.Next(r) }
