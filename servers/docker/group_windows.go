package docker

import (
	"os/exec"
	"syscall"
)

// apart keeps interrupts of the console from a command: isohound ends what it has begun itself.
func apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
