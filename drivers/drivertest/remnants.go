package drivertest

import (
	"context"
	"regexp"
	"slices"

	"github.com/isohound/isohound/drivers"
)

var name = regexp.MustCompile(`isohound_[0-9a-f]{12}`)

// remnants checks that a Cleaner finds what Create made, knows whether a session uses it, and drops only what it is
// told to.
func remnants(t T, d drivers.Driver, dsn string) {
	db, other := Open(t, d, dsn, ""), Open(t, d, dsn, "")
	c, ok := db.(drivers.Cleaner)
	if !ok {
		if !d.Info().Embedded {
			t.Error("what killed runs leave on the server cannot be found")
		}
		return
	}
	own, left := name.FindString(db.(drivers.Owner).Owns()), name.FindString(other.(drivers.Owner).Owns())
	sessions := func(name string) (n int, found bool) {
		t.Helper()
		list, err := c.Remnants(context.Background())
		must(t, err)
		at := slices.IndexFunc(list, func(r drivers.Remnant) bool { return r.Name == name })
		if at < 0 {
			return 0, false
		}
		return list[at].Sessions, true
	}
	s, err := db.Connect(context.Background())
	must(t, err)
	defer s.Close()
	if n, found := sessions(own); !found || n != 1 && n != -1 {
		t.Errorf("%s: found %v, with %d sessions", own, found, n)
	}
	if n, found := sessions(left); !found || n > 0 {
		t.Errorf("%s: found %v, with %d sessions", left, found, n)
	}
	must(t, c.Drop(context.Background(), left))
	_, found := sessions(own)
	_, still := sessions(left)
	if !found || still {
		t.Errorf("after dropping %s: %v, and %s: %v", left, still, own, found)
	}
}
