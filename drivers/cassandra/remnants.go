package cassandra

import (
	"context"

	"github.com/gocql/gocql"

	"github.com/isohound/isohound/drivers"
)

// Remnants implements drivers.Cleaner. The server does not say who uses a keyspace.
func (d *db) Remnants(ctx context.Context) ([]drivers.Remnant, error) {
	var list []drivers.Remnant
	err := d.admin(ctx, func(ctx context.Context, s *gocql.Session) error {
		rows := s.Query("SELECT keyspace_name FROM system_schema.keyspaces").WithContext(ctx).Iter()
		var name string
		for rows.Scan(&name) {
			if drivers.IsRunName(name) {
				list = append(list, drivers.Remnant{Name: name, Sessions: -1})
			}
		}
		return rows.Close()
	})
	if err != nil {
		return nil, unusable(err)
	}
	return list, nil
}

// Drop implements drivers.Cleaner.
func (d *db) Drop(ctx context.Context, name string) error {
	err := d.admin(ctx, func(ctx context.Context, s *gocql.Session) error {
		return s.Query("DROP KEYSPACE IF EXISTS " + name).WithContext(ctx).Exec()
	})
	if err != nil {
		return unusable(err)
	}
	return nil
}
