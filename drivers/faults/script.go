// Package faults disturbs a database according to a script. Answers are delayed, connections end or
// are reset, new ones are refused: for that it is a proxy between a driver and its server on loopback,
// and does not depend on a protocol. It also has a server killed or paused, and runs commands.
package faults

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// Action is what an event does to connections.
type Action string

// The actions.
const (
	// Latency delays each answer.
	Latency Action = "latency"
	// Cut ends connections like a server that shuts down.
	Cut Action = "cut"
	// Reset ends connections like a broken network: data in transit is lost, including data that
	// the client has received but not yet read.
	Reset Action = "reset"
	// Kill kills the server like a crash, and starts it again.
	Kill Action = "kill"
	// Pause stops the server's processes for a moment.
	Pause Action = "pause"
	// Fill leaves the server's disk no free space for a while.
	Fill Action = "fill"
	// Exec runs a command of the user.
	Exec Action = "exec"
)

// Connections reports whether the action is one on connections, and needs a driver that has them.
func (a Action) Connections() bool { return a == Latency || a == Cut || a == Reset }

// Server reports whether the action is one on a server, which isohound must have started.
func (a Action) Server() bool { return a == Kill || a == Pause || a == Fill }

// Event is one line of a script.
type Event struct {
	// At is the time since the sessions started.
	At     time.Duration
	Action Action
	// Delay is the delay of Latency, Jitter its maximum variation in either direction.
	Delay, Jitter time.Duration
	// Node is the endpoint, from 1. 0 is all of them, for Kill and Pause the one that a cluster chooses.
	Node int
	// For is the duration. During it, connections that were cut or reset cannot be opened again.
	// A killed server starts again after it, a paused one goes on, and a full disk has space again.
	// 0: latency lasts until the end; other events are instantaneous.
	For time.Duration
	// Backends says that Pause stops one process of a session at a time, drawn at random, and not the
	// whole server.
	Backends bool
	// Function is a function of the server, or "". If it is named, processes of sessions stop for the time For whenever
	// they reach it, from At to the end.
	Function string
	// Standby says that Kill and Pause are about the standby of the server.
	Standby bool
	// Command is what Exec gives to sh -c.
	Command string
	// Every is the time from one beginning to the next, 0 if the event happens once.
	Every time.Duration
}

// String spells the event as Parse reads it.
func (e Event) String() string {
	s := e.At.String() + " " + string(e.Action)
	if e.Action == Latency {
		s += " " + e.Delay.String()
		if e.Jitter > 0 {
			s += " " + e.Jitter.String()
		}
	}
	if e.Standby {
		s += " standby"
	}
	if e.Action == Pause {
		if e.Backends {
			s += " backends"
		}
		s += " " + e.For.String()
		if e.Function != "" {
			s += " at " + e.Function
		}
	}
	if e.Action == Exec {
		s += " " + e.Command
	}
	if e.Node > 0 {
		s += " on " + strconv.Itoa(e.Node)
	}
	if e.For > 0 && e.Action != Pause {
		s += " for " + e.For.String()
	}
	if e.Every > 0 {
		s += " every " + e.Every.String()
	}
	return s
}

// Effect spells what the event does, without when it does it.
func (e Event) Effect() string {
	_, what, _ := strings.Cut(e.String(), " ")
	if e.Every > 0 {
		what = strings.TrimSuffix(what, " every "+e.Every.String())
	}
	return what
}

// Parse reads a script for a number of endpoints: events, separated by
// semicolons or line ends.
//
//	event  = time action { "on" number | "for" time | "every" time } .
//	action = "latency" time [ time ] | "cut" | "reset" | "kill" [ "standby" ] | "pause" [ "backends" | "standby" ] time | "pause" "backends" time "at" function | "fill" | "exec" word { word } .
//
// The words of exec reach to the end of the event, without a last "every" and time.
func Parse(script string, endpoints int) ([]Event, error) {
	var events []Event
	for _, text := range strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		p := &parser{words: words}
		e := p.event()
		if p.err == nil {
			p.err = e.check(endpoints)
		}
		if p.err != nil {
			return nil, errors.Errorf("%q: %v", strings.Join(words, " "), p.err)
		}
		events = append(events, e)
	}
	return events, nil
}

// functionName is that of a function in C, without what a debugger could take for something else.
var functionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (e *Event) check(endpoints int) error {
	switch {
	case e.Jitter > e.Delay:
		return errors.Errorf("a latency of %v cannot vary by %v", e.Delay, e.Jitter)
	case e.Action == Latency && e.Every > 0 && e.For == 0:
		return errors.New("a repeated latency needs an end: for, and a time")
	case e.Action == Fill && e.For == 0:
		return errors.New("a full disk needs an end: for, and a time")
	case e.Function != "" && (e.Every > 0 || e.Node > 0):
		return errors.New("processes stop whenever they reach the function, until the end, so every and on do not go with at")
	case e.Every > 0 && e.For >= e.Every:
		return errors.Errorf("a fault that lasts %v cannot begin every %v", e.For, e.Every)
	case e.Node > endpoints:
		return errors.Errorf("there is no endpoint %d", e.Node)
	case e.Node > 0 && e.Standby:
		return errors.New("the standby is no endpoint, so on does not go with it")
	}
	return nil
}

// parser reads the words of one event; it keeps the first error.
type parser struct {
	words []string
	err   error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *parser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

// word reads a word if it is the next one.
func (p *parser) word(w string) bool {
	if len(p.words) == 0 || p.words[0] != w {
		return false
	}
	p.next()
	return true
}

// duration reads a time, which must be positive unless zero is allowed.
func (p *parser) duration(what string, zero bool) time.Duration {
	w := p.next()
	d, err := time.ParseDuration(w)
	if err != nil || d < 0 || d == 0 && !zero {
		p.fail("expected %s, a time such as 1.5s or 20ms, not %q", what, w)
	}
	return d
}

func (p *parser) event() Event {
	e := Event{At: p.duration("when it begins", true)}
	switch e.Action = Action(p.next()); e.Action {
	case Latency:
		e.Delay = p.duration("how much later answers come", false)
		if len(p.words) > 0 && p.words[0][0] >= '0' && p.words[0][0] <= '9' {
			e.Jitter = p.duration("how much that varies", false)
		}
	case Cut, Reset, Fill:
	case Kill:
		e.Standby = p.word("standby")
	case Pause:
		if e.Backends = p.word("backends"); !e.Backends {
			e.Standby = p.word("standby")
		}
		e.For = p.duration("how long it lasts", false)
		if e.Backends && p.word("at") {
			if e.Function = p.next(); !functionName.MatchString(e.Function) {
				p.fail("expected the name of a function of the server after at, not %q", e.Function)
			}
		}
	case Exec:
		n := len(p.words)
		if n > 2 && p.words[n-2] == "every" {
			if _, err := time.ParseDuration(p.words[n-1]); err == nil {
				n -= 2
			}
		}
		e.Command = strings.Join(p.words[:n], " ")
		p.words = p.words[n:]
		if e.Command == "" {
			p.fail("expected a command after exec")
		}
	default:
		p.fail("expected %s, %s, %s, %s, %s, %s or %s, not %q", Latency, Cut, Reset, Kill, Pause, Fill, Exec, string(e.Action))
	}
	seen := map[string]bool{}
	for len(p.words) > 0 && p.err == nil {
		w := p.next()
		if seen[w] {
			p.fail("%q stands twice", w)
		}
		seen[w] = true
		if w == "for" && e.Action == Pause {
			p.fail("the time that a pause lasts stands after pause")
		}
		switch w {
		case "on":
			number := p.next()
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 {
				p.fail("expected the number of an endpoint, from 1, not %q", number)
			}
			e.Node = n
		case "for":
			e.For = p.duration("how long it lasts", false)
		case "every":
			e.Every = p.duration("when it begins again", false)
		default:
			p.fail("expected on, for or every, not %q", w)
		}
	}
	return e
}
