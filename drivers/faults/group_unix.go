//go:build unix

package faults

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a process group, which is killed with it.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
