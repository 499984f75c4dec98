// Package choose selects a backend of accel: the one that is expected to compute the closure of
// a graph fastest, among those that the machine has and that have enough memory.
package choose

import (
	"strings"

	"github.com/pkg/errors"
)

// Choice is the name of a backend, or Auto.
type Choice string

const (
	// Auto picks the backend by its cost.
	Auto Choice = "auto"
	// Chains keeps vector clocks over a path cover.
	Chains Choice = "chains"
	// Bitset keeps a matrix of bits.
	Bitset Choice = "bitset"
	// CUDA keeps that matrix on a GPU.
	CUDA Choice = "cuda"
)

// None is the name in a decision if no backend was available.
const None = "none"

var choices = []struct {
	choice Choice
	says   string
}{
	{Auto, "the fastest one, by estimate, that fits into memory"},
	{Chains, "vector clocks over the sessions; memory grows with transactions times sessions"},
	{Bitset, "a matrix of bits; memory grows with the square of the transactions"},
	{CUDA, "the same matrix on an NVIDIA GPU"},
}

// Names lists the choices, separated by commas.
func Names() string {
	var names []string
	for _, c := range choices {
		names = append(names, string(c.choice))
	}
	return strings.Join(names, ", ")
}

// Parse reads the name of a choice.
func Parse(name string) (Choice, error) {
	for _, c := range choices {
		if string(c.choice) == name {
			return c.choice, nil
		}
	}
	return "", errors.Errorf("unknown backend %q; known are %s", name, Names())
}

// Help lists the choices and their meanings, one per line.
func Help() string {
	var b strings.Builder
	for _, c := range choices {
		b.WriteString("  " + string(c.choice) + strings.Repeat(" ", 9-len(c.choice)) + c.says + "\n")
	}
	return b.String()
}
