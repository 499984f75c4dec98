package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/pkg/errors"
)

// markdownTable writes a table whose columns are also aligned as text: the first left columns to
// the left, the others to the right.
func markdownTable(w io.Writer, left int, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, r := range rows {
		for i, cell := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < left {
				b.WriteString("| " + cell + pad + " ")
			} else {
				b.WriteString("| " + pad + cell + " ")
			}
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i, width := range widths {
			if i < left {
				b.WriteString("|" + strings.Repeat("-", width+2))
			} else {
				b.WriteString("|" + strings.Repeat("-", width+1) + ":")
			}
		}
		b.WriteString("|\n")
	}
	_, err := io.WriteString(w, b.String())
	return errors.WithStack(err)
}

// Table writes the measurements as Markdown tables, one for the graphs and one for the backends,
// with explanations of the figures.
func (c *Closures) Table(w io.Writer) error {
	graphs := [][]string{{"graph", "history", "level", "sessions", "transactions", "vertices", "edges", "longest path"}}
	rows := [][]string{{"graph", "backend", "chains", "closure s", "questions s", "insert s", "held", "of n² bits", "peak", "moved", "GB/s", "× bandwidth", "counted", "× bitset", "× with questions"}}
	questions, inserted := 0, 0
	var last *ClosureMeasurement
	number := 0
	for i := range c.Measurements {
		m := &c.Measurements[i]
		if last == nil || m.History != last.History || m.Level != last.Level || m.Sessions != last.Sessions || m.Vertices != last.Vertices || m.Edges != last.Edges {
			number++
			sessions := "n"
			if m.Sessions > 0 {
				sessions = humanize.Comma(int64(m.Sessions))
			}
			graphs = append(graphs, []string{fmt.Sprint(number), m.History, m.Level, sessions, humanize.Comma(int64(m.Txns)), humanize.Comma(int64(m.Vertices)),
				humanize.Comma(int64(m.Edges)), humanize.Comma(int64(m.LongestPath))})
		}
		last = m
		if m.Status == StatusUnavailable { // reported in a note
			continue
		}
		rows = append(rows, m.row(number))
		questions, inserted = max(questions, m.Questions), max(inserted, m.InsertedEdges)
	}
	if _, err := fmt.Fprintf(w, "Memory bandwidth: %s.\n\n", c.Bandwidth); err != nil {
		return errors.WithStack(err)
	}
	if err := markdownTable(w, 3, graphs); err != nil {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return errors.WithStack(err)
	}
	if len(rows) > 1 {
		if err := markdownTable(w, 2, rows); err != nil {
			return err
		}
	}
	if notes := c.notes(); len(notes) > 0 {
		if _, err := fmt.Fprintf(w, "\n%s\n", strings.Join(notes, "\n")); err != nil {
			return errors.WithStack(err)
		}
	}
	_, err := fmt.Fprintf(w, `
Seconds: the closure, its topological order included (median of %d); batch tests of %s edges; the insertion of %d edges at once.
Held: memory of the closure, on a GPU its GPU memory, too; of n² bits: that as a share of a full matrix; peak: growth of the process meanwhile.
%s
On a GPU the seconds of the closure include the transfer of the graph, and those of the questions the transfer of
the edges and answers; the matrix stays on the device, and opening the device does not count.
GB/s: bytes moved, divided by the seconds of the closure. × bandwidth: those seconds, divided by the time that the
memory needs for as many bytes at the bandwidth above (for a GPU, at its own). Counted: bytes of rows moved, counted by the backend.
× bitset: how many times as fast as bitset, with two goroutines where that was measured.
`, c.Repeat, humanize.Comma(int64(questions)), inserted, TrafficHelp)
	return errors.WithStack(err)
}

// remark is something to be said of several backends once.
type remark struct {
	names []string
	text  string
}

// remarked adds a remark about one backend.
func remarked(all []remark, name, text string) []remark {
	n := slices.IndexFunc(all, func(r remark) bool { return r.text == text })
	if n < 0 {
		return append(all, remark{[]string{name}, text})
	}
	if !slices.Contains(all[n].names, name) {
		all[n].names = append(all[n].names, name)
	}
	return all
}

// notes lists the reasons for missing figures, each once.
func (c *Closures) notes() []string {
	var missing []remark
	for i := range c.Measurements {
		if m := &c.Measurements[i]; m.Status != StatusDone {
			missing = remarked(missing, m.Backend, m.Status+": "+m.Reason)
		}
	}
	var out []string
	for _, r := range missing {
		out = append(out, strings.Join(r.names, " and ")+", "+r.text)
	}
	return out
}

// row is a measurement as a row of a table.
func (m *ClosureMeasurement) row(number int) []string {
	if m.Status != StatusDone {
		return append([]string{fmt.Sprint(number), m.Backend, "", m.Status}, make([]string, 11)...)
	}
	chains, counted := "", ""
	if m.Chains > 0 {
		chains = humanize.Comma(int64(m.Chains))
	}
	if m.OwnMoved > 0 {
		counted = size(m.OwnMoved)
	}
	speed := func(x float64) string {
		if x == 0 {
			return ""
		}
		return plain(x)
	}
	return []string{fmt.Sprint(number), m.Backend, chains, seconds(m.ClosureSeconds), seconds(m.QuestionSeconds), seconds(m.InsertSeconds), size(m.Held + m.Device),
		plain(100*m.Share) + " %", size(m.Peak), size(m.Moved), plain(m.Rate() / 1e9), fmt.Sprintf("%.2f", m.OfBandwidth), counted, speed(m.Speedup), speed(m.BothSpeedup)}
}

func seconds(x float64) string { return plain(x) }

// plain has three significant digits and, other than %.3g, never an exponent.
func plain(x float64) string {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64) // reads what it has written
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// size formats a number of bytes in decimal units.
func size(n int64) string { return humanize.Bytes(uint64(max(0, n))) }

// TimedOut reports whether a backend exceeded its time limit.
func (c *Closures) TimedOut() bool {
	for i := range c.Measurements {
		if c.Measurements[i].Status == StatusTimeout {
			return true
		}
	}
	return false
}

// Failed lists the backends that ended in an error.
func (c *Closures) Failed() []string {
	var out []string
	for i := range c.Measurements {
		if m := &c.Measurements[i]; m.Status == StatusFailed {
			out = append(out, fmt.Sprintf("%s: %s: %s", &m.GraphFacts, m.Backend, m.Reason))
		}
	}
	return out
}
