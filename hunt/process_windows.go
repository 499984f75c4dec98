package hunt

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps the interrupts of the console from a process.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interrupt kills: Windows has no interrupts for single processes.
func interrupt(p *os.Process) error { return p.Kill() }

// inherit does nothing: Windows has no locks that processes inherit.
func inherit(*exec.Cmd, *os.File) {}
