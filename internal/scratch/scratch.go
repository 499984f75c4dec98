// Package scratch makes temporary folders that do not stay if the process is killed: the next one that makes such a
// folder removes those of processes that are gone.
package scratch

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// prefix and suffix are how the names of these folders begin and end. Folders with other names are never removed.
const (
	prefix = "isohound-"
	suffix = ".tmp"
)

// young is for how long a folder is left alone, whatever its lock says: its process may not have locked it yet.
const young = 10 * time.Second

// Folder is a temporary folder. It is locked until it is removed or the process ends.
type Folder struct {
	Path string
	lock *os.File // nil where there are no locks
}

// held are the locks. A file that nobody refers to would be closed.
var held sync.Map

// Error says that no folder could be made in the system's folder for temporary files.
type Error struct{ Err error }

func (e *Error) Error() string {
	return "the folder for temporary files, which TMPDIR names: " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// New makes a folder in the system's folder for temporary files. kind is a part of its name. On Linux it removes the
// folders that processes left there when they were killed; elsewhere servers may outlive the process that started them.
// The error is an *Error.
func New(kind string) (*Folder, error) {
	path, err := os.MkdirTemp("", prefix+kind+"-*"+suffix)
	if err != nil {
		return nil, &Error{err}
	}
	f := &Folder{Path: path, lock: lock(path)}
	if f.lock == nil { // without a lock, another process would take the folder for one that was left
		if err := os.Remove(path); err != nil {
			return nil, &Error{err}
		}
		if f.Path, err = os.MkdirTemp("", prefix+kind+"-"); err != nil {
			return nil, &Error{err}
		}
		return f, nil
	}
	held.Store(f.Path, f.lock)
	sweep(filepath.Dir(path))
	return f, nil
}

// In makes a folder in parent, which is not swept, or else as New does if parent is empty.
func In(parent, kind string) (*Folder, error) {
	if parent == "" {
		return New(kind)
	}
	path, err := os.MkdirTemp(parent, prefix+kind+"-")
	if err != nil {
		return nil, err
	}
	return &Folder{Path: path}, nil
}

// Remove removes the folder and all that is in it. If it returns an error, it can be called again.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.Path)
	if err == nil && f.lock != nil {
		f.lock.Close()
		f.lock = nil
		held.Delete(f.Path)
	}
	return err
}

// sweep removes the folders in parent that no process has locked. What cannot be removed stays.
func sweep(parent string) {
	left, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range left {
		if !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		st, err := os.Lstat(path)
		if err != nil || !st.IsDir() || time.Since(st.ModTime()) < young || mounted(path, parent) {
			continue
		}
		if l := lock(path); l != nil {
			_ = os.RemoveAll(path)
			l.Close()
		}
	}
}
