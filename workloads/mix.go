package workloads

import (
	"math/rand"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Mix is how often each kind of transaction occurs: one out of Total
// transactions for each unit of weight.
type Mix struct {
	names []string
	upTo  []int // by name, the sum of its weight and those before
}

// maxWeight keeps sums of weights small.
const maxWeight = 1_000_000

// Mix reads weights of kinds, tweet:20,follow:40. A name without a weight
// counts 1, a kind that is not named does not occur.
func (v Values) Mix(name string, kinds ...string) (*Mix, error) {
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
			return nil, errors.Errorf("-p %s: there is no transaction %q; there are %s", name, kind, strings.Join(kinds, ", "))
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
	for found { // upTo[at] == n belongs to the next kind that has a weight
		at++
		found = m.upTo[at] == n
	}
	return m.names[at]
}
