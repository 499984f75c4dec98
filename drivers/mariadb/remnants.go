package mariadb

import (
	"context"

	"github.com/isohound/isohound/drivers"
)

// Remnants implements drivers.Cleaner. A user without the privilege PROCESS sees only its own sessions. Sessions of
// other nodes of a cluster are not seen.
func (d *db) Remnants(ctx context.Context) ([]drivers.Remnant, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	rows, err := d.pool.QueryContext(ctx, "SELECT s.schema_name, COUNT(p.id) FROM information_schema.schemata s LEFT JOIN information_schema.processlist p ON p.db = s.schema_name WHERE s.schema_name LIKE 'isohound%' GROUP BY s.schema_name ORDER BY 1")
	if err != nil {
		return nil, d.unusable(err)
	}
	defer rows.Close()
	var list []drivers.Remnant
	for rows.Next() {
		var r drivers.Remnant
		if err := rows.Scan(&r.Name, &r.Sessions); err != nil {
			return nil, d.unusable(err)
		}
		if drivers.IsRunName(r.Name) {
			list = append(list, r)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, d.unusable(err)
	}
	return list, nil
}

// Drop implements drivers.Cleaner.
func (d *db) Drop(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	if _, err := d.pool.ExecContext(ctx, "DROP DATABASE IF EXISTS `"+name+"`"); err != nil {
		return d.unusable(err)
	}
	return nil
}
