package results

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history"
	"github.com/isohound/isohound/history/dsl"
	"github.com/isohound/isohound/history/fit"
	"github.com/isohound/isohound/history/native"
)

// partOfWindow is the comment at the beginning of a part of a later window in the DSL, which does not say that it is one. It is ""
// for other histories.
func partOfWindow(h *history.History) string {
	if h.Window == nil {
		return ""
	}
	text := fmt.Sprintf(`# This is a part of window %d of a run. The initial values are those at the cut before it. So a value that
# nobody here wrote may be of an earlier window, although a check of this file calls a read of it a ThinAirRead, and
# violations of weak levels other than cc need not be violations by the run.
`, h.Window.Number)
	for i := range h.Txns {
		certain, settled := h.Window.Settled[h.Txns[i].ID]
		if !settled || h.Txns[i].Status != history.Aborted {
			continue
		}
		did := "took effect"
		if !certain {
			did = "may have taken effect"
		}
		text += fmt.Sprintf("# The outcome of T%d was not reported. It %s in an earlier window, and counts as aborted here.\n", h.Txns[i].ID, did)
	}
	return text
}

// portable writes a history in the DSL, or, if that cannot carry all of it, in the native
// format.
func portable(h *history.History, name string) (file string, text []byte, err error) {
	fits, losses, _, err := fit.To(h, dsl.Carries()) // h itself if nothing needs to change
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if len(losses) == 0 && fits == h {
		b.WriteString(partOfWindow(h))
		for i := range h.Txns {
			if id := h.DBTxn(i); id != 0 {
				fmt.Fprintf(&b, "# T%d is the database's transaction %d\n", h.Txns[i].ID, id)
			}
		}
		b.WriteString(dsl.Format(h))
		return name + ".txt", b.Bytes(), nil
	}
	err = native.WritePlain(&b, h, "part of a history")
	return name + ".jsonl", b.Bytes(), err
}

// keepHistory puts the whole history into the folder, as a hard link if the file system supports
// it, and reports whether it is there.
func keepHistory(dir, out, name string) (bool, error) {
	from, to := filepath.Join(dir, name), filepath.Join(out, filepath.Base(name))
	st, err := os.Stat(from)
	if err != nil {
		return false, errors.WithStack(err)
	}
	if st.Size() > maxHistory {
		return false, nil
	}
	if os.Link(from, to) == nil {
		return true, nil
	}
	return true, copyTail(from, to, maxHistory)
}

// copyTail copies the last bytes of a file, at most limit of them.
func copyTail(from, to string, limit int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return errors.Errorf("%s is not a file", from)
	}
	if st.Size() > limit {
		if _, err := in.Seek(st.Size()-limit, io.SeekStart); err != nil {
			return err
		}
	}
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.LimitReader(in, limit))
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}

// attach copies the attached files and lists those that could not be copied.
func (p *Repro) attach(out string) (kept, missing []string) {
	if len(p.Attach) == 0 {
		return nil, nil
	}
	folder := filepath.Join(out, logsFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, []string{err.Error()}
	}
	for _, path := range p.Attach {
		name := filepath.Base(path)
		for n := 2; slices.Contains(kept, name); n++ {
			name = fmt.Sprintf("%d-%s", n, filepath.Base(path))
		}
		if err := copyTail(path, filepath.Join(folder, name), maxLog); err != nil {
			missing = append(missing, err.Error())
			continue
		}
		kept = append(kept, name)
	}
	return kept, missing
}
