package declared_test

import (
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/declared"
)

// TestCheck: what a driver says of itself is checked before it is used.
func TestCheck(t *testing.T) {
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
		if err := declared.Check(tc.info); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%+v: %v, want %q", tc.info, err, tc.want)
		}
	}
}
