package bitset_test

import (
	"math/rand/v2"
	"testing"

	"github.com/isohound/isohound/accel"
	"github.com/isohound/isohound/accel/acceltest"
	"github.com/isohound/isohound/accel/bitset"
)

// TestWords: many words at once, and whole rows, are those that one gets one by one.
func TestWords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, b := range []bitset.Backend{{}, bitset.Narrow(bitset.Backend{})} {
		for _, g := range wordGraphs(5) {
			made, err := b.Closure(t.Context(), g, accel.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := made.(*bitset.Closure)
			kinds := map[bool]int{}
			for range 200 {
				v := r.Int32N(g.Len())
				columns := make([]int32, r.IntN(200))
				for i := range columns {
					columns[i] = r.Int32N(c.Columns())
				}
				words := make([]uint64, len(columns))
				c.Words(v, columns, words)
				for i, column := range columns {
					if words[i] != c.Word(v, int(column>>6)) {
						t.Fatalf("the word of vertex %d with column %d is %x, want %x", v, column, words[i], c.Word(v, int(column>>6)))
					}
					kinds[words[i] == 0]++
				}
			}
			for v := range g.Len() {
				row := make([]uint64, c.Width())
				for w := range row {
					row[w] = 0x5555
				}
				c.Row(v, row)
				for w := range row {
					if row[w] != c.Word(v, w) {
						t.Fatalf("word %d of the row of vertex %d is %x, want %x", w, v, row[w], c.Word(v, w))
					}
				}
			}
			if kinds[true] == 0 || kinds[false] == 0 {
				t.Errorf("one-sided: %v", kinds)
			}
			c.Close()
		}
	}
}

// TestCommon compares the sources that reach all of some vertices and not another
// one with what the rows say.
func TestCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, b := range []bitset.Backend{{}, bitset.Narrow(bitset.Backend{})} {
		for _, g := range wordGraphs(6) {
			made, err := b.Closure(t.Context(), g, accel.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := made.(*bitset.Closure)
			met := 0
			for range 500 {
				not, of := r.Int32N(g.Len()), make([]int32, 1+r.IntN(3))
				for i := range of {
					of[i] = r.Int32N(g.Len())
				}
				got := make([]uint64, c.Width())
				c.Common(of, not, func(word int, bits uint64) { got[word] = bits })
				for w := range got {
					want := ^c.Word(not, w)
					for _, v := range of {
						want &= c.Word(v, w)
					}
					if got[w] != want {
						t.Fatalf("word %d of what reaches %v and not %d is %x, want %x", w, of, not, got[w], want)
					}
					if want != 0 {
						met++
					}
				}
			}
			if met == 0 {
				t.Error("nothing was ever common")
			}
			c.Close()
		}
	}
}

// wordGraphs are one without pairs, and one with pairs.
func wordGraphs(seed uint64) []*accel.Graph {
	w := acceltest.Workload{Vertices: 700, Sessions: 30, Keys: 200, Reads: 2, Writes: 2}
	p := w
	p.Pairs = true
	return []*accel.Graph{w.Graph(seed), p.Graph(seed)}
}
