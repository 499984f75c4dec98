package drivertest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/isohound/isohound/drivers"
)

// T is what the checks need of a *testing.T. Verify has another one, for databases that are not here.
type T interface {
	Helper()
	Cleanup(func())
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// sub runs a part of a check under a name.
func sub(t T, name string, part func(t T)) {
	switch t := t.(type) {
	case *testing.T:
		t.Run(name, func(t *testing.T) { part(t) })
	case *check:
		t.run(name, part)
	default:
		part(t)
	}
}

// Checked is the result of a check.
type Checked struct {
	Name string
	// Failures say what is wrong; none if the driver passed.
	Failures []string
}

// Verify checks a driver, at its default isolation, against the database at a DSN, outside go test: all that
// Run, Tables, Counting and Lightweight check, as far as the driver says that it can do it. done is called
// after each check.
func Verify(d drivers.Driver, dsn string, done func(Checked)) {
	info := d.Info()
	root := &check{done: done}
	for _, c := range []struct {
		name string
		need drivers.Capability
		run  func(T)
	}{
		{"keys", drivers.Transactions, func(t T) { Run(t, d, dsn, info.Blind) }},
		{"tables", drivers.Predicates, func(t T) { Tables(t, d, dsn) }},
		{"updates of tables", drivers.Predicates, func(t T) { Counting(t, d, dsn) }},
		{"lightweight transactions", drivers.Lightweight, func(t T) { Lightweight(t, d, dsn) }},
	} {
		if slices.Contains(info.Can, c.need) {
			root.run(c.name, c.run)
		}
	}
}

// check is a T that collects failures.
type check struct {
	name     string
	done     func(Checked)
	mu       sync.Mutex
	parts    bool // it has parts, which are told instead
	failures []string
	cleanups []func()
	panicked chan struct{} // closed by once, after a panic in one of its goroutines
	once     sync.Once
}

// run runs a part in its own goroutine, so that Fatal can end it, and tells its result.
func (c *check) run(name string, part func(T)) {
	p := &check{name: name, done: c.done, panicked: make(chan struct{})}
	if c.name != "" {
		p.name = c.name + ": " + name
	}
	c.mu.Lock()
	c.parts = true
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer p.clean()
		defer func() {
			if r := recover(); r != nil {
				p.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		part(p)
	}()
	select {
	case <-ended:
	case <-p.panicked: // what it has locked may keep the others waiting
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.parts || len(p.failures) > 0 {
		c.done(Checked{p.name, p.failures})
	}
}

// caught is deferred in goroutines of a check. Outside go test, a panic there must not end the process.
func caught(t T) {
	c, ok := t.(*check)
	if !ok {
		return
	}
	if r := recover(); r != nil {
		c.Errorf("panic: %v\n%s", r, debug.Stack())
		c.once.Do(func() { close(c.panicked) })
	}
}

func (c *check) clean() {
	for _, f := range slices.Backward(c.cleanups) {
		f()
	}
}

func (c *check) Helper()          {}
func (c *check) Cleanup(f func()) { c.cleanups = append(c.cleanups, f) }

func (c *check) Error(args ...any)                 { c.Errorf("%s", fmt.Sprint(args...)) }
func (c *check) Errorf(format string, args ...any) { c.fail(fmt.Sprintf(format, args...)) }

func (c *check) fail(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, text)
}

func (c *check) Fatal(args ...any) { c.Fatalf("%s", fmt.Sprint(args...)) }

func (c *check) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	runtime.Goexit()
}
