package servers

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// canKillAll says that killAll ends all processes of a server, also those in other process groups.
const canKillAll = true

// killAll kills the server and all processes that it has started, and waits until they are gone: one that finishes its
// statement meanwhile could answer a client.
func (p *process) killAll() {
	if !p.running() {
		p.Kill()
		return
	}
	main := p.cmd.Process.Pid
	stopProcess(main) // it starts no more of them
	children := childrenOf(main)
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	p.Kill()
	for deadline := time.Now().Add(stopTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if gone := func() bool {
			for _, pid := range children {
				if _, state, ok := stat(strconv.Itoa(pid)); ok && state != "Z" && state != "X" {
					return false
				}
			}
			return true
		}(); gone {
			return
		}
	}
}

// childrenOf lists the processes that a process has started.
func childrenOf(parent int) []int {
	var all []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, e := range entries {
		name := filepath.Base(e)
		if ppid, _, ok := stat(name); ok && ppid == parent {
			if pid, err := strconv.Atoi(name); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}

// stat returns the parent and the state of a process, and false if it is gone.
func stat(pid string) (parent int, state string, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0, "", false
	}
	// The name of the program, in parentheses, may contain anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0, "", false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[0], err == nil
}
