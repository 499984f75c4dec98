package shapes

import (
	"slices"
	"testing"
)

// TestAllAreDefinition8 enumerates every sequence of up to four operations on two keys and keeps
// those that Definition 8 allows, with a different algorithm than All.
func TestAllAreDefinition8(t *testing.T) {
	var want []string
	letters := []string{"Rx", "Wx", "Ry", "Wy"}
	var all func(seq []string)
	all = func(seq []string) {
		if admitted(seq) {
			name := ""
			for _, s := range seq {
				name += s
			}
			want = append(want, name)
		}
		if len(seq) < 4 {
			for _, l := range letters {
				all(append(slices.Clone(seq), l))
			}
		}
	}
	all(nil)
	var got []string
	for _, s := range All() {
		got = append(got, s.Name)
		if len(s.Steps)*2 != len(s.Name) {
			t.Errorf("%s has %d steps", s.Name, len(s.Steps))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func admitted(seq []string) bool {
	count := map[byte]int{}
	read := map[byte]bool{}
	for n, s := range seq {
		op, key := s[0], s[1]
		if n == 0 && key != 'x' {
			return false
		}
		count[op]++
		if op == 'R' {
			read[key] = true
		} else if !read[key] {
			return false
		}
	}
	return count['R'] >= 1 && count['R'] <= 2 && count['W'] <= 2
}
