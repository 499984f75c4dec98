package memory

import (
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kernels with small pages have huge ones of 2 MiB. Where small ones are larger, huge ones are too large.
const hugePage = 2 << 20

var preferred atomic.Bool // PreferHuge has had its effect

// PreferHuge asks the kernel for huge pages behind the next n bytes that the heap needs. The first touch of a page
// costs much, so a process that fills a large heap at once takes less time. It uses no memory that the heap
// does not need, apart from the rest of the last huge page. It collects garbage, and is for a young process: only the first call for
// a few pages or more has an effect. There is none if the kernel does not give huge pages to those that ask, or gives them to all, or if the process may not
// have much address space.
func PreferHuge(n int64) {
	n = min(n, Free()/4, math.MaxInt/16) &^ (hugePage - 1)
	if n < 2*hugePage || !hugeOnRequest() || preferred.Swap(true) {
		return
	}
	// The Go runtime asks for no huge pages and has no function for it. So a list that nobody touches makes the heap larger, and
	// is garbage again at once. What comes next is put in its place.
	list := make([]byte, n)
	first := int(-uintptr(unsafe.Pointer(unsafe.SliceData(list))) % hugePage)
	_ = unix.Madvise(list[first:first+int(n)-hugePage], unix.MADV_HUGEPAGE) // a hint: if it is refused, pages are small
	runtime.GC()
}

// hugeOnRequest reports whether the kernel gives huge pages only to those that ask, and large lists that are not touched cost nothing.
func hugeOnRequest() bool {
	read := func(path string) string {
		b, _ := fs.ReadFile(system, path)
		return string(b)
	}
	const settings = "sys/kernel/mm/transparent_hugepage/"
	unlimited := func(resource int) bool {
		var limit unix.Rlimit
		return unix.Getrlimit(resource, &limit) == nil && limit.Cur == unix.RLIM_INFINITY
	}
	return slices.Contains(strings.Fields(read(settings+"enabled")), "[madvise]") &&
		strings.TrimSpace(read(settings+"hpage_pmd_size")) == "2097152" &&
		strings.TrimSpace(read("proc/sys/vm/overcommit_memory")) != "2" &&
		unlimited(unix.RLIMIT_AS) && unlimited(unix.RLIMIT_DATA)
}
