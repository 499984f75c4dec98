package memory

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPreferHuge: the heap gets the advice for about as many bytes as were asked for, and uses none of them. Where the kernel has no such
// setting, nothing happens.
func TestPreferHuge(t *testing.T) {
	const n = 64 << 20
	want := int64(0)
	if hugeOnRequest() && !preferred.Load() { // once in a process
		want = n - 2*hugePage
	}
	before, resident := advised(t), Resident()
	PreferHuge(0)
	PreferHuge(-1)
	PreferHuge(hugePage)
	PreferHuge(n)
	if got := advised(t) - before; got < want || want == 0 && got != 0 {
		t.Errorf("%d bytes have the advice, want %d", got, want)
	}
	if more := Resident() - resident; more >= n { // the race detector takes half of that
		t.Errorf("the process has grown by %d bytes", more)
	}
	before = advised(t)
	PreferHuge(n)
	if got := advised(t) - before; got != 0 {
		t.Errorf("the second time %d bytes have the advice", got)
	}
}

// advised is how many bytes of the address space have the advice, as far as it is mapped for reading and writing.
func advised(t *testing.T) (n int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case f[0] == "Size:":
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			size = kib << 10
		case f[0] == "VmFlags:" && slices.Contains(f, "hg"):
			n += size
		}
	}
	return n
}
