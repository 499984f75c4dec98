package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/isohound/isohound/drivers"
)

// Remnants implements drivers.Cleaner. The server does not say who uses a database.
func (d *db) Remnants(ctx context.Context) ([]drivers.Remnant, error) {
	var list []drivers.Remnant
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *mongo.Client) error {
		names, err := c.ListDatabaseNames(ctx, bson.D{})
		for _, name := range names {
			if drivers.IsRunName(name) {
				list = append(list, drivers.Remnant{Name: name, Sessions: -1})
			}
		}
		return err
	})
	if err != nil {
		return nil, &drivers.UnreachableError{Driver: "mongo", Err: d.reason(err)}
	}
	return list, nil
}

// Drop implements drivers.Cleaner.
func (d *db) Drop(ctx context.Context, name string) error {
	err := d.admin(ctx, setupTimeout, func(ctx context.Context, c *mongo.Client) error {
		return c.Database(name, options.Database().SetWriteConcern(writeconcern.Majority())).Drop(ctx)
	})
	if err != nil {
		return &drivers.UnreachableError{Driver: "mongo", Err: d.reason(err)}
	}
	return nil
}
