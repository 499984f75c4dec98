package etcd

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/isohound/isohound/drivers"
)

// Remnants implements drivers.Cleaner. The server does not say who uses keys. From the first key of each run it
// goes to the end of that run's keys.
func (d *db) Remnants(ctx context.Context) ([]drivers.Remnant, error) {
	var list []drivers.Remnant
	err := d.admin(ctx, func(ctx context.Context, c *clientv3.Client) error {
		const all = "isohound_"
		from, end := all, clientv3.GetPrefixRangeEnd(all)
		for {
			r, err := c.Get(ctx, from, clientv3.WithRange(end), clientv3.WithKeysOnly(), clientv3.WithLimit(1))
			if err != nil || len(r.Kvs) == 0 {
				return err
			}
			name, _, ok := strings.Cut(string(r.Kvs[0].Key), "/")
			if ok && drivers.IsRunName(name) {
				list = append(list, drivers.Remnant{Name: name, Sessions: -1})
				from = clientv3.GetPrefixRangeEnd(name + "/")
			} else {
				from = string(r.Kvs[0].Key) + "\x00"
			}
		}
	})
	if err != nil {
		return nil, &drivers.UnreachableError{Driver: "etcd", Err: err}
	}
	return list, nil
}

// Drop implements drivers.Cleaner.
func (d *db) Drop(ctx context.Context, name string) error {
	err := d.admin(ctx, func(ctx context.Context, c *clientv3.Client) error {
		_, err := c.Delete(ctx, name+"/", clientv3.WithPrefix())
		return err
	})
	if err != nil {
		return &drivers.UnreachableError{Driver: "etcd", Err: err}
	}
	return nil
}
