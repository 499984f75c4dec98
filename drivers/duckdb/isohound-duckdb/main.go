// Command isohound-duckdb is isohound with the driver for DuckDB.
package main

import (
	"github.com/isohound/isohound/cli"
	"github.com/isohound/isohound/drivers/duckdb"
)

func main() { cli.Main(cli.WithDriver(duckdb.Driver{})) }
