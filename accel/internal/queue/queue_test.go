package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		n := 1 + r.Int32N(20_000)
		q, in := New(n), map[int32]bool{}
		for range 200 {
			if r.IntN(3) > 0 {
				i := r.Int32N(n)
				q.Add(i)
				in[i] = true
				continue
			}
			want := int32(-1)
			for i := range in {
				if want < 0 || i < want {
					want = i
				}
			}
			if got := q.Next(); got != want {
				t.Fatalf("next is %d, want %d", got, want)
			}
			delete(in, want)
		}
		var rest []int32
		for i := q.Next(); i >= 0; i = q.Next() {
			rest = append(rest, i)
		}
		if len(rest) != len(in) || !slices.IsSorted(rest) {
			t.Fatalf("%v are left, want %v", rest, in)
		}
	}
}
