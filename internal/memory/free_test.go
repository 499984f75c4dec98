package memory

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestFree: the minimum of the kernel's free memory and what each control group allows.
func TestFree(t *testing.T) {
	const meminfo = "MemTotal:       8000000 kB\nMemFree:         100 kB\nMemAvailable:    4000 kB\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known":  {nil, math.MaxInt64},
		"no control groups": {map[string]string{"proc/meminfo": meminfo}, 4000 << 10},
		"no limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "5\n"}, 4000 << 10},
		"version 2": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "3000\n", "sys/fs/cgroup/memory.current": "1000\n",
			"sys/fs/cgroup/memory.stat": "file 500\ninactive_file 300\nslab 9\n"}, 2300},
		"version 2, full": {map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "3000\n", "sys/fs/cgroup/memory.current": "3500\n"}, 0},
		"version 2, a group above": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a.slice/b.service\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max": "9000\n", "sys/fs/cgroup/a.slice/b.service/memory.current": "10\n",
			"sys/fs/cgroup/a.slice/memory.max": "700\n", "sys/fs/cgroup/a.slice/memory.current": "100\n"}, 600},
		"version 1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "77\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "5000\n", "sys/fs/cgroup/memory/x/memory.usage_in_bytes": "1000\n",
			"sys/fs/cgroup/memory/x/memory.stat": "inactive_file 1\ntotal_inactive_file 20\n"}, 4020},
		"version 1, the path of the host": {map[string]string{"proc/self/cgroup": "4:memory:/docker/1f\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "800\n", "sys/fs/cgroup/memory/memory.usage_in_bytes": "500\n"}, 300},
	} {
		files := fstest.MapFS{}
		for path, text := range tc.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := free(files); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestHere: if the system reports them, the figures are those of this process.
func TestHere(t *testing.T) {
	if n := Resident(); n < 1<<20 || n > 1<<40 {
		t.Errorf("%d bytes resident", n)
	}
	if now, peak := Resident(), Peak(); peak > 0 && peak < now/2 {
		t.Errorf("%d bytes now, %d at most", now, peak)
	}
	if n := Free(); n <= 0 {
		t.Errorf("%d bytes free", n)
	}
}
