package results

import (
	"os"

	"github.com/pkg/errors"
)

// Regular returns an error if there is something at path that is no regular file. To open a pipe in the folder of a run would wait for ever.
func Regular(path string) error {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return errors.Errorf("%s is not a regular file, which a run writes; remove it, or put the file of the run in its place", path)
	}
	return nil
}

// ReadFile reads a file of the folder of a run, which must be regular.
func ReadFile(path string) ([]byte, error) {
	if err := Regular(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
