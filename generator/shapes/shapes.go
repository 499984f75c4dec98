// Package shapes lists the shapes of the mini-transactions of the MTC paper's Definition 8: one
// or two reads, at most two writes, each write after a read of its key.
package shapes

import "strings"

// Step is one operation of a shape.
type Step struct {
	Write bool
	Slot  int // 0 for the first key, 1 for the second
}

// Shape is the sequence of operations of a mini-transaction, on keys x and y.
type Shape struct {
	// Name spells the steps, R or W and the key, such as RxRyWx.
	Name  string
	Steps []Step
	Keys  int // 1 or 2
}

// Writes returns the number of writes.
func (s Shape) Writes() int { return strings.Count(s.Name, "W") }

// All returns every shape, in a fixed order. The first key touched is x, so shapes that only
// differ in the names of their keys occur once.
func All() []Shape {
	var out []Shape
	var grow func(s Shape, reads, writes int)
	grow = func(s Shape, reads, writes int) {
		if reads > 0 {
			out = append(out, s)
		}
		for slot := range min(s.Keys+1, 2) {
			if reads < 2 {
				grow(s.with(Step{false, slot}), reads+1, writes)
			}
			if writes < 2 && s.reads(slot) {
				grow(s.with(Step{true, slot}), reads, writes+1)
			}
		}
	}
	grow(Shape{}, 0, 0)
	return out
}

func (s Shape) with(step Step) Shape {
	letter := "R"
	if step.Write {
		letter = "W"
	}
	return Shape{
		Name:  s.Name + letter + "xy"[step.Slot:step.Slot+1],
		Steps: append(s.Steps[:len(s.Steps):len(s.Steps)], step),
		Keys:  max(s.Keys, step.Slot+1),
	}
}

func (s Shape) reads(slot int) bool {
	for _, step := range s.Steps {
		if !step.Write && step.Slot == slot {
			return true
		}
	}
	return false
}

// ByName returns the shape spelled name, and whether there is one.
func ByName(name string) (Shape, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Shape{}, false
}
