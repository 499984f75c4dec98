//go:build !mumax && (nogpu || !(linux && (amd64 || arm64)))

package driver

import (
	"fmt"
	"runtime"
)

// Binding says how the driver is called.
const Binding = "none"

// DefaultLibrary is the library that is opened unless the user names another.
const DefaultLibrary = ""

// Open fails: CUDA is only used on Linux, without the build tag nogpu. No library would help, so it is not ErrNoLibrary.
func Open(string) (Driver, error) {
	return nil, fmt.Errorf("this program was built for %s/%s without CUDA, which takes Linux on amd64 or arm64 and no build tag nogpu", runtime.GOOS, runtime.GOARCH)
}
