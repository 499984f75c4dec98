package bitset

// Narrow is a backend with bands of one word.
func Narrow(b Backend) Backend {
	b.band = 1
	return b
}

// Tight is a backend that compacts rows with every Insert.
func Tight(b Backend) Backend {
	b.tight = true
	return b
}
