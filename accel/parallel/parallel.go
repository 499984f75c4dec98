// Package parallel shares work among goroutines. All parallel computations of isohound use it.
package parallel

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// Share divides the numbers from 0 to n-1 among goroutines. Each goroutine calls work once, with
// the numbers assigned to it: size consecutive ones at a time, whenever it has finished the
// previous ones. So work may keep state from one number to the next. There are at most workers
// goroutines; 0 means one per processor. After the context's end no more numbers are assigned,
// and the error is its cause.
func Share(ctx context.Context, workers, n, size int, work func(numbers iter.Seq[int])) error {
	var given atomic.Int64
	numbers := func(yield func(int) bool) {
		for ctx.Err() == nil {
			lo := int(given.Add(int64(size))) - size
			for i := lo; i < min(lo+size, n); i++ {
				if !yield(i) {
					return
				}
			}
			if lo+size >= n {
				return
			}
		}
	}
	Do(min(Workers(workers), (n+size-1)/size), func(int) { work(numbers) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Do calls task for each number from 0 to n-1, all at the same time, and returns
// when all have returned.
func Do(n int, task func(i int)) {
	if n <= 0 {
		return
	}
	var others sync.WaitGroup
	for i := 1; i < n; i++ {
		others.Go(func() { task(i) })
	}
	task(0)
	others.Wait()
}

// Both runs two tasks at the same time.
func Both(first, second func()) {
	Do(2, func(i int) { [...]func(){first, second}[i]() })
}

// Workers returns the requested number of goroutines; 0 means one per processor.
func Workers(wanted int) int {
	if wanted <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return wanted
}
