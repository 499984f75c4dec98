// Command isohound-mapdb is isohound with a driver of one's own.
//
//	go run ./isohound-mapdb run --driver mapdb --check claimed
//	go run ./isohound-mapdb run --driver mapdb --isolation "last writer wins" --check claimed,si
package main

import (
	mapdb "example.com/mapdb"

	"github.com/isohound/isohound/cli"
)

func main() { cli.Main(cli.WithDriver(mapdb.Driver{})) }
