//go:build unix

package docker

import (
	"errors"
	"os/exec"
	"syscall"
)

// apart keeps signals of the terminal from a command: isohound ends what it has begun itself.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// alive reports whether there may be a process of this id.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
