//go:build !unix

// Package group keeps a command and its children in a process group of their own.
package group

import "os/exec"

// Lead does nothing where there are no process groups.
func Lead(*exec.Cmd) {}

// Kill does nothing where there are no process groups: only the command itself is killed. So set its WaitDelay, too.
func Kill(*exec.Cmd) {}
