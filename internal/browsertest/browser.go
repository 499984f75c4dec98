// Package browsertest checks pages in a real browser: Chromium, headless, without a network. A
// missing browser is a failure, not a skip.
package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds one check of a page, so that a browser that hangs fails the test.
const patience = 2 * time.Minute

// screenshots, if set, is the folder where every check saves a picture of the page.
var screenshots = os.Getenv("ISOHOUND_SCREENSHOTS")

//go:embed probe.js
var probe string

// Browser is a running Chromium with one tab.
type Browser struct{ ctx context.Context }

// Start starts a browser, which is stopped at the end of the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"),
		chromedp.NoSandbox, // required by Chromium when it runs as root
		chromedp.DisableGPU,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); stop() })
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("cannot start chromium, which Debian has as a package of this name: %v", err)
	}
	return &Browser{ctx}
}

// View is a way to display a page.
type View struct {
	Width int64 // in CSS pixels
	Dark  bool
	Print bool
	// NoScript switches the page's own scripts off.
	NoScript bool
}

// Views are the displays in which every page must look right.
var Views = []View{{Width: 1200}, {Width: 1200, Dark: true}, {Width: 400}, {Width: 400, Dark: true}, {Width: 800, Dark: true, Print: true}}

func (v View) String() string {
	name := fmt.Sprintf("%d", v.Width)
	for _, w := range []struct {
		on   bool
		word string
	}{{v.Dark, "-dark"}, {v.Print, "-print"}, {v.NoScript, "-noscript"}} {
		if w.on {
			name += w.word
		}
	}
	return name
}

// Seen is the result of probe.js for a page.
type Seen struct {
	ScrollWidth, InnerWidth float64
	// Faint are texts with a contrast below 4.5 to 1.
	Faint []string
	// Squeezed are texts in columns so narrow that words break into letters.
	Squeezed []string
	// Pictures are the sizes of all SVGs, as width and height.
	Pictures [][2]float64
	// Overlaps are pairs of overlapping texts in one picture, Cut the texts that extend beyond
	// the picture, Tiny the texts under 8 pixels.
	Overlaps, Cut, Tiny []string
	// Sections are the ids of sections in order, or the classes of sections without an id.
	Sections []string
}

// Look opens the file at path, runs the actions, and returns what was seen. It fails the test if
// the page reports an error, loads anything but itself, or has a visible defect: text that is
// faint, cut or covered, a page wider than its window, an empty picture.
func (b *Browser) Look(t testing.TB, path string, v View, actions ...chromedp.Action) *Seen {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	page := (&url.URL{Scheme: "file", Path: abs}).String()
	c := complaints{page: page}
	chromedp.ListenTarget(ctx, c.listen)
	media := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme(v.Dark)}})
	if v.Print {
		media = media.WithMedia("print")
	}
	var text string
	all := append([]chromedp.Action{
		network.Enable(), log.Clear(), log.Enable(),
		emulation.SetDeviceMetricsOverride(v.Width, 900, 1, false), media,
		emulation.SetScriptExecutionDisabled(v.NoScript),
		chromedp.Navigate(page),
	}, actions...)
	all = append(all, chromedp.Evaluate(probe, &text))
	if screenshots != "" {
		all = append(all, chromedp.ActionFunc(func(ctx context.Context) error { return shoot(ctx, path, v) }))
	}
	if err := chromedp.Run(ctx, all...); err != nil {
		t.Fatalf("%s at %s: %v", path, v, err)
	}
	seen := &Seen{}
	if err := json.Unmarshal([]byte(text), seen); err != nil {
		t.Fatal(err)
	}
	for _, problem := range append(c.all(), seen.problems()...) {
		t.Errorf("%s at %s: %s", filepath.Base(path), v, problem)
	}
	return seen
}

func scheme(dark bool) string {
	if dark {
		return "dark"
	}
	return "light"
}

// problems lists defects that no page may have.
func (s *Seen) problems() []string {
	var all []string
	if s.ScrollWidth > s.InnerWidth {
		all = append(all, fmt.Sprintf("the page is %v pixels wide in a window of %v", s.ScrollWidth, s.InnerWidth))
	}
	for n, p := range s.Pictures {
		if p[0] < 40 || p[1] < 40 {
			all = append(all, fmt.Sprintf("picture %d is %v by %v pixels", n+1, p[0], p[1]))
		}
	}
	for what, texts := range map[string][]string{"faint": s.Faint, "covers each other": s.Overlaps, "cut": s.Cut, "tiny": s.Tiny, "squeezed": s.Squeezed} {
		for n, text := range texts {
			if n == 5 {
				break
			}
			all = append(all, what+": "+text)
		}
	}
	return all
}

// complaints are the errors that a page reports and the requests that it makes.
type complaints struct {
	page string
	mu   sync.Mutex
	list []string
}

func (c *complaints) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}

func (c *complaints) listen(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			c.list = append(c.list, fmt.Sprintf("console %s: %s", e.Type, e.Args[0].Value))
		}
	case *runtime.EventExceptionThrown:
		c.list = append(c.list, "exception: "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		c.list = append(c.list, fmt.Sprintf("log %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		if u, _, _ := strings.Cut(e.Request.URL, "#"); u != c.page && !strings.HasPrefix(u, "data:") {
			c.list = append(c.list, "request of "+u)
		}
	}
}

// shoot saves a picture of the whole page.
func shoot(ctx context.Context, path string, v View) error {
	var png []byte
	if err := chromedp.FullScreenshot(&png, 100).Do(ctx); err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.Trim(filepath.Base(filepath.Dir(path))+"-"+filepath.Base(path), "/"), ".", "-")
	return os.WriteFile(filepath.Join(screenshots, name+"-"+v.String()+".png"), png, 0o644)
}
