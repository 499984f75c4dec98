package servers

import "syscall"

// endWithParent has the kernel send the server a signal when its parent is gone.
func endWithParent(a *syscall.SysProcAttr, s syscall.Signal) { a.Pdeathsig = s }
