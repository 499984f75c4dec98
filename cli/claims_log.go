//go:build !front

package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/file"
	joining "github.com/isohound/isohound/history/join"
)

// commitLog joins the order of commits, which a log of the server tells, to the history of a run.
type commitLog struct {
	app   *app
	db    drivers.Logger
	quiet bool

	mu    sync.Mutex
	got   *drivers.Commits // what was read and not joined yet
	lost  error            // the log ended
	tally joining.Tally    // of all files
	none  int              // files without positions
}

// openLog makes the server keep a log of commits, if that is wanted and possible. Else it returns nil.
func (a *app) openLog(s *settings, db drivers.DB) (*commitLog, error) {
	if !s.wantsLog() {
		return nil, nil
	}
	l := &commitLog{app: a, db: db.(drivers.Logger), quiet: s.quiet}
	why := l.db.Log(a.stop)
	switch {
	case why == "":
		return l, nil
	case a.stop.Err() != nil:
		return nil, errInterrupted
	case s.claims == "require":
		return nil, usage("--claims require: %s does not tell in which order transactions committed: %s", db.Server(), why)
	}
	l.untold(why)
	return nil, nil
}

func (l *commitLog) untold(why string) {
	fmt.Fprintf(l.app.msg, "isohound: the order of the commits is not recorded: %s\n", why)
}

// logPoll is how often the log is read while a run is recorded in windows, so that little is left to read while the sessions
// wait for a cut.
const logPoll = time.Second

// follow reads the log until end is called.
func (l *commitLog) follow() (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(logPoll):
				l.mu.Lock()
				l.read()
				l.mu.Unlock()
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// read adds what is new to what was read.
func (l *commitLog) read() {
	if l.lost != nil {
		return
	}
	c, err := l.db.Commits(l.app.ctx)
	switch {
	case err != nil:
		l.lost = err
	case l.got == nil:
		l.got = c
	default:
		maps.Copy(l.got.At, c.At)
	}
}

// join writes a complete history again, with the positions of its commits, and returns the digest of the new file, or "" if the
// file stays as it was. If that fails it tells why.
func (l *commitLog) join(path string) (digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	commits := l.got
	l.got = nil
	if l.lost != nil {
		l.untold(l.lost.Error())
	}
	if commits == nil {
		l.none++
		return ""
	}
	digest, tally, err := l.app.rewriteWith(commits, path)
	if err != nil {
		l.untold(err.Error())
		l.none++
		return ""
	}
	l.tally.Add(tally)
	return digest
}

// renew begins a log that was lost anew, for the next file.
func (l *commitLog) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil && l.db.Log(l.app.ctx) == "" {
		l.lost = nil
	}
}

// tell says, after the last file, what was joined.
func (l *commitLog) tell() {
	if l == nil || l.quiet {
		return
	}
	if l.tally == (joining.Tally{}) {
		if l.none > 1 { // of one, the reason was told
			fmt.Fprintf(l.app.msg, "of none of %s positions are recorded\n", plural(l.none, "window"))
		}
		return
	}
	for _, w := range l.tally.Words() {
		fmt.Fprintln(l.app.msg, w)
	}
	if l.none > 0 {
		fmt.Fprintf(l.app.msg, "that is without %s, of which no positions are recorded\n", plural(l.none, "window"))
	}
}

func (a *app) rewriteWith(commits *drivers.Commits, path string) (digest string, tally joining.Tally, err error) {
	f, err := a.openHistory(a.ctx, path, file.Native)
	if err != nil {
		return "", tally, err
	}
	defer f.Close()
	joined, err := joining.New(f.Source, joining.Of(commits.Positions, commits.At, commits.Short))
	if err != nil {
		return "", tally, err
	}
	f.Source = joined
	next := path + ".joining"
	os.Remove(next) // that of a killed process
	w, err := createHistory(next)
	if err != nil {
		return "", tally, err
	}
	sum := sha256.New()
	err = file.WriteNative(a.ctx, io.MultiWriter(w, sum), f, strings.HasSuffix(path, ".zst"), false)
	if cerr := w.Close(); err == nil {
		err = errors.WithStack(cerr)
	}
	if err == nil {
		err = errors.WithStack(os.Rename(next, path))
	}
	if err != nil {
		os.Remove(next)
	}
	return hex.EncodeToString(sum.Sum(nil)), joined.Tally(), err
}
