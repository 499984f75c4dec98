//go:build !linux

package servers

import "syscall"

// endWithParent does nothing where no kernel does it.
func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}
