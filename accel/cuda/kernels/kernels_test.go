package kernels

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPTX: the PTX was made of these sources, and its kernels take what the code
// passes to them.
func TestPTX(t *testing.T) {
	names, err := fs.Glob(Sources, "*.cu")
	if err != nil {
		t.Fatal(err)
	}
	more, err := fs.Glob(Sources, "*.cuh")
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, name := range append(names, more...) {
		text, err := Sources.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	want := fmt.Sprintf("// source: %x\n", sha256.Sum256(all.Bytes()))
	if !strings.Contains(PTX[:200], want) {
		t.Error("reach.ptx was not made of the sources that are here: run generate.sh")
	}
	if !strings.Contains(PTX, fmt.Sprintf("\n.version 6.0\n.target sm_%d0\n", MinMajor)) {
		t.Error("reach.ptx needs another driver or device than is said")
	}
	entries := regexp.MustCompile(`\.entry (\w+)\(([^)]*)\)`).FindAllStringSubmatch(PTX, -1)
	if len(entries) != len(Arguments) {
		t.Errorf("reach.ptx has %d kernels, want %d", len(entries), len(Arguments))
	}
	for _, e := range entries {
		if n := strings.Count(e[2], ".param"); n != Arguments[e[1]] {
			t.Errorf("%s takes %d arguments, want %d", e[1], n, Arguments[e[1]])
		}
	}
}

func TestSizes(t *testing.T) {
	text, err := Sources.ReadFile("common.cuh")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"ROWS": Rows, "VECTORS": Vectors, "INNER": Inner} {
		m := regexp.MustCompile(`#define ` + name + ` (\d+)\n`).FindSubmatch(text)
		if m == nil {
			t.Errorf("common.cuh does not define %s", name)
		} else if n, _ := strconv.Atoi(string(m[1])); n != want {
			t.Errorf("%s is %d in common.cuh, and %d in Go", name, n, want)
		}
	}
	if !bytes.Contains(text, fmt.Appendf(nil, "__launch_bounds__(%d)", MaxThreads)) {
		t.Error("common.cuh bounds blocks by another number of threads")
	}
}
