//go:build front && unix

package cli

import (
	"os"
	"syscall"
)

// completeName is the file name of the complete program.
const completeName = "isohound-full"

// execute replaces this process by a program. It returns only if that fails.
func execute(program string, args []string) error {
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}
