//go:build !front && !linux && !darwin

package cli

// bootID names the time since this machine was started. It is "" if that is not known.
func bootID() string { return "" }
