package bitset

// Narrow is a backend with bands of one word.
func Narrow(b Backend) Backend {
	b.band = 1
	return b
}

// Steady is a backend that computes no rows anew when edges are added.
func Steady(b Backend) Backend {
	b.steady = true
	return b
}

// Tight is a steady backend that compacts rows with every Insert.
func Tight(b Backend) Backend {
	b.tight, b.steady = true, true
	return b
}
