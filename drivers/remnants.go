package drivers

import (
	"context"
	"regexp"
)

// Remnant is what one run has on the server: it goes on, or it was killed before it could drop it.
type Remnant struct {
	// Name is the run's own name there: a schema, a database, a keyspace, or the prefix of its keys.
	Name string
	// Sessions is how many sessions use it, as far as the user may see them. It is -1 if the server cannot tell.
	Sessions int
}

// Cleaner is a DB that finds and drops what runs have left on the server.
type Cleaner interface {
	// Remnants lists what runs have on the server.
	Remnants(ctx context.Context) ([]Remnant, error)
	// Drop drops a remnant by its name.
	Drop(ctx context.Context, name string) error
}

var runName = regexp.MustCompile(`^isohound_[0-9a-f]{12}$`)

// IsRunName reports whether a name is one that runs give to what they create.
func IsRunName(name string) bool { return runName.MatchString(name) }
