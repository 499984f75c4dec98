package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/cheggaaa/pb/v3"
	"golang.org/x/term"

	"github.com/isohound/isohound/history/file"
)

// lineEvery is the interval of progress lines where a bar cannot be shown.
const lineEvery = 3 * time.Second

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

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

// checkProgress shows the progress of reading and judging a file.
type checkProgress struct {
	mu    sync.Mutex
	file  *file.File
	what  string
	bar   *pb.ProgressBar
	stop  func()
	total int64
}

// showAfter is the delay before a bar is shown, so that short checks show none.
const showAfter = 400 * time.Millisecond

func (a *app) showChecking(path string, c *checking) *checkProgress {
	p := &checkProgress{what: "reading", stop: func() {}}
	if c.quiet || c.noProgress {
		return p
	}
	begun := time.Now()
	if !isTerminal(a.msg) {
		p.stop = every(lineEvery, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			line := fmt.Sprintf("%4.0f s: %s: %s", time.Since(begun).Seconds(), printable(path), p.what)
			if n, total := p.read(); total > 0 && p.what == "reading" {
				line += fmt.Sprintf(", %d%%", 100*n/total)
			}
			fmt.Fprintln(a.msg, line)
		})
		return p
	}
	template := pb.ProgressBarTemplate(`checking {{ string . "text" }} {{ bar . }} {{ percent . }} {{ etime . }}`)
	p.stop = every(100*time.Millisecond, func() {
		if time.Since(begun) < showAfter {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		n, total := p.read()
		if p.bar == nil {
			p.bar = template.New(0).SetWriter(a.msg).SetRefreshRate(100 * time.Millisecond).Start()
		}
		// Judging takes less time than reading, and counts as the last tenth.
		p.bar.SetTotal(max(total+total/9, 1)).SetCurrent(n).Set("text", p.what)
	})
	return p
}

// read returns how many bytes of the file were read, and its size, 0 if unknown.
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

// pause removes the bar, so that a result can be printed.
func (p *checkProgress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Set(pb.CleanOnFinish, true).Finish()
		p.bar = nil
	}
}

func (p *checkProgress) done() {
	p.stop()
	p.pause()
}
