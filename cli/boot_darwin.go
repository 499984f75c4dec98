//go:build !front

package cli

import "golang.org/x/sys/unix"

// bootID names the time since this machine was started. It is "" if that is not known.
func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
