package fetch

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// Package is a package in the cache.
type Package struct {
	Version
	// Folder has bin, lib and share.
	Folder string
}

// Fetcher fetches packages for one kind of machine.
type Fetcher struct {
	cache    string // folder
	registry string // address, without a slash at its end
	pkg      string
	note     func(string)
	client   *http.Client
	pause    time.Duration
	stall    time.Duration
}

// machines are the parts of packages' names for kinds of processors.
var machines = map[string]string{"amd64": "linux-x64", "arm64": "linux-arm64"}

// New makes a fetcher for this machine. note, which may be nil, is told what takes long and what is unexpected.
func New(note func(string)) (*Fetcher, error) {
	machine := machines[runtime.GOARCH]
	if runtime.GOOS != "linux" || machine == "" {
		return nil, errors.Errorf("PostgreSQL by version is for Linux on amd64 and arm64, not for %s on %s; unpack the programs yourself and name their folder (postgres=FOLDER)", runtime.GOOS, runtime.GOARCH)
	}
	cache, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	if note == nil {
		note = func(string) {}
	}
	return &Fetcher{cache: filepath.Join(cache, "postgres", machine), registry: registry(), pkg: scope + "/" + machine, note: note,
		client: http.DefaultClient, pause: defaultPause, stall: defaultStall}, nil
}

// partial is the beginning of the names of folders in which packages are being unpacked; leftAfter is when such a folder is
// one that a killed process has left.
const (
	partial   = ".partial-"
	leftAfter = 24 * time.Hour
)

// Cached are the versions in the cache, the oldest first.
func (f *Fetcher) Cached() []Version {
	entries, _ := os.ReadDir(f.cache)
	var out []Version
	for _, e := range entries {
		if v, ok := parseVersion(e.Name()); ok && e.IsDir() {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, compare)
	return out
}

func (f *Fetcher) cached(v Version) *Package {
	return &Package{v, filepath.Join(f.cache, v.String())}
}

// Postgres returns the newest package that a version means. A version with at least two numbers, such as 18.4, is taken
// from the cache if it is there, without a question to the registry; the newest of 18 is the registry's newest, or that of
// the cache if the registry cannot be reached.
func (f *Fetcher) Postgres(ctx context.Context, version string) (*Package, error) {
	wanted := numbers(version)
	if wanted == nil {
		return nil, &ParseError{version}
	}
	here, found := newest(f.Cached(), wanted)
	if found && len(wanted) > 1 {
		return f.cached(here), nil
	}
	list, err := f.list(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, err
	case found:
		f.note(fmt.Sprintf("%s cannot be asked for the newest PostgreSQL %s (%v); %s is the newest that was fetched before", f.shown(), version, err, here.Postgres()))
		return f.cached(here), nil
	default:
		return nil, errors.Errorf("PostgreSQL %s was not fetched before%s, and %s cannot be asked for it (%v); %s", version, f.before(), f.shown(), err, remedy)
	}
	var all []Version
	for name := range list {
		if v, ok := parseVersion(name); ok {
			all = append(all, v)
		}
	}
	best, ok := newest(all, wanted)
	if !ok {
		return nil, &NoPackageError{version, near(all, wanted)}
	}
	if slices.ContainsFunc(f.Cached(), func(v Version) bool { return v.text == best.text }) {
		return f.cached(best), nil
	}
	if err := f.fetch(ctx, best, list[best.text]); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errors.WithMessage(err, fmt.Sprintf("fetching PostgreSQL %s from %s", best.Postgres(), f.shown()))
	}
	return f.cached(best), nil
}

const remedy = "connect once, set npm's registry (NPM_CONFIG_REGISTRY) or a proxy (HTTPS_PROXY), or unpack the package yourself and name its folder (postgres=FOLDER)"

// before says which versions were fetched before, in words to be put in.
func (f *Fetcher) before() string {
	var names []string
	for _, v := range f.Cached() {
		names = append(names, v.Postgres())
	}
	if len(names) == 0 {
		return ""
	}
	return " (only " + strings.Join(slices.Compact(names), ", ") + ")"
}

// fetch puts a package into the cache. Its folder appears whole or not at all, and another process that fetches the same
// package meanwhile is not disturbed.
func (f *Fetcher) fetch(ctx context.Context, v Version, d dist) error {
	if err := f.makeCache(); err != nil {
		return err
	}
	f.sweep()
	dir, err := os.MkdirTemp(f.cache, partial)
	if err != nil {
		return errors.WithStack(err)
	}
	defer os.RemoveAll(dir)
	f.note(fmt.Sprintf("fetching PostgreSQL %s (%s %s) from %s into %s", v.Postgres(), f.pkg, v, f.shown(), f.cache))
	archive, folder := filepath.Join(dir, "archive"), filepath.Join(dir, native)
	if err := f.download(ctx, d, archive); err != nil {
		return err
	}
	if err := unpack(archive, folder); err != nil {
		return err
	}
	place := filepath.Join(f.cache, v.String())
	if err := os.Rename(folder, place); err != nil {
		if info, e := os.Stat(place); e == nil && info.IsDir() {
			return nil // another process was first
		}
		return errors.WithStack(err)
	}
	return nil
}

// makeCache makes the folder of the cache. Those that it makes are readable by every user, whatever the umask is.
func (f *Fetcher) makeCache() error {
	var missing []string
	for dir := f.cache; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	err := os.MkdirAll(f.cache, 0o755)
	for _, dir := range missing {
		if err == nil {
			err = os.Chmod(dir, 0o755)
		}
	}
	return errors.Wrapf(err, "the cache of fetched programs; name another folder in %s", CacheVariable)
}

// sweep removes what killed processes have left.
func (f *Fetcher) sweep() {
	left, _ := filepath.Glob(filepath.Join(f.cache, partial+"*"))
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > leftAfter {
			_ = os.RemoveAll(dir)
		}
	}
}
