// Command isohound finds isolation bugs in databases: it runs concurrent transactions on a
// database, records the history, and judges whether the isolation level allows it.
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

// run is main with all its inputs and outputs as arguments.
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
