//go:build !front

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pkg/errors"
)

// newFolder makes the folder of --out for results, by default runs/NAME-DATE-TIME, before anything is measured: so a failure does not
// come after hours. A folder that holds something is refused, since results are not overwritten. drop removes
// the folders that newFolder made, if they are empty.
func newFolder(out *string, name string) (drop func(), err error) {
	var made []string // the deepest first
	drop = func() {
		for _, dir := range made {
			_ = os.Remove(dir)
		}
	}
	create := func(dir string) error {
		for up := dir; ; up = filepath.Dir(up) {
			if _, err := os.Lstat(up); err == nil || up == filepath.Dir(up) { // a link to nothing is there, too
				break
			}
			made = append(made, up)
		}
		return os.MkdirAll(dir, 0o777)
	}
	if *out != "" {
		*out = filepath.Clean(*out)
		err = create(*out)
	} else if err = create("runs"); err == nil {
		first := filepath.Join("runs", name+time.Now().Format("-20060102-150405"))
		*out, err = first, os.Mkdir(first, 0o777)
		for n := 2; os.IsExist(err); n++ { // another one began in this second
			*out = fmt.Sprintf("%s-%d", first, n)
			err = os.Mkdir(*out, 0o777)
		}
		if err == nil {
			made = slices.Insert(made, 0, *out)
		}
	}
	var left []os.DirEntry
	if err == nil {
		left, err = os.ReadDir(*out)
	}
	if err != nil {
		drop()
		return nil, withCode(exitIO, errors.Wrap(err, "--out"))
	}
	if len(left) > 0 {
		return nil, withCode(exitIO, errors.Errorf("--out %s is not empty; results are not overwritten, name another folder", *out))
	}
	return drop, nil
}
