// Package sqlreplay executes the SQL of a reproduction folder in tests, as its head says: with a client for each session,
// statement by statement.
package sqlreplay

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A statement of which the file says that it waits has patience to end anyway. Another one counts as waiting after
// longPatience. Both have that long to go on when a lock is released, and at the end. Machines may be slow.
const patience, longPatience = 700 * time.Millisecond, 20 * time.Second

// Result says what the execution of a file did.
type Result struct {
	// Claims: the head says that each read returns what was recorded.
	Claims bool
	// Reads is how many statements told what they return, Wrong what was different, and Waited which statements waited.
	Reads         int
	Wrong, Waited []string
}

// Shows reports whether each read returned what was recorded, and nothing failed.
func (r *Result) Shows() bool { return len(r.Wrong) == 0 }

// claims reports whether the head of a file says that each read returns what was recorded.
func claims(file string) bool {
	return strings.Contains(file, "In this order each read returns what was recorded") && !strings.Contains(file, "It does not show the violation by itself")
}

type statement struct {
	sql, returned string
	checked       bool
	rows          [][]string
	err           error
}

type session struct {
	todo chan *statement
	done chan *statement
	gone chan struct{}
	open int
}

var returned = regexp.MustCompile(`^(.*); -- (?:waits; then )?returned (.*)$`)

// ends matches the end of a transaction, which releases locks.
var ends = regexp.MustCompile(`^(?:COMMIT|ROLLBACK)\b`)

var heading = regexp.MustCompile(`^-- session (\d+), `)

// Client is a connection to a database.
type Client interface {
	// Query executes a statement, and returns what it returned as texts.
	Query(ctx context.Context, sql string) ([][]string, error)
	Close()
}

// Run executes a file in a database that has none of its tables.
func Run(ctx context.Context, connect func(context.Context) (Client, error), file string) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &Result{Claims: claims(file)}
	sessions := map[string]*session{}
	defer func() {
		for _, s := range sessions {
			close(s.todo)
		}
	}()
	number, freed := "0", time.Duration(0)
	var after []string
	for line := range strings.SplitSeq(file, "\n") {
		switch m := heading.FindStringSubmatch(line); {
		case m != nil:
			number = m[1]
			continue
		case line == "-- afterwards":
			number = ""
			continue
		case line == "" || strings.HasPrefix(line, "-- "):
			continue
		case number == "":
			after = append(after, line)
			continue
		}
		for _, o := range sessions { // those that waited go on first
			o.wait(r, freed)
		}
		freed = 100 * time.Millisecond
		if ends.MatchString(line) {
			freed = patience
		}
		s := sessions[number]
		if s == nil {
			c, err := connect(ctx)
			if err != nil {
				return nil, err
			}
			s = &session{todo: make(chan *statement, 1000), done: make(chan *statement, 1000), gone: make(chan struct{})}
			sessions[number] = s
			go s.run(ctx, c)
		}
		x := &statement{sql: line}
		x.sql, _, _ = strings.Cut(line, "; -- waits")
		if m := returned.FindStringSubmatch(line); m != nil {
			x.sql, x.returned, x.checked = m[1], m[2], true
		}
		s.todo <- x
		s.open++
		long := longPatience
		if strings.Contains(line, "; -- waits") {
			long = patience
		}
		if !s.wait(r, long) {
			r.Waited = append(r.Waited, "session "+number+": "+line)
		}
	}
	for number, s := range sessions {
		if !s.wait(r, longPatience) {
			r.Wrong = append(r.Wrong, "session "+number+" still waits")
		}
	}
	clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer stop()
	cancel()
	for number, s := range sessions { // ends what is open
		close(s.todo)
		delete(sessions, number)
		<-s.gone
	}
	c, err := connect(clean)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, line := range after {
		if _, err := c.Query(clean, strings.TrimSuffix(line, ";")); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	return r, nil
}

// run executes statements, and discards the connection at the end.
func (s *session) run(ctx context.Context, c Client) {
	defer close(s.gone)
	defer c.Close()
	for x := range s.todo {
		x.rows, x.err = c.Query(ctx, strings.TrimSuffix(x.sql, ";"))
		s.done <- x
	}
}

// wait waits until the session has executed all, and reports whether it has.
func (s *session) wait(r *Result, d time.Duration) bool {
	late := time.After(d)
	for s.open > 0 {
		select {
		case x := <-s.done:
			s.open--
			if x.checked {
				r.Reads++
			}
			if wrong := x.wrong(); wrong != "" {
				r.Wrong = append(r.Wrong, wrong)
			}
		case <-late:
			return false
		}
	}
	return true
}

var pair = regexp.MustCompile(`"(?:\w+)\(([^)]*)\)(?:\.\w+)?" = ("(?:[^"\\]|\\.)*"|-?\d+|null)`)

// wrong says what a statement did that was not recorded.
func (x *statement) wrong() string {
	if x.err != nil {
		return fmt.Sprintf("%s: %v", x.sql, x.err)
	}
	if !x.checked {
		return ""
	}
	differs := fmt.Sprintf("%s: returned %q, expected %s", x.sql, x.rows, x.returned)
	if x.returned == "no row" {
		if len(x.rows) > 0 {
			return differs
		}
		return ""
	}
	if other, ok := strings.CutPrefix(x.returned, "something other than "); ok {
		if len(x.rows) == 1 && strings.Join(x.rows[0], ",") == content(other) {
			return differs
		}
		return ""
	}
	pairs := pair.FindAllStringSubmatch(x.returned, -1)
	leftOut := strings.HasSuffix(x.returned, "rows that are left out here")
	if len(pairs) == 0 && !leftOut { // one item, or a number
		if before, _, ok := strings.Cut(x.returned, ", of "); ok {
			n, err := strconv.Atoi(before)
			if err != nil || len(x.rows) != 1 {
				return differs
			}
			if got, err := strconv.Atoi(x.rows[0][0]); err != nil || got > n {
				return differs
			}
			return ""
		}
		value, _, _ := strings.Cut(x.returned, "; ")
		if len(x.rows) != 1 || strings.Join(x.rows[0], ",") != content(value) {
			return differs
		}
		return ""
	}
	rows := map[string]bool{}
	for _, p := range pairs {
		found := false
		for _, r := range x.rows {
			text := strings.Join(r, ",")
			key := plain(p[1])
			if strings.HasPrefix(text, key+",") && strings.Contains(text[len(key):]+",", ","+content(p[2])+",") {
				found = true
				rows[text] = true
			}
		}
		if !found {
			return differs
		}
	}
	if !leftOut && len(rows) != len(x.rows) {
		return differs
	}
	return ""
}

// content is a value as the columns of a row.
func content(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		return value
	}
	return plain(text)
}

// plain is a tuple without the quotes of texts.
func plain(tuple string) string { return strings.ReplaceAll(tuple, "'", "") }
