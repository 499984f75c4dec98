package drivertest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// TestDeclared: what a driver says of itself is checked before it is used.
func TestDeclared(t *testing.T) {
	good := drivers.Isolation{Name: "serializable", Promises: "ser"}
	for _, tc := range []struct {
		info drivers.Info
		want string
	}{
		{drivers.Info{Name: "x", Isolations: []drivers.Isolation{good, {Name: "weak", Promises: "cc,rc", Scans: "rc"}, {Name: "light", Lightweight: "lin"}, {Name: "set", ByServer: true}}}, ""},
		{drivers.Info{Isolations: []drivers.Isolation{good}}, "no name"},
		{drivers.Info{Name: "x"}, "driver x has no isolation"},
		{drivers.Info{Name: "x", Isolations: []drivers.Isolation{{Promises: "ser"}}}, "without a name"},
		{drivers.Info{Name: "x", Isolations: []drivers.Isolation{good, {Name: "SERIALIZABLE", Promises: "si"}}}, `driver x has isolation "SERIALIZABLE" twice`},
		{drivers.Info{Name: "x", Isolations: []drivers.Isolation{{Name: "a", Promises: "foo"}}}, `driver x, isolation "a": Promises: unknown level "foo"`},
		{drivers.Info{Name: "x", Isolations: []drivers.Isolation{{Name: "a", Promises: "ser", Scans: "si,"}}}, `isolation "a": Scans: unknown level ""`},
		{drivers.Info{Name: "x", Isolations: []drivers.Isolation{{Name: "a", Lightweight: "line"}}}, `isolation "a": Lightweight: unknown level "line"`},
	} {
		if err := drivertest.Declared(tc.info); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: %v, want %q", tc.info, err, tc.want)
		}
	}
	var failures []string
	bad := named{drivers.Info{Name: "x", Can: []drivers.Capability{drivers.Transactions}, Isolations: []drivers.Isolation{{Name: "a", Promises: "foo"}}}}
	drivertest.Verify(bad, "", func(c drivertest.Checked) { failures = append(failures, c.Failures...) })
	if len(failures) != 1 || !strings.Contains(failures[0], `unknown level "foo"`) {
		t.Errorf("%q", failures)
	}
}

// named is a driver that cannot be opened.
type named struct{ info drivers.Info }

func (n named) Info() drivers.Info { return n.info }

func (n named) Open(context.Context, drivers.Config) (drivers.DB, error) {
	return nil, errors.New("cannot be opened")
}
