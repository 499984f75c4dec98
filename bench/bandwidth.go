package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/isohound/isohound/accel/parallel"
)

// Bandwidth is the memory bandwidth in bytes per second, measured like the STREAM benchmark:
// goroutines on all processors repeatedly traverse two arrays that are larger than the caches,
// and the best round counts. Each byte that a loop reads or writes counts once. The read of a
// cache line before it is overwritten does not count.
type Bandwidth struct {
	Read  float64 `json:"read"`  // sum of an array
	Copy  float64 `json:"copy"`  // copy from one array to the other: one byte read, one written
	Unite float64 `json:"unite"` // union of two rows of bits: two bytes read, one written
	Bytes int64   `json:"bytes"` // of the two arrays
}

// Best is the highest of the rates. A comparison with it is the strictest one.
func (b Bandwidth) Best() float64 { return max(b.Read, b.Copy, b.Unite) }

// better takes the higher rates of two measurements.
func (b *Bandwidth) better(o Bandwidth) {
	*b = Bandwidth{max(b.Read, o.Read), max(b.Copy, o.Copy), max(b.Unite, o.Unite), o.Bytes}
}

func (b Bandwidth) String() string {
	return fmt.Sprintf("%.1f GB/s (read %.1f, copy %.1f, unite %.1f), by %d goroutines on two arrays of %s together",
		b.Best()/1e9, b.Read/1e9, b.Copy/1e9, b.Unite/1e9, runtime.GOMAXPROCS(0), humanize.IBytes(uint64(b.Bytes)))
}

// bandwidthRounds is how often each loop runs. The first round touches the pages.
const bandwidthRounds = 6

// MeasureBandwidth measures with two arrays of together size bytes.
func MeasureBandwidth(ctx context.Context, size int64) (Bandwidth, error) {
	workers := runtime.GOMAXPROCS(0)
	part := max(1, int(size/16)/workers)
	a, b := make([]uint64, part*workers), make([]uint64, part*workers)
	sums := make([]uint64, workers*8) // one cache line per worker
	out := Bandwidth{Bytes: 16 * int64(part*workers)}
	for _, loop := range []struct {
		best  *float64
		moved int // bytes for each word
		run   func(w int, a, b []uint64)
	}{
		{&out.Copy, 16, func(_ int, a, b []uint64) { copy(b, a) }},
		{&out.Unite, 24, func(_ int, a, b []uint64) { unite(b, a) }},
		{&out.Read, 8, func(w int, a, _ []uint64) { sums[8*w] += sum(a) }},
	} {
		for range bandwidthRounds {
			if ctx.Err() != nil {
				return out, context.Cause(ctx)
			}
			begun := time.Now()
			parallel.Do(workers, func(w int) { loop.run(w, a[w*part:(w+1)*part], b[w*part:(w+1)*part]) })
			*loop.best = max(*loop.best, float64(loop.moved*part*workers)/time.Since(begun).Seconds())
		}
	}
	runtime.KeepAlive(sums)
	return out, nil
}

func unite(to, from []uint64) {
	for i, x := range from[:len(to)] {
		to[i] |= x
	}
}

func sum(a []uint64) uint64 {
	var s0, s1, s2, s3 uint64
	for len(a) >= 4 {
		s0, s1, s2, s3 = s0+a[0], s1+a[1], s2+a[2], s3+a[3]
		a = a[4:]
	}
	for _, x := range a {
		s0 += x
	}
	return s0 + s1 + s2 + s3
}
