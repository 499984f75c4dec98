//go:build unix

// Package group keeps a command and its children in a process group of their own.
package group

import (
	"os/exec"
	"syscall"
)

// Lead makes a command the leader of a process group, which signals of the terminal do not reach: who starts it passes them on.
func Lead(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Kill makes a command the leader of a process group, which is killed with it when its context ends.
func Kill(c *exec.Cmd) {
	Lead(c)
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
