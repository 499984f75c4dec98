package memory

import (
	"bytes"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Free returns the bytes of main memory that the process can still get: what the kernel can
// provide and the process's control groups allow. It is math.MaxInt64 if neither is known.
func Free() int64 { return free(system) }

func free(system fs.FS) int64 {
	left := int64(math.MaxInt64)
	if n := field(system, "proc/meminfo", "MemAvailable:"); n > 0 {
		left = n << 10
	}
	text, err := fs.ReadFile(system, "proc/self/cgroup")
	if err != nil {
		return left
	}
	for line := range strings.Lines(string(text)) {
		// A line is "number:controllers:group". Version 2 has one hierarchy, with an empty list
		// of controllers.
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		switch {
		case !ok:
		case controllers == "":
			left = min(left, version2.left(system, group))
		case strings.Contains(","+controllers+",", ",memory,"):
			left = min(left, version1.left(system, group))
		}
	}
	return left
}

// hierarchy is a tree of control groups with limits on memory.
type hierarchy struct {
	root, most, now string
	inactive        string // in memory.stat: cached files that the kernel drops first
}

var (
	version1 = hierarchy{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	version2 = hierarchy{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// left returns the bytes that a group and all groups above it still allow. In a container, the
// path of the group may be that on the host, although only the group itself exists there, as the
// root.
func (h *hierarchy) left(system fs.FS, group string) int64 {
	left := int64(math.MaxInt64)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		dir := h.root + strings.TrimSuffix(at, "/") + "/"
		most, limited := number(system, dir+h.most)
		now, known := number(system, dir+h.now)
		if limited && known {
			left = min(left, max(0, most-now+field(system, dir+"memory.stat", h.inactive)))
		}
		if at == "/" {
			return left
		}
	}
}

// number reads a file that holds a number. For a group without a limit the file has a word, or a
// number larger than any memory.
func number(system fs.FS, path string) (int64, bool) {
	text, err := fs.ReadFile(system, path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}
