package redis

import (
	"context"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// scan calls f with the keys that match a pattern, in pieces; a key may come twice.
func scan(ctx context.Context, c *conn, pattern string, f func(keys []any) error) error {
	for cursor := "0"; ; {
		reply, err := c.one(ctx, "SCAN", cursor, "MATCH", pattern, "COUNT", batch)
		if err != nil {
			return err
		}
		pair, _ := reply.([]any)
		if len(pair) != 2 {
			return errors.New("unexpected answer to SCAN")
		}
		if keys, _ := pair[1].([]any); len(keys) > 0 {
			if err := f(keys); err != nil {
				return err
			}
		}
		if cursor = text(pair[0]); cursor == "0" {
			return nil
		}
	}
}

// Remnants implements drivers.Cleaner. Sessions have the name of their run as the name of their client.
func (d *db) Remnants(ctx context.Context) ([]drivers.Remnant, error) {
	var list []drivers.Remnant
	err := d.admin(ctx, func(ctx context.Context, c *conn) error {
		clients, err := c.one(ctx, "CLIENT", "LIST")
		if err != nil && !refused(err) {
			return err
		}
		known := err == nil
		seen := map[string]bool{}
		return scan(ctx, c, "isohound_????????????", func(keys []any) error {
			for _, k := range keys {
				name := text(k)
				if !drivers.IsRunName(name) || seen[name] {
					continue
				}
				seen[name] = true
				r := drivers.Remnant{Name: name, Sessions: -1}
				if known {
					r.Sessions = strings.Count(text(clients), " name="+name+" ")
				}
				list = append(list, r)
			}
			return nil
		})
	})
	if err != nil {
		return nil, &drivers.UnreachableError{Driver: "redis", Err: err}
	}
	return list, nil
}

// Drop implements drivers.Cleaner. The key that marks the run goes last.
func (d *db) Drop(ctx context.Context, name string) error {
	err := d.admin(ctx, func(ctx context.Context, c *conn) error {
		err := scan(ctx, c, name+":*", func(keys []any) error {
			_, err := c.one(ctx, "UNLINK", keys...)
			return err
		})
		if err != nil {
			return err
		}
		_, err = c.one(ctx, "UNLINK", name)
		return err
	})
	if err != nil {
		return &drivers.UnreachableError{Driver: "redis", Err: err}
	}
	return nil
}

// Schema implements drivers.Resumer.
func (d *db) Schema() string { return d.name }

// Resume implements drivers.Resumer.
func (d *db) Resume(ctx context.Context, name string) error {
	if err := d.Attach(ctx, name); err != nil {
		return err
	}
	d.created = true
	return nil
}

// Attach implements drivers.Attacher.
func (d *db) Attach(ctx context.Context, name string) error {
	err := d.admin(ctx, func(ctx context.Context, c *conn) error {
		there, err := c.one(ctx, "EXISTS", name)
		if err == nil && there != int64(1) {
			err = errors.Errorf("the server has no keys %s any more, so the run cannot go on", name)
		}
		return err
	})
	if err != nil {
		return &drivers.UnreachableError{Driver: "redis", Err: err}
	}
	d.name = name
	return nil
}
