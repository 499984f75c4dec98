package hunt

import (
	"os"
	"os/exec"
	"syscall"
)

// apart keeps the signals of the terminal from a process: the hunt passes them on. If the hunt is killed, so is the
// process.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

// inherit does nothing: here no process outlives the hunt, and a server that a run has started would hold the lock while
// it stops.
func inherit(*exec.Cmd, *os.File) {}
