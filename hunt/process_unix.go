//go:build unix && !linux

package hunt

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps the signals of the terminal from a process: the hunt passes them on. If the hunt is killed, the process
// goes on to its end and holds the lock until then.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

// inherit gives a process the file with our lock.
func inherit(c *exec.Cmd, f *os.File) { c.ExtraFiles = append(c.ExtraFiles, f) }
