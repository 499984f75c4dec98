package elle

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"sync"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/history/forms"
)

// Jepsen also writes histories as tables, and the same rows into its log, with tabs between
// process, type, function, value and error:
//
//	0  :invoke  :cas  [4 3]
//	INFO  jepsen.util - 0  :info  :cas  :timed-out
//
// Other lines of a log are skipped.

// row matches a line with an operation.
var row = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)(:?[\w.-]+)\t:(invoke|ok|fail|info)\t:([^\t]+)\t([^\t\r\n]*)`)
})

// jepsenLog matches the beginning of a log before there is any operation.
var jepsenLog = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\n]*\bjepsen\.`) })

// Table reports whether head, the beginning of a file, looks like a table.
func Table(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return len(head) > 0 && bytes.IndexByte([]byte("[({#;"), head[0]) < 0 && (row().Match(head) || jepsenLog().Match(head))
}

// tables converts a table to EDN and passes all other input on unchanged.
type tables struct {
	src  *bufio.Reader
	rows *bufio.Scanner // nil if the input is not a table
	line bytes.Buffer
	seen bool
}

// tableHead is how many bytes of a file are searched for a table.
const tableHead = 4 << 10

func newTables(r io.Reader) io.Reader { return &tables{src: bufio.NewReaderSize(r, tableHead)} }

func (t *tables) Read(b []byte) (int, error) {
	if !t.seen {
		t.seen = true
		if head, _ := t.src.Peek(tableHead); Table(head) { // Read returns the error again
			t.rows = bufio.NewScanner(t.src)
			t.rows.Buffer(nil, forms.MaxToken)
		}
	}
	if t.rows == nil {
		return t.src.Read(b)
	}
	for t.line.Len() == 0 {
		if !t.rows.Scan() {
			if err := t.rows.Err(); err != nil {
				return 0, errors.Wrap(err, "line of a table")
			}
			return 0, io.EOF
		}
		t.row(t.rows.Bytes())
	}
	return t.line.Read(b)
}

// row turns a row into a map on its own line, so that line numbers stay the same. It keeps the
// values of :invoke and :ok rows; other rows have errors in their place.
func (t *tables) row(line []byte) {
	if m := row().FindSubmatch(line); m != nil {
		process, outcome, f, value := m[1], m[2], m[3], m[4]
		for _, s := range [][]byte{[]byte("{:process "), process, []byte(" :type :"), outcome, []byte(" :f :"), f} {
			t.line.Write(s)
		}
		if s := string(outcome); string(process) != ":"+nemesis && (s == "invoke" || s == "ok") {
			t.line.WriteString(" :value ")
			t.line.Write(value)
		}
		t.line.WriteByte('}')
	}
	t.line.WriteByte('\n')
}
