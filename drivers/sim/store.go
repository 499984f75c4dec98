package sim

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/pkg/errors"
)

// version is the value that a commit gave to a key.
type version struct {
	value  []byte // nil where the key was deleted
	commit int64
	// shown is the commit from which on the version shows: its own, unless visibility is not
	// atomic.
	shown int64
}

// item is a key with its versions, the newest last.
type item struct{ versions []version }

func (i *item) newest() (version, bool) {
	if len(i.versions) == 0 {
		return version{}, false
	}
	return i.versions[len(i.versions)-1], true
}

// deletion is a version that deletes a key.
type deletion struct {
	key    string
	commit int64
}

// snapshot is a set of commits: those up to one, without the hidden ones.
type snapshot struct {
	upto   int64
	hidden []int64
}

func (s snapshot) has(commit int64) bool {
	return commit <= s.upto && !slices.Contains(s.hidden, commit)
}

func (s snapshot) shows(v version) bool { return s.has(v.commit) && v.shown <= s.upto }

// whole is the last commit up to which the snapshot hides none.
func (s snapshot) whole() int64 {
	low := s.upto
	for _, h := range s.hidden {
		low = min(low, h-1)
	}
	return low
}

// at returns the value of the item in the snapshot, nil if there is none.
func (i *item) at(s snapshot) []byte { return i.versionAt(s).value }

// versionAt returns the version of the item in the snapshot, one without a value if there is none.
func (i *item) versionAt(s snapshot) version {
	for n := len(i.versions) - 1; n >= 0; n-- {
		if s.shows(i.versions[n]) {
			return i.versions[n]
		}
	}
	return version{}
}

// db is the store. mu protects all that changes, but for halting.
type db struct {
	iso *isolation
	opt options
	// tells: what the store knows of the places of transactions is asked for.
	tells bool

	mu    sync.Mutex
	items map[string]*item
	keys  []string // sorted
	// deleted are the deletions that may be the last version of a key.
	deleted []deletion
	// commits is the number of the last commit. Commits without writes count too.
	commits  int64
	ids      int64 // of transactions
	sessions int
	active   []*tx
	// recent are the transactions whose commits may be missing in a snapshot, taken now or
	// later.
	recent []*tx
	nodes  []*node

	halting halting // has a lock of its own
}

func newDB(iso *isolation, opt options) *db {
	d := &db{iso: iso, opt: opt, items: map[string]*item{}}
	d.halting.rng = rand.New(rand.NewPCG(opt.seed, 0))
	if iso.keeps[replicationOrder] || opt.off[freshReplica] || opt.off[sessionOrder] {
		for range opt.nodes {
			d.nodes = append(d.nodes, &node{})
		}
	}
	return d
}

func (d *db) newest() snapshot { return snapshot{upto: d.commits} }

// item returns a key's versions; there may be none yet.
func (d *db) item(key string) *item {
	i := d.items[key]
	if i == nil {
		i = &item{}
		d.items[key] = i
		at, _ := slices.BinarySearch(d.keys, key)
		d.keys = slices.Insert(d.keys, at, key)
	}
	return i
}

// below returns the keys that begin with prefix.
func (d *db) below(prefix string) []string {
	from, _ := slices.BinarySearch(d.keys, prefix)
	n := sort.Search(len(d.keys)-from, func(n int) bool { return !strings.HasPrefix(d.keys[from+n], prefix) })
	return slices.Clone(d.keys[from : from+n])
}

// fill writes the initial content, as commit 0.
func (d *db) fill(ctx context.Context, f func(put func(key string, value []byte))) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(func(key string, value []byte) {
		if d.items[key] == nil {
			d.keys = append(d.keys, key)
		}
		d.items[key] = &item{versions: []version{{value: value}}}
	})
	slices.Sort(d.keys)
	if ctx.Err() != nil {
		return errors.Wrap(context.Cause(ctx), "sim: initial values")
	}
	return nil
}

// install adds the version of a commit to a key, and removes versions that no transaction can
// read any more.
func (d *db) install(key string, v version, horizon int64) {
	i := d.item(key)
	i.versions = append(i.versions, v)
	if v.value == nil {
		d.deleted = append(d.deleted, deletion{key, v.commit})
	}
	if len(i.versions) < 64 {
		return
	}
	old := snapshot{upto: horizon - 2*d.opt.lag}
	for n := len(i.versions) - 1; n > 0; n-- {
		if old.shows(i.versions[n]) {
			i.versions = slices.Clone(i.versions[n:])
			return
		}
	}
}

// forget removes keys that are deleted in every snapshot, and transactions whose commits are in
// every snapshot.
func (d *db) forget(horizon int64) {
	d.recent = slices.DeleteFunc(d.recent, func(t *tx) bool { return t.commit <= horizon })
	for len(d.deleted) > 0 && d.deleted[0].commit < horizon-2*d.opt.lag {
		x := d.deleted[0]
		d.deleted = d.deleted[1:]
		written := func(t *tx) bool { return t.writes[x.key] != nil }
		if v, _ := d.item(x.key).newest(); v.commit != x.commit || slices.ContainsFunc(d.active, written) {
			continue
		}
		delete(d.items, x.key)
		at, _ := slices.BinarySearch(d.keys, x.key)
		d.keys = slices.Delete(d.keys, at, at+1)
	}
}

// horizon is the last commit up to which every snapshot, taken now or later, has all commits.
func (d *db) horizon() int64 {
	low := d.commits
	for _, n := range d.nodes {
		low = min(low, n.whole(d.commits))
	}
	for _, t := range d.active {
		low = min(low, t.snap.whole())
	}
	return low
}

func encode(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func decode(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, errors.Errorf("value has %d bytes, not 8", len(b))
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}
