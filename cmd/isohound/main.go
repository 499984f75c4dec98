// Command isohound hunts isolation bugs in databases: it drives one with
// concurrent transactions, records what happens, and judges whether that is
// what the isolation level allows.
package main

import (
	"fmt"
	"os"

	"github.com/pkg/errors"
)

func main() {
	handOver(os.Args)
	os.Exit(int(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

// run is main with everything that it touches as an argument.
func run(args []string, in *os.File, out, msg *os.File) (code exitCode) {
	a := &app{in: in, out: out, msg: msg, stopSignals: func() {}}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(msg, "isohound: internal error: %+v\n", errors.Errorf("%v", p))
			code = exitInternal
		}
	}()
	defer func() { a.stopSignals() }()
	return a.finish(a.root(args).Execute())
}
