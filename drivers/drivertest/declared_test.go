package drivertest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// TestVerifyDeclared: what a driver says of itself is checked before it is opened.
func TestVerifyDeclared(t *testing.T) {
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
