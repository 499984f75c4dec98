//go:build !front && !embedded

package cli

import (
	_ "github.com/isohound/isohound/drivers/cassandra"
	_ "github.com/isohound/isohound/drivers/dgraph"
	_ "github.com/isohound/isohound/drivers/etcd"
	_ "github.com/isohound/isohound/drivers/firebird"
	_ "github.com/isohound/isohound/drivers/mariadb"
	_ "github.com/isohound/isohound/drivers/mongo"
	_ "github.com/isohound/isohound/drivers/postgres"
	_ "github.com/isohound/isohound/drivers/redis"
	_ "github.com/isohound/isohound/drivers/sqlite"
)

// leftOut says which drivers this program lacks.
const leftOut = ""
