package drivertest

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isohound/isohound/drivers"
)

// B is what a measurement needs of a *testing.B.
type B interface {
	T
	Loop() bool
	ReportMetric(n float64, unit string)
}

// PositionsCost measures what it costs that transactions tell their positions or snapshots. Eight sessions read two keys
// and write one, with and without, in slices of 200 ms that alternate, so that what else the machine does is the same for
// both. It reports the commits per second, and the median of what each pair of slices has with positions as a share of
// what it has without.
func PositionsCost(b B, d drivers.Driver, dsn, isolation string) {
	ctx := context.Background()
	const sessions, keys = 8, 1000
	initial := map[string]int64{}
	for n := range keys {
		initial[strconv.Itoa(n)] = 1
	}
	var groups [2][]drivers.Session
	for n := range groups {
		db, err := d.Open(ctx, drivers.Config{DSN: dsn, Isolation: isolation, Positions: n == 1, CallTimeout: 10 * time.Second})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Create(ctx, maps.All(initial)); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = db.Close(ctx) })
		for range sessions {
			s, err := db.Connect(ctx)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(s.Close)
			groups[n] = append(groups[n], s)
		}
	}
	var ratios []float64
	var sum [2]int64
	for b.Loop() {
		var n [2]int64
		for _, g := range []int{len(ratios) % 2, 1 - len(ratios)%2} {
			n[g] = slice(ctx, groups[g], keys)
			sum[g] += n[g]
		}
		ratios = append(ratios, float64(n[1])/float64(max(n[0], 1)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "share")
	b.ReportMetric(float64(sum[1])/float64(len(ratios))*5, "commits/s-with")
	b.ReportMetric(float64(sum[0])/float64(len(ratios))*5, "commits/s-without")
}

// slice returns how many transactions sessions commit in 200 ms. It asks for their positions, as the runner does.
func slice(ctx context.Context, sessions []drivers.Session, keys int) int64 {
	var commits atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(200 * time.Millisecond)
	for _, s := range sessions {
		all.Go(func() {
			for time.Now().Before(end) {
				x, err := s.Begin(ctx)
				if err != nil {
					return
				}
				for range 2 {
					if err == nil {
						_, _, err = x.Read(ctx, strconv.Itoa(rand.IntN(keys)))
					}
				}
				if err == nil {
					_, err = x.Update(ctx, strconv.Itoa(rand.IntN(keys)), 2)
				}
				if err != nil {
					if x.Rollback(ctx) != nil {
						return
					}
				} else if x.Commit(ctx) == nil {
					if p, ok := x.(drivers.Positioned); ok {
						p.Position()
					}
					commits.Add(1)
				}
			}
		})
	}
	all.Wait()
	return commits.Load()
}
