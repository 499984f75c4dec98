package bank

import (
	"math/rand"
	"strings"
	"sync"
	"testing"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/checker/verdict"
	"github.com/isohound/isohound/isotest"
)

// transfers lets goroutines transfer money, and records what they see. The number of a transfer makes the
// values that it writes unique, so that a read names its writer.
func transfers(b *Bank) *isotest.Recorder {
	r := isotest.New()
	names := []string{"ann", "bob", "cy"}
	for _, n := range names {
		r.Initial(n, b.Get(n).Version)
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			s, rng := r.Session(), rand.New(rand.NewSource(int64(worker)))
			for n := range 50 {
				from, to := names[rng.Intn(3)], names[rng.Intn(3)]
				if from == to {
					continue
				}
				version := 1 + worker + 8*n
				t := s.Begin()
				sender, receiver := b.Get(from), b.Get(to)
				t.Read(from, sender.Version)
				t.Read(to, receiver.Version)
				t.Write(from, version)
				t.Write(to, version)
				if b.Transfer(from, to, sender, receiver, 1, version) == nil {
					t.Commit()
				} else {
					t.Abort()
				}
			}
		})
	}
	wg.Wait()
	return r
}

// TestBank is what you would write for your own application.
func TestBank(t *testing.T) {
	isotest.Holds(t, transfers(New("ann", "bob", "cy")), level.SSER)
}

// TestCareless: without the check of versions, transfers get lost, and the verdict says which.
func TestCareless(t *testing.T) {
	for range 100 { // how goroutines overlap is a matter of luck
		b := New("ann", "bob", "cy")
		b.Careless = true
		v, err := transfers(b).Check(t.Context(), level.SSER)
		if err != nil {
			t.Fatal(err)
		}
		if v.Verdict == verdict.Violated {
			if !strings.Contains(v.String(), "LostUpdate") {
				t.Log(v)
				continue
			}
			return
		}
	}
	t.Error("no transfer was lost in 100 runs")
}
