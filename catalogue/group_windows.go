package catalogue

import (
	"os"
	"syscall"
)

var ownGroup = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}

// interrupt kills isohound: Windows has no interrupt that one process can send to another. What it
// created on a server stays there.
func interrupt(p *os.Process) error { return p.Kill() }
