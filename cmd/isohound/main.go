// Command isohound finds isolation bugs in databases: it runs concurrent transactions on a
// database, records the history, and judges whether the isolation level allows it.
package main

import "github.com/isohound/isohound/cli"

func main() { cli.Main() }
