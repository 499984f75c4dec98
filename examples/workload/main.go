// Command workload is isohound with a workload of one's own.
//
//	go run . run --workload swap --driver badger --check si,ser
package main

import "github.com/isohound/isohound/cli"

func main() { cli.Main(cli.WithWorkload(swap)) }
