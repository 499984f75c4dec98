package dgraph

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/isohound/isohound/drivers"
)

// Remnants implements drivers.Cleaner. The server does not say who uses predicates.
func (d *db) Remnants(ctx context.Context) ([]drivers.Remnant, error) {
	var list []drivers.Remnant
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *client) error {
		seen := map[string]bool{}
		all, err := predicates(ctx, c)
		for _, p := range all {
			if name, _, ok := strings.Cut(p, "."); ok && drivers.IsRunName(name) && !seen[name] {
				seen[name] = true
				list = append(list, drivers.Remnant{Name: name, Sessions: -1})
			}
		}
		return err
	})
	if err != nil {
		return nil, unusable(err)
	}
	return list, nil
}

// predicates lists the predicates of the server's schema.
func predicates(ctx context.Context, c *client) ([]string, error) {
	resp, err := c.NewReadOnlyTxn().Query(ctx, "schema {}")
	if err != nil {
		return nil, err
	}
	var found struct {
		Schema []struct{ Predicate string }
	}
	if err := json.Unmarshal(resp.GetJson(), &found); err != nil {
		return nil, err
	}
	var names []string
	for _, p := range found.Schema {
		names = append(names, p.Predicate)
	}
	return names, nil
}

// Drop implements drivers.Cleaner.
func (d *db) Drop(ctx context.Context, name string) error {
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *client) error {
		all, err := predicates(ctx, c)
		for _, p := range all {
			if own, _, _ := strings.Cut(p, "."); own == name {
				if err := drop(ctx, c, p); err != nil {
					return err
				}
			}
		}
		return err
	})
	if err != nil {
		return unusable(err)
	}
	return nil
}
