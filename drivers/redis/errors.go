package redis

import (
	"context"
	"strings"

	"github.com/gomodule/redigo/redis"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// answerError is a command that the server answered with an error.
type answerError struct {
	command string
	answer  redis.Error
}

func (e *answerError) Error() string { return e.command + ": " + string(e.answer) }

// notPrimary says that a server is a replica.
type notPrimary struct{ host string }

func (e *notPrimary) Error() string { return e.host + " is a replica, not the primary" }

// wrongServer says that a server is of no use.
type wrongServer struct{ text string }

func (e *wrongServer) Error() string { return e.text }

// answers are the errors with which Redis refuses a command before it executes it, by their first word.
// All are definite: in answer to EXEC, too, nothing was written. After a broken one the session connects again,
// and finds another primary.
var answers = map[string]struct {
	class  drivers.Class
	broken bool
}{
	"BUSY":       {drivers.Aborted, false}, // a script of somebody runs
	"NOREPLICAS": {drivers.Aborted, false}, // min-replicas-to-write
	"TRYAGAIN":   {drivers.Aborted, false},
	"LOADING":    {drivers.Aborted, true},
	"READONLY":   {drivers.Aborted, true}, // it has become a replica
	"MASTERDOWN": {drivers.Aborted, true},
	misconf:      {drivers.Aborted, true},

	"OOM":         {drivers.Fatal, true}, // maxmemory
	"NOAUTH":      {drivers.Fatal, true},
	"WRONGPASS":   {drivers.Fatal, true},
	"NOPERM":      {drivers.Fatal, true},
	"NOPROTO":     {drivers.Fatal, true},
	"DENIED":      {drivers.Fatal, true}, // protected mode
	"WRONGTYPE":   {drivers.Fatal, true}, // somebody else has changed the run's keys
	"MOVED":       {drivers.Fatal, true}, // a cluster
	"ASK":         {drivers.Fatal, true},
	"CROSSSLOT":   {drivers.Fatal, true},
	"CLUSTERDOWN": {drivers.Fatal, true},
	"ERR":         {drivers.Fatal, true}, // unknown commands, wrong numbers of databases
	"EXECABORT":   {drivers.Aborted, false},
}

// misconf: it cannot write to its disk.
const misconf = "MISCONF"

const tooMany = "ERR max number of clients reached"

// code is the first word of an error.
func code(answer redis.Error) string {
	word, _, _ := strings.Cut(string(answer), " ")
	return word
}

// reason is the error because of which a transaction was discarded, if it is known.
func reason(answer redis.Error) redis.Error {
	if _, why, ok := strings.Cut(string(answer), "discarded because of: "); ok && code(answer) == "EXECABORT" {
		return redis.Error(strings.TrimPrefix(why, "-"))
	}
	return answer
}

// answered classifies an answer that is an error, to a command that had no effect if the answer is known.
func answered(command string, answer redis.Error, otherwise drivers.Class) *drivers.Error {
	err := &answerError{command, answer}
	word := code(answer)
	if strings.HasPrefix(string(answer), tooMany) {
		return &drivers.Error{Class: drivers.Aborted, Cause: "too many clients", Broken: true, Full: true, Err: err}
	}
	a, known := answers[word]
	if !known {
		return &drivers.Error{Class: otherwise, Cause: "error " + word, Broken: true, Err: err}
	}
	return &drivers.Error{Class: a.class, Cause: word, Broken: a.broken, NoSpace: word == misconf, Err: err}
}

// statementError classifies an error of commands that wrote nothing.
func statementError(err error) error { return classify(err, drivers.Aborted) }

// writeError classifies an error of a single command that writes.
func writeError(err error) error { return classify(err, drivers.OutcomeUnknown) }

// classify classifies an error. An error of the connection before anything was sent is an abort.
func classify(err error, otherwise drivers.Class) error {
	if err == nil {
		return nil
	}
	var done *drivers.Error
	if errors.As(err, &done) {
		return err
	}
	var answer *answerError
	if errors.As(err, &answer) {
		return answered(answer.command, answer.answer, otherwise)
	}
	var lost *lostError
	if errors.As(err, &lost) && !lost.sent {
		otherwise = drivers.Aborted
	}
	return &drivers.Error{Class: otherwise, Cause: cause(err), Broken: true, Err: err}
}

// connectError classifies an error of connecting.
func connectError(err error) error {
	e := drivers.AsError(statementError(err))
	e.Broken = true
	var wrong *wrongServer
	var replica *notPrimary
	switch {
	case errors.As(err, &wrong):
		e.Class, e.Cause = drivers.Fatal, "wrong kind of server"
	case errors.As(err, &replica):
		e.Cause = "no primary"
	}
	return e
}

// cause names an error of the connection.
func cause(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return "call timed out"
	}
	return "connection lost"
}

// refused reports whether the server refused a command to this user, or does not have it.
func refused(err error) bool {
	var answer *answerError
	return errors.As(err, &answer) && (code(answer.answer) == "NOPERM" || code(answer.answer) == "ERR")
}

// fatal reports whether it is useless to try another server.
func fatal(err error) bool {
	var answer *answerError
	return errors.As(err, &answer) && answered("", answer.answer, drivers.Aborted).Class == drivers.Fatal
}
