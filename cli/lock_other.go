//go:build !unix && !front

package cli

import "os"

// locks: files can be locked.
const locks = false

// lockFile does nothing where there is no flock: there two processes could go on with the same run.
func lockFile(*os.File) error { return nil }
