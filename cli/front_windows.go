//go:build front

package cli

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// completeName is the file name of the complete program.
const completeName = "isohound-full.exe"

// execute runs a program and ends with its exit code, because Windows cannot replace a process. It
// returns only if the program does not start. The console sends an interrupt to both processes; the
// program decides when to end.
func execute(program string, args []string) error {
	signal.Ignore(os.Interrupt)
	c := exec.Command(program, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		os.Exit(0)
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	}
	return err
}
