// Command simulator is a deterministic simulation of a replicated store, judged by isohound as a library. A
// seed decides everything: the same seed gives the same history, and the same verdict.
//
//	go run . 7
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand"
	"os"
	"strconv"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/isotest"
)

// store is a primary and a replica that follows it some commits later.
type store struct {
	rng     *rand.Rand
	now     int64 // the simulated time, in nanoseconds
	log     []map[string]int
	primary map[string]int
	replica map[string]int
	applied int // how much of the log the replica has
}

// step lets time pass. Now and then the replica applies a commit.
func (s *store) step() {
	s.now += 1e6 // a millisecond
	if s.applied < len(s.log) && s.rng.Intn(3) == 0 {
		for k, v := range s.log[s.applied] {
			s.replica[k] = v
		}
		s.applied++
	}
}

// simulate runs transactions of three clients one after another. With stale, reads go to the replica.
func simulate(seed int64, stale bool) *isotest.Recorder {
	s := &store{rng: rand.New(rand.NewSource(seed)), primary: map[string]int{}, replica: map[string]int{}}
	r := isotest.Simulated(func() int64 { return s.now })
	clients := []*isotest.Session{r.Session(), r.Session(), r.Session()}
	keys := []string{"x", "y"}
	for _, k := range keys {
		r.Initial(k, 0)
	}
	for n := 1; n <= 40; n++ {
		s.step()
		t := clients[s.rng.Intn(len(clients))].Begin()
		s.step()
		if k := keys[s.rng.Intn(len(keys))]; s.rng.Intn(2) == 0 {
			t.Write(k, n) // unique, so that a read names its writer
			s.primary[k] = n
			s.log = append(s.log, map[string]int{k: n})
		} else {
			from := s.primary
			if stale {
				from = s.replica
			}
			for _, k := range keys {
				t.Read(k, from[k])
			}
		}
		s.step()
		t.Commit()
	}
	return r
}

func main() {
	seed := int64(1)
	if len(os.Args) > 1 {
		var err error
		if seed, err = strconv.ParseInt(os.Args[1], 10, 64); err != nil {
			log.Fatalf("usage: go run . [seed]; the seed is an integer, not %q", os.Args[1])
		}
	}
	for _, stale := range []bool{false, true} {
		for _, lvl := range []level.Level{level.SER, level.SSER} {
			v, err := simulate(seed, stale).Check(context.Background(), lvl)
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("reads of the replica %v: %s\n\n", stale, v)
		}
	}
}
