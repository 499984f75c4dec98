package fetch

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// native is the folder of PostgreSQL within a package, and linksFile its file in native that says which links the libraries
// need: archives of npm have none.
const (
	native    = "native"
	linksFile = "pg-symlinks.json"
)

// programs must be in every package.
var programs = []string{"bin/initdb", "bin/postgres"}

// unpack writes PostgreSQL, which is in the archive of a package, to a folder, readable by every user: a server may run
// as another one. Nothing is written outside of the folder.
func unpack(archive, folder string) error {
	file, err := os.Open(archive)
	if err != nil {
		return errors.WithStack(err)
	}
	defer file.Close()
	if err := os.Mkdir(folder, 0o755); err != nil {
		return errors.WithStack(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return errors.WithStack(err)
	}
	defer root.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return errors.WithStack(err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return errors.WithStack(err)
		}
		if err := entry(root, h, r); err != nil {
			return err
		}
	}
	if err := link(root); err != nil {
		return err
	}
	for _, p := range programs {
		if _, err := root.Stat(p); err != nil {
			return errors.Errorf("the package has no %s/%s", native, p)
		}
	}
	return open(root)
}

// entry writes one file. As for npm, the first folder of an archive has any name.
func entry(root *os.Root, h *tar.Header, r io.Reader) error {
	_, name, _ := strings.Cut(h.Name, "/")
	if !filepath.IsLocal(h.Name) || name != "" && !filepath.IsLocal(name) {
		return errors.Errorf("the package has a file outside of its folder: %q", h.Name)
	}
	name, ok := strings.CutPrefix(path.Clean(name), native+"/")
	if !ok {
		return nil
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return errors.WithStack(root.MkdirAll(name, 0o755))
	case tar.TypeReg:
	default:
		return errors.Errorf("the package has %q, which is neither file nor folder", h.Name)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return errors.WithStack(err)
	}
	mode := fs.FileMode(0o644)
	if h.FileInfo().Mode()&0o100 != 0 {
		mode = 0o755
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return errors.WithStack(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, r); err != nil {
		return errors.WithStack(err)
	}
	return errors.WithStack(f.Close())
}

// link makes the links that the package lists. What is there already stays.
func link(root *os.Root) error {
	text, err := root.ReadFile(linksFile)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return errors.WithStack(err)
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return errors.Wrap(err, linksFile)
	}
	for _, l := range links {
		source, in := strings.CutPrefix(l.Source, native+"/")
		target, too := strings.CutPrefix(l.Target, native+"/")
		if !in || !too || !filepath.IsLocal(source) || !filepath.IsLocal(target) {
			return errors.Errorf("%s: a link from %q to %q is outside of the folder", linksFile, l.Target, l.Source)
		}
		to, err := filepath.Rel(path.Dir(target), source)
		if err != nil {
			return errors.WithStack(err)
		}
		if err := root.Symlink(to, target); err != nil && !os.IsExist(err) {
			return errors.WithStack(err)
		}
	}
	return nil
}

// open makes all readable for every user, whatever the umask is.
func open(root *os.Root) error {
	return errors.WithStack(fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return root.Chmod(name, info.Mode().Perm()|0o444|info.Mode().Perm()&0o100>>3|info.Mode().Perm()&0o100>>6)
	}))
}
