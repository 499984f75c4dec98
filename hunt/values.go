package hunt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// List is a list of words. A single word may be written without a list.
type List []string

// UnmarshalYAML accepts a list or one word.
func (l *List) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = nil
		if n.Tag != "!!null" {
			*l = List{n.Value}
		}
		return nil
	}
	return n.Decode((*[]string)(l))
}

// Duration is a time such as 1m30s.
type Duration time.Duration

// UnmarshalYAML accepts a positive time such as 1m30s.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := time.ParseDuration(n.Value)
	if err != nil || parsed <= 0 || n.Kind != yaml.ScalarNode {
		return wrong(n, "expected a time such as 1m30s, not %s", shown(n))
	}
	*d = Duration(parsed)
	return nil
}

// Clock is a time of day such as 06:00.
type Clock string

var clock = regexp.MustCompile(`^([01]?\d|2[0-3]):([0-5]\d)$`)

// UnmarshalYAML accepts a time of day.
func (c *Clock) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || !clock.MatchString(n.Value) {
		return wrong(n, "expected a time of day such as \"06:00\", not %s", shown(n))
	}
	*c = Clock(n.Value)
	return nil
}

// next is the first time after began when the clock shows c.
func (c Clock) next(began time.Time) time.Time {
	m := clock.FindStringSubmatch(string(c))
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	at := time.Date(began.Year(), began.Month(), began.Day(), hour, minute, 0, 0, began.Location())
	if !at.After(began) {
		at = time.Date(began.Year(), began.Month(), began.Day()+1, hour, minute, 0, 0, began.Location())
	}
	return at
}

// Values are the values of a setting: one, several to draw from, or a range of whole numbers.
type Values struct {
	Of []string
	// Low and High, if Range, are both drawn.
	Range     bool
	Low, High int64
}

var rangeOf = regexp.MustCompile(`^(-?\d+)\.\.(-?\d+)$`)

// UnmarshalYAML accepts a value, a list of values or LOW..HIGH.
func (v *Values) UnmarshalYAML(n *yaml.Node) error {
	*v = Values{}
	switch n.Kind {
	case yaml.ScalarNode:
		if m := rangeOf.FindStringSubmatch(n.Value); m != nil {
			low, lerr := strconv.ParseInt(m[1], 10, 64)
			high, herr := strconv.ParseInt(m[2], 10, 64)
			if lerr != nil || herr != nil || low > high || high-low+1 <= 0 {
				return wrong(n, "expected LOW..HIGH with whole numbers and LOW not above HIGH, not %s", shown(n))
			}
			v.Range, v.Low, v.High = true, low, high
			return nil
		}
		if n.Tag == "!!null" {
			return wrong(n, "expected a value, a list of values, or a range such as 10..200")
		}
		v.Of = []string{n.Value}
		return nil
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return wrong(item, "expected a value")
			}
			v.Of = append(v.Of, item.Value)
		}
		if len(v.Of) > 0 {
			return nil
		}
	}
	return wrong(n, "expected a value, a list of values, or a range such as 10..200")
}

// set reports whether there is a value.
func (v *Values) set() bool { return v.Range || len(v.Of) > 0 }

// ends are the first and the last value, for checks before anything is run. Every value of a list is checked.
func (v *Values) ends() []string {
	if v.Range {
		return []string{strconv.FormatInt(v.Low, 10), strconv.FormatInt(v.High, 10)}
	}
	return v.Of
}

// draw draws a value. A range above 0 is drawn so that 10 to 20 is as likely as 100 to 200: most of what matters
// about a number is its order of magnitude.
func (v *Values) draw(r *rand.Rand) string {
	if !v.Range {
		return v.Of[r.IntN(len(v.Of))]
	}
	if v.Low < 1 {
		return strconv.FormatInt(v.Low+r.Int64N(v.High-v.Low+1), 10)
	}
	low, high := math.Log(float64(v.Low)), math.Log(float64(v.High)+1)
	n := int64(math.Exp(low + r.Float64()*(high-low)))
	return strconv.FormatInt(min(max(n, v.Low), v.High), 10)
}

// near draws a value near one that was drawn before: of a list the next or the one before, of a range within a
// quarter.
func (v *Values) near(r *rand.Rand, was string) string {
	if !v.Range {
		for n, w := range v.Of {
			if w == was {
				return v.Of[min(max(n+r.IntN(3)-1, 0), len(v.Of)-1)]
			}
		}
		return v.draw(r)
	}
	n, err := strconv.ParseInt(was, 10, 64)
	if err != nil {
		return v.draw(r)
	}
	reach := max(1, (v.High-v.Low)/8)
	if v.Low >= 1 {
		reach = max(1, n/4)
	}
	n += r.Int64N(2*reach+1) - reach
	return strconv.FormatInt(min(max(n, v.Low), v.High), 10)
}

func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		return fmt.Sprintf("%q", n.Value)
	case yaml.SequenceNode:
		return "a list"
	}
	return "keys with values"
}

func wrong(n *yaml.Node, format string, args ...any) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", n.Line, fmt.Sprintf(format, args...))}}
}
