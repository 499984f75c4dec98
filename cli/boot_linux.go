//go:build !front

package cli

import (
	"os"
	"strings"
)

// bootID names the time since this machine was started. It is "" if that is not known.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
