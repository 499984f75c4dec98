package parallel

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
)

// TestShare: each number is assigned to one goroutine, in ascending order, and work is not
// called more often than useful.
func TestShare(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7} {
		for _, n := range []int{0, 1, 5, 64, 1000} {
			for _, size := range []int{1, 3, 64, 2000} {
				var calls atomic.Int32
				met := make([]int, n)
				err := Share(t.Context(), workers, n, size, func(numbers iter.Seq[int]) {
					calls.Add(1)
					last := -1
					for i := range numbers {
						if i <= last {
							t.Errorf("%d comes after %d", i, last)
						}
						met[i]++
						last = i
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				for i, times := range met {
					if times != 1 {
						t.Fatalf("%d workers, %d numbers, %d at a time: %d came %d times", workers, n, size, i, times)
					}
				}
				if most := min(Workers(workers), (n+size-1)/size); int(calls.Load()) != most {
					t.Errorf("%d workers, %d numbers, %d at a time: work was called %d times", workers, n, size, calls.Load())
				}
			}
		}
	}
}

// TestShareEnds: after the context's end no more numbers are assigned.
func TestShareEnds(t *testing.T) {
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := 0
	err := Share(ctx, 1, 100, 4, func(numbers iter.Seq[int]) {
		for i := range numbers {
			if done++; i == 5 {
				cancel(over)
			}
		}
	})
	if !errors.Is(err, over) || done != 8 {
		t.Errorf("%v after %d numbers", err, done)
	}
	left := 0
	err = Share(t.Context(), 1, 100, 4, func(numbers iter.Seq[int]) {
		for range numbers {
			if left++; left == 3 {
				break
			}
		}
	})
	if err != nil || left != 3 {
		t.Errorf("%v after %d numbers", err, left)
	}
}

// TestDo: all tasks run at the same time.
func TestDo(t *testing.T) {
	Do(0, func(int) { t.Error("there is nothing to do") })
	var all sync.WaitGroup
	all.Add(3)
	Do(3, func(int) {
		all.Done()
		all.Wait() // for ever, unless the others run
	})
}
