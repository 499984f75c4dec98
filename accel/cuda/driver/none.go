//go:build !mumax && !(linux && (amd64 || arm64))

package driver

import (
	"runtime"

	"github.com/pkg/errors"
)

// Binding says how the driver is called.
const Binding = "none"

// DefaultLibrary is where the driver is unless the user says otherwise.
const DefaultLibrary = ""

// Open fails: CUDA is used on Linux only.
func Open(string) (Driver, error) {
	return nil, errors.Wrapf(ErrNoLibrary, "isohound uses CUDA on Linux only, not on %s", runtime.GOOS+"/"+runtime.GOARCH)
}
