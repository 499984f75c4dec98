package workloads

import (
	"math/rand"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Mix says how often each kind of transaction occurs: its probability is its weight divided by
// the sum of all weights.
type Mix struct {
	names []string
	upTo  []int // by name, the sum of its weight and those before
}

// maxWeight keeps sums of weights small.
const maxWeight = 1_000_000

// Mix reads the weights of kinds of transactions, such as tweet:20,follow:40. A name without a weight has weight
// 1. A kind that is not named does not occur.
func (v Values) Mix(name string, kinds ...string) (*Mix, error) {
	return v.MixOf("transaction", name, kinds...)
}

// MixOf is Mix for kinds of something else; what names one.
func (v Values) MixOf(what, name string, kinds ...string) (*Mix, error) {
	weights := make([]int, len(kinds))
	for _, part := range strings.Split(v[name], ",") {
		kind, number, weighted := strings.Cut(strings.TrimSpace(part), ":")
		n := 1
		if weighted {
			var err error
			if n, err = strconv.Atoi(number); err != nil || n < 0 || n > maxWeight {
				return nil, errors.Errorf("-p %s: the weight of %s must be a whole number from 0 to %d, not %q", name, kind, maxWeight, number)
			}
		}
		at := slices.Index(kinds, kind)
		if at < 0 {
			return nil, errors.Errorf("-p %s: there is no %s %q; there are %s", name, what, kind, strings.Join(kinds, ", "))
		}
		weights[at] += n
	}
	m := &Mix{names: kinds}
	sum := 0
	for _, w := range weights {
		sum += w
		m.upTo = append(m.upTo, sum)
	}
	if sum == 0 {
		return nil, errors.Errorf("-p %s: all weights are 0", name)
	}
	return m, nil
}

// Draw draws a kind with one number of r.
func (m *Mix) Draw(r *rand.Rand) string {
	n := r.Intn(m.upTo[len(m.upTo)-1])
	at, found := slices.BinarySearch(m.upTo, n)
	for found { // n == upTo[at]: the next kind with a weight is drawn
		at++
		found = m.upTo[at] == n
	}
	return m.names[at]
}

// Draws reports whether a kind occurs.
func (m *Mix) Draws(kind string) bool {
	at := slices.Index(m.names, kind)
	return at >= 0 && (at == 0 && m.upTo[0] > 0 || at > 0 && m.upTo[at] > m.upTo[at-1])
}
