//go:build !front

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/isohound/isohound/results"
)

// openFile says how far the window that is being written had come.
const openFile = "open.json"

// openMark is the content of openFile. A later process learns from it whether the file of the window is whole: all that the
// sessions of this process were told to be recorded is in it.
//
// A killed process leaves a whole file, since the kernel has what was written. If the machine fails, the kernel is gone, and the
// end of the file may be. So a file is whole only if the machine was not started again since, and the file is as long as the mark
// says. The mark is written after the file and before any session goes on.
type openMark struct {
	Window int    `json:"window"`
	Bytes  int64  `json:"bytes"`
	Boot   string `json:"boot"`
}

// String has the same length for all windows and sizes of a process, so that one mark replaces the other completely.
func (m openMark) String() string {
	boot, _ := json.Marshal(m.Boot)
	return fmt.Sprintf(`{"window":%10d,"bytes":%19d,"boot":%s}`+"\n", m.Window, m.Bytes, boot)
}

// readMark returns the mark in the folder of a run; the zero mark if there is none that can be read.
func readMark(dir string) (m openMark) {
	b, err := results.ReadFile(filepath.Join(dir, openFile))
	if err != nil || json.Unmarshal(b, &m) != nil {
		return openMark{}
	}
	return m
}

// lost returns why records may be missing from the last file of the windows, which has a number and a size; "" if it is whole.
// complete says that the file has its closing line.
func (m openMark) lost(boot string, number int, size int64, complete bool) string {
	switch {
	case m.Boot == "" || boot == "":
		return "it is not known whether the machine was started again since"
	case m.Boot != boot:
		return "the machine was started again since, and may have lost the end of the file"
	case m.Window > number:
		return fmt.Sprintf("the file of window %d is gone", m.Window)
	case m.Window == number && size < m.Bytes && !complete:
		return fmt.Sprintf("its file has %d bytes, and had %d", size, m.Bytes)
	}
	return ""
}

// marker counts what is written to the file of a window, and keeps its mark.
type marker struct {
	file *os.File
	mark openMark
}

// newMarker begins the marks of a process. Where nothing names the time since the machine was started, no mark helps.
func newMarker(dir string) (*marker, error) {
	path, boot := filepath.Join(dir, openFile), bootID()
	if boot == "" {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		return &marker{}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	return &marker{f, openMark{Boot: boot}}, err
}

// begin says that a window is written from now on, and how much is in its file.
func (m *marker) begin(window int, bytes int64) error {
	m.mark.Window, m.mark.Bytes = window, bytes
	if m.file == nil {
		return nil
	}
	text := m.mark.String()
	if _, err := m.file.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	return m.file.Truncate(int64(len(text))) // another process may have left a longer one
}

// Write implements io.Writer: b is in the file.
func (m *marker) Write(b []byte) (int, error) {
	m.mark.Bytes += int64(len(b))
	if m.file == nil || m.mark.Window == 0 {
		return len(b), nil
	}
	if _, err := m.file.WriteAt([]byte(m.mark.String()), 0); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (m *marker) close() {
	if m.file != nil {
		m.file.Close()
	}
}
