//go:build !mumax && !(linux && (amd64 || arm64))

package driver

import (
	"fmt"
	"runtime"
)

// Binding says how the driver is called.
const Binding = "none"

// DefaultLibrary is where the driver is unless the user says otherwise.
const DefaultLibrary = ""

// Open fails: CUDA is used on Linux only.
func Open(string) (Driver, error) {
	return nil, fmt.Errorf("%w: isohound uses CUDA on Linux (amd64, arm64) only, not on %s/%s", ErrNoLibrary, runtime.GOOS, runtime.GOARCH)
}
