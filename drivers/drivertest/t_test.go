package drivertest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/bbolt"
	"github.com/isohound/isohound/drivers/drivertest"
)

// broken is bbolt with something wrong.
type broken struct {
	drivers.Driver
	blind bool // what it says of itself
	open  func() error
}

func (b broken) Info() drivers.Info {
	i := b.Driver.Info()
	i.Blind = b.blind
	return i
}

func (b broken) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	if b.open != nil {
		if err := b.open(); err != nil {
			return nil, err
		}
	}
	return b.Driver.Open(ctx, cfg)
}

// TestVerify: outside go test the same checks pass and fail, and a failure or a panic of one does not end the others.
func TestVerify(t *testing.T) {
	bbolt, err := drivers.Find("bbolt")
	if err != nil {
		t.Fatal(err)
	}
	verify := func(d drivers.Driver) (ok, failed int, text string) {
		drivertest.Verify(d, "", func(c drivertest.Checked) {
			if len(c.Failures) == 0 {
				ok++
			} else {
				failed++
			}
			text += c.Name + ": " + strings.Join(c.Failures, "; ") + "\n"
		})
		return ok, failed, text
	}
	if ok, failed, text := verify(broken{bbolt, true, nil}); ok != 9 || failed > 0 {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
	if ok, failed, text := verify(broken{bbolt, false, nil}); ok != 8 || failed != 1 || !strings.Contains(text, "keys: values: update of an absent key: true") {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
	if ok, failed, text := verify(broken{bbolt, true, func() error { return context.Canceled }}); ok > 0 || failed < 4 || !strings.Contains(text, "context canceled") {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
	if ok, failed, text := verify(broken{bbolt, true, func() error { panic("oh") }}); ok > 0 || failed < 4 || !strings.Contains(text, "panic: oh") {
		t.Errorf("%d, %d: %s", ok, failed, text)
	}
}
