package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// findBuilt returns the path of a program that ./run.sh COMMAND has built: beside isohound, or on PATH.
func findBuilt(name, command string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is missing; ./run.sh %s builds it into bin/, which must be on PATH if isohound is elsewhere", name, command)
	}
	return path, nil
}
