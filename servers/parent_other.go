//go:build !linux

package servers

import "syscall"

// endWithParent does nothing: this kernel cannot signal a server when its parent has ended.
func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}
