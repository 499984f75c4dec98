// Package declared checks what drivers say of themselves. It is not a part of package drivers, since levels are of the checkers, on
// which workloads and generators must not depend.
package declared

import (
	"github.com/pkg/errors"

	"github.com/isohound/isohound/checker/level"
	"github.com/isohound/isohound/drivers"
)

// Check reports what is wrong with what a driver says of itself: it needs a name and an isolation, each isolation has
// a name of its own, and what it promises are levels that can be checked.
func Check(info drivers.Info) error {
	switch {
	case info.Name == "":
		return errors.New("a driver has no name")
	case len(info.Isolations) == 0:
		return errors.Errorf("driver %s has no isolation", info.Name)
	}
	for i, iso := range info.Isolations {
		before := info
		before.Isolations = info.Isolations[:i]
		if iso.Name == "" {
			return errors.Errorf("driver %s has an isolation without a name", info.Name)
		}
		if _, err := before.FindIsolation(iso.Name); err == nil {
			return errors.Errorf("driver %s has isolation %q twice", info.Name, iso.Name)
		}
		for _, promise := range []struct{ field, levels string }{{"Promises", iso.Promises}, {"Lightweight", iso.Lightweight}, {"Scans", iso.Scans}} {
			if promise.levels == "" {
				continue
			}
			if _, err := level.ParseList(promise.levels); err != nil {
				return errors.Errorf("driver %s, isolation %q: %s: %v", info.Name, iso.Name, promise.field, err)
			}
		}
	}
	return nil
}
