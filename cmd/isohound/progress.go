package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/isohound/isohound/history/file"
)

// lineEvery is how often a line tells about progress where no bar can.
const lineEvery = 3 * time.Second

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// barEvery is how often a bar is drawn.
const barEvery = 100 * time.Millisecond

// bar draws a line over itself, on a terminal. A library for that took a twelfth of the
// time that the program takes to start.
type bar struct{ out *os.File }

// draw shows how much of total n is, between two texts of ASCII.
func (b bar) draw(before string, n, total int64, after string) {
	share := float64(min(max(n, 0), total)) / float64(max(total, 1))
	width, _, err := term.GetSize(int(b.out.Fd()))
	if err != nil {
		width = 80
	}
	room := min(width-len(before)-len(after)-len(" []  100%  "), 50)
	line := fmt.Sprintf("%s %3.0f%% %s", before, 100*share, after)
	if room > 0 {
		full := int(share * float64(room))
		line = fmt.Sprintf("%s [%s%s] %3.0f%% %s", before, strings.Repeat("=", full), strings.Repeat(" ", room-full), 100*share, after)
	}
	fmt.Fprintf(b.out, "\r%s\033[K", line[:max(min(len(line), width-1), 0)])
}

// clear takes the line away.
func (b bar) clear() { fmt.Fprint(b.out, "\r\033[K") }

// every calls f at an interval until the returned function is called.
func every(d time.Duration, f func()) (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				f()
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// checkProgress shows how far the reading and judging of a file has come.
type checkProgress struct {
	mu    sync.Mutex
	file  *file.File
	what  string
	bar   bar
	shown bool // the bar is there
	stop  func()
}

// showAfter keeps short checks from flashing a bar.
const showAfter = 400 * time.Millisecond

func (a *app) showChecking(path string, c *checking) *checkProgress {
	p := &checkProgress{what: "reading", bar: bar{a.msg}, stop: func() {}}
	if c.quiet || c.noProgress {
		return p
	}
	begun := time.Now()
	if !isTerminal(a.msg) {
		p.stop = every(lineEvery, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			line := fmt.Sprintf("%4.0f s: %s: %s", time.Since(begun).Seconds(), path, p.what)
			if n, total := p.read(); total > 0 && p.what == "reading" {
				line += fmt.Sprintf(", %d%%", 100*n/total)
			}
			fmt.Fprintln(a.msg, line)
		})
		return p
	}
	p.stop = every(barEvery, func() {
		if time.Since(begun) < showAfter {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		n, total := p.read()
		// Judging takes less than reading, and counts as the last tenth.
		p.bar.draw("checking "+p.what, n, total+total/9, fmt.Sprintf("%.0f s", time.Since(begun).Seconds()))
		p.shown = true
	})
	return p
}

// read returns how many bytes of how many the file has given, 0 if unknown.
func (p *checkProgress) read() (n, total int64) {
	if p.file == nil {
		return 0, 0
	}
	return p.file.Progress()
}

func (p *checkProgress) reading(f *file.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.file = f
}

func (p *checkProgress) stage(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = name
}

// pause takes the bar away, so that a result can be printed.
func (p *checkProgress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.bar.clear()
		p.shown = false
	}
}

func (p *checkProgress) done() {
	p.stop()
	p.pause()
}
