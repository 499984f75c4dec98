//go:build unix

package servers

import (
	"os"
	"syscall"
)

// cannotRun says why this system cannot run private servers; "" if it can.
const cannotRun = ""

// ownGroup makes a process group for the server: signals of the caller's terminal must not reach it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// runAs makes the server run as a user.
func runAs(a *syscall.SysProcAttr, uid, gid int) {
	a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// owner returns the user as which the server runs, and false if it is the current one.
func owner(a *syscall.SysProcAttr) (uid, gid int, other bool) {
	if a.Credential == nil {
		return 0, 0, false
	}
	return int(a.Credential.Uid), int(a.Credential.Gid), true
}

// killGroup kills the process group that p leads.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// stopProcess and continueProcess do nothing if the process has ended.
func stopProcess(pid int)     { _ = syscall.Kill(pid, syscall.SIGSTOP) }
func continueProcess(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }
