//go:build unix

package catalogue

import (
	"os"
	"syscall"
)

var ownGroup = &syscall.SysProcAttr{Setpgid: true}

// interrupt ends isohound and lets it drop what it created on the server.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
