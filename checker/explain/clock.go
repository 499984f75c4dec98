package explain

import (
	"fmt"
	"slices"

	"github.com/isohound/isohound/history"
)

// Clock writes moments such that different ones look different.
type Clock struct{ fine bool }

// NewClock returns a clock that writes these moments, in nanoseconds, in microseconds, or in nanoseconds if two of them are
// the same in microseconds.
func NewClock(moments ...int64) Clock {
	moments = slices.DeleteFunc(slices.Clone(moments), func(ns int64) bool { return ns == history.NoTime })
	slices.Sort(moments)
	for i := 1; i < len(moments); i++ {
		if a, b := moments[i-1], moments[i]; a != b && (Clock{}).Seconds(a) == (Clock{}).Seconds(b) {
			return Clock{fine: true}
		}
	}
	return Clock{}
}

// ClockOf returns a clock for the begins and ends of transactions.
func ClockOf(txns ...Txn) Clock {
	var moments []int64
	for _, t := range txns {
		for _, ns := range []*int64{t.Begin, t.End} {
			if ns != nil {
				moments = append(moments, *ns)
			}
		}
	}
	return NewClock(moments...)
}

// Seconds writes a moment in seconds, with the unit.
func (c Clock) Seconds(ns int64) string { return c.decimal(ns, 9) + " s" }

// Millis writes a moment in milliseconds, without the unit.
func (c Clock) Millis(ns int64) string { return c.decimal(ns, 6) }

// span writes an interval. nil is not known.
func (c Clock) span(begin, end *int64) string {
	show := func(ns *int64) string {
		if ns == nil {
			return "?"
		}
		return c.Seconds(*ns)
	}
	return show(begin) + " to " + show(end)
}

// decimal writes a number of nanoseconds in a unit of ten to the power of so many. A float64 would not have all digits.
func (c Clock) decimal(ns int64, power int) string {
	sign, n := "", uint64(ns)
	if ns < 0 {
		sign, n = "-", -n
	}
	if !c.fine {
		n, power = (n+500)/1000, power-3
	}
	unit := uint64(1)
	for range power {
		unit *= 10
	}
	return fmt.Sprintf("%s%d.%0*d", sign, n/unit, power, n%unit)
}
