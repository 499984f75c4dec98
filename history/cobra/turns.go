package cobra

import (
	"bufio"
	"io"
	"io/fs"

	"github.com/isohound/isohound/history"
)

// turn is a log that is read in turn with others: what a Reader has about the log in progress.
type turn struct {
	logs        []logFile // this one, or none when it has ended
	log, latest *log
	buffer      *bufio.Reader
	file        io.Closer
	begun       bool
	rec         history.Record
	size        int64
}

// read is the share of the log that was read.
func (t *turn) read() float64 {
	if t.latest == nil {
		return 0
	}
	return float64(t.latest.after) / float64(max(t.size, 1))
}

// mostTurns bounds how many logs are open at once.
const mostTurns = 500

// Interleave makes the reader read all logs in turn, each as far as the others in proportion to its size. It must be called before the first
// Next. If there are more than 500 logs, it has no effect.
func (r *Reader) Interleave() {
	if len(r.logs) < 2 || len(r.logs) > mostTurns {
		return
	}
	for i := range r.logs {
		t := &turn{logs: r.logs[i : i+1 : i+1]}
		if st, err := fs.Stat(r.folder, r.logs[i].name); err == nil {
			t.size = st.Size()
		}
		r.turns = append(r.turns, t)
	}
	r.logs = nil
}

// inTurn reads a transaction of the log of which the least was read.
func (r *Reader) inTurn(rec *history.Record) error {
	for {
		var t *turn
		for _, other := range r.turns {
			if (len(other.logs) > 0 || other.log != nil) && (t == nil || other.read() < t.read()) {
				t = other
			}
		}
		if t == nil {
			return io.EOF
		}
		r.logs, r.log, r.latest, r.buffer, r.file, r.begun, r.rec = t.logs, t.log, t.latest, t.buffer, t.file, t.begun, t.rec
		err := r.next(rec)
		t.logs, t.log, t.latest, t.buffer, t.file, t.begun, t.rec = r.logs, r.log, r.latest, r.buffer, r.file, r.begun, r.rec
		r.logs, r.log, r.file = nil, nil, nil
		if err != io.EOF {
			return err
		}
	}
}
