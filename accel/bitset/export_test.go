package bitset

// Narrow is a backend with bands of one word.
func Narrow(b Backend) Backend {
	b.band = 1
	return b
}
