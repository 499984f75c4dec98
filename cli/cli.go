// Package cli is the command line of isohound. A main of a few lines adds drivers and workloads to it, and
// has every command:
//
//	func main() { cli.Main(cli.WithDriver(mydb.Driver{}), cli.WithWorkload(mine.Spec)) }
//
// docs/go-api.md is the guide. With the build tag embedded the package has no clients of database servers,
// with the tag front only the commands that judge histories.
package cli

import (
	"fmt"
	"os"

	"github.com/pkg/errors"
)

// Main runs the command line with the arguments of the process, and ends the process with its exit code.
func Main(with ...Option) {
	for _, add := range with {
		add()
	}
	handOver(os.Args)
	os.Exit(int(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

// internal prints a panic, with the stack of the goroutine.
func (a *app) internal(p any) exitCode {
	fmt.Fprintf(a.msg, "isohound: internal error: %+v\n", errors.Errorf("%v", p))
	return exitInternal
}

// panicked ends the process after a panic in another goroutine than run's.
func (a *app) panicked(p any) {
	code := a.internal(p)
	a.sayLeft()
	os.Exit(int(code))
}

// run is Main with all its inputs and outputs as arguments.
func run(args []string, in *os.File, out, msg *os.File) (code exitCode) {
	a := &app{in: in, out: out, msg: msg, stopSignals: func() {}}
	defer func() {
		if p := recover(); p != nil {
			code = a.internal(p)
		}
	}()
	defer func() { a.stopSignals() }()
	return a.finish(a.root(args).Execute())
}
