package dgraph

import (
	"context"
	"fmt"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// catchUp bounds how long an alpha may lag behind at the beginning.
const catchUp = 60 * time.Second

// Join implements drivers.Joiner. The mark of Create is written last. An alpha that can read it
// can read everything written before.
func (d *db) Join(ctx context.Context, first drivers.DB) error {
	f, ok := first.(*db)
	if !ok || !f.created {
		return errors.New("an endpoint can only join one that has created the schema")
	}
	if f.target.predicates != d.target.predicates {
		return unusable(errors.New("all endpoints must say the same of predicates"))
	}
	d.name, d.joined = f.name, true
	query := fmt.Sprintf("{ q(func: eq(%s, %q)) { uid } }", d.keys(0), mark)
	deadline := time.Now().Add(catchUp)
	for {
		var n *node
		err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *client) error {
			resp, err := c.NewReadOnlyTxn().Query(ctx, query)
			if err == nil {
				n, err = only(mark, resp.Json)
			}
			return err
		})
		switch {
		case n != nil:
			return nil
		case time.Now().After(deadline) && err != nil:
			return unusable(err)
		case time.Now().After(deadline):
			return unusable(errors.Errorf("what the first endpoint created, predicates %s, is not here after %v; is this an alpha of the same cluster?", d.name, catchUp))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
