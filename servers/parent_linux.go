package servers

import "syscall"

// endWithParent makes the kernel signal the server when its parent has ended.
func endWithParent(a *syscall.SysProcAttr, s syscall.Signal) { a.Pdeathsig = s }
