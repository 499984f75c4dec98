//go:build !unix

package servers

import (
	"os"
	"syscall"
)

// cannotRun says why this system cannot run private servers. They are started as other users, in
// process groups of their own, and stopped by signals, none of which Windows has.
const cannotRun = "isohound starts private servers on Linux and macOS only; name a server that runs with --dsn"

// newProcess refuses every server here, so that nothing below is reached.

func ownGroup() *syscall.SysProcAttr                        { return &syscall.SysProcAttr{} }
func runAs(*syscall.SysProcAttr, int, int)                  {}
func owner(*syscall.SysProcAttr) (uid, gid int, other bool) { return 0, 0, false }
func killGroup(p *os.Process) error                         { return p.Kill() }
func stopProcess(int)                                       {}
func continueProcess(int)                                   {}
