// Command isohound hunts isolation bugs in databases: it drives one with
// concurrent transactions, records what happens, and judges whether that is
// what the isolation level allows.
package main

import (
	"fmt"
	"os"

	"github.com/pkg/errors"

	_ "github.com/isohound/isohound/drivers/badger"
	_ "github.com/isohound/isohound/drivers/bbolt"
	_ "github.com/isohound/isohound/drivers/cassandra"
	_ "github.com/isohound/isohound/drivers/dgraph"
	_ "github.com/isohound/isohound/drivers/etcd"
	_ "github.com/isohound/isohound/drivers/mariadb"
	_ "github.com/isohound/isohound/drivers/mongo"
	_ "github.com/isohound/isohound/drivers/postgres"
	_ "github.com/isohound/isohound/drivers/sim"
	_ "github.com/isohound/isohound/drivers/sqlite"
	_ "github.com/isohound/isohound/workloads/append"
	_ "github.com/isohound/isohound/workloads/blindw"
	_ "github.com/isohound/isohound/workloads/ctwitter"
	_ "github.com/isohound/isohound/workloads/general"
	_ "github.com/isohound/isohound/workloads/lwt"
	_ "github.com/isohound/isohound/workloads/mini"
	_ "github.com/isohound/isohound/workloads/register"
	_ "github.com/isohound/isohound/workloads/rubis"
	_ "github.com/isohound/isohound/workloads/skew"
	_ "github.com/isohound/isohound/workloads/tpcc"
	_ "github.com/isohound/isohound/workloads/ycsbt"
)

func main() {
	os.Exit(int(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

// run is main with everything that it touches as an argument.
func run(args []string, in *os.File, out, msg *os.File) (code exitCode) {
	a := &app{in: in, out: out, msg: msg}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(msg, "isohound: internal error: %+v\n", errors.Errorf("%v", p))
			code = exitInternal
		}
	}()
	stop := a.listen()
	defer stop()
	root := a.root()
	root.SetArgs(args)
	return a.finish(root.Execute())
}
