package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompletion: a shell is offered the values that a flag or an argument has after what is typed
// before it.
func TestCompletion(t *testing.T) {
	cache := t.TempDir()
	for _, v := range []string{"18.4.0-beta.17", "12.3.0-beta.1", "12.3.0-beta.2", ".partial-1"} {
		for _, machine := range []string{"linux-x64", "linux-arm64"} {
			if err := os.MkdirAll(filepath.Join(cache, "postgres", machine, v), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("ISOHOUND_CACHE", cache)
	for _, tc := range []struct {
		line    []string
		want    []string
		another bool // there are more
	}{
		{[]string{"run", "--driver", "b"}, []string{"badger", "bbolt"}, false},
		{[]string{"run", "--driver", "postgres", "--isolation", ""}, []string{"serializable", "repeatable read", "read committed"}, false},
		{[]string{"gen", "--driver", "postgres", "--isolation", "r"}, []string{"repeatable read", "read committed"}, false},
		{[]string{"run", "--server", "m"}, []string{"mariadb"}, false},
		{[]string{"run", "--server", "p"}, []string{"postgres", "postgres@12.3", "postgres@18.4"}, false},
		{[]string{"hunt", "--init", "--server", "postgres@18"}, []string{"postgres@18.4"}, false},
		{[]string{"run", "--workload", "s"}, []string{"scan", "skew"}, false},
		{[]string{"run", "--workload", "skew", "-p", "b"}, []string{"birth="}, false},
		{[]string{"run", "--dist", "z"}, []string{"zipfian"}, false},
		{[]string{"run", "--check", "ser,strong"}, []string{"ser,strong-si"}, false},
		{[]string{"run", "--check", "cl"}, []string{"claimed"}, false},
		{[]string{"check", "x", "--level", ""}, []string{"ser", "si", "sser", "cc"}, true},
		{[]string{"run", "--level", ""}, nil, false}, // there is no such flag
		{[]string{"check", "x", "--engine", "p"}, []string{"polygraph", "psi"}, false},
		{[]string{"check", "x", "--expect", "v"}, []string{"violated"}, false},
		{[]string{"convert", "x", "y", "--to", "db"}, []string{"dbcop"}, true},
		{[]string{"drivers", "ma"}, []string{"mariadb"}, false},
		{[]string{"drivers", "mariadb", ""}, nil, false},
		{[]string{"workloads", "tp"}, []string{"tpcc"}, false},
		{[]string{"compl"}, []string{"completion"}, false},
	} {
		c := isohound(t, append([]string{"__complete"}, tc.line...)...)
		var got []string
		for line := range strings.Lines(c.out) {
			if value, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); !strings.HasPrefix(value, ":") {
				got = append(got, value)
			}
		}
		if tc.another {
			got = slices.DeleteFunc(got, func(v string) bool { return !slices.Contains(tc.want, v) })
		}
		slices.Sort(got)
		slices.Sort(tc.want)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q\n%s", tc.line, got, tc.want, c.msg)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if c := isohound(t, "completion", shell); c.code != 0 || !strings.Contains(c.out, "isohound") {
			t.Errorf("%s: %d, %s", shell, c.code, c.msg)
		}
	}
}

// TestMan: there is a page for each command, with its flags and its exit codes one below the other.
func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if c := isohound(t, "man", dir); c.code != 0 {
		t.Fatal(c.msg)
	}
	for _, name := range []string{"isohound", "isohound-run", "isohound-check", "isohound-scenarios-run", "isohound-man"} {
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(page), ".TH \"ISOHOUND") {
			t.Errorf("%s is not a page: %.300s", name, page)
		}
	}
	page, _ := os.ReadFile(filepath.Join(dir, "isohound-run.1"))
	for _, want := range []string{`\fB--isolation`, "0 satisfied   1 violated   2 unknown", "64 usage   65 unreadable history"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page of run has no %q:\n%.4000s", want, page)
		}
	}
	if c := isohound(t, "man", "/proc/isohound"); c.code != int(exitIO) {
		t.Errorf("a folder that cannot be made: %d, %s", c.code, c.msg)
	}
}
