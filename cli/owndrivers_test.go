//go:build !front

package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
)

// own is a driver of somebody else, which does what its name says.
type own struct {
	drivers.Driver
	info drivers.Info
}

func init() { ownOptions = ownDrivers }

// ownDrivers are in the process that a test starts with ISOHOUND_MAIN=own.
func ownDrivers() []Option {
	base, err := drivers.Find("bbolt")
	if err != nil {
		panic(err)
	}
	var out []Option
	for name, iso := range map[string]drivers.Isolation{
		"panics": {Name: "serializable", Promises: "ser"}, "odd": {Name: "serializable", Promises: "foo"},
	} {
		info := drivers.Info{Name: name, Title: name, Embedded: true, Isolations: []drivers.Isolation{iso}, Can: []drivers.Capability{drivers.Transactions}, Blind: true}
		out = append(out, WithDriver(own{base, info}))
	}
	return out
}

func (o own) Info() drivers.Info { return o.info }

func (o own) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	cfg.Isolation = o.Driver.Info().Isolations[0].Name
	db, err := o.Driver.Open(ctx, cfg)
	return ownDB{db}, err
}

type ownDB struct{ drivers.DB }

func (d ownDB) Connect(ctx context.Context) (drivers.Session, error) {
	s, err := d.DB.Connect(ctx)
	return ownSession{s}, err
}

type ownSession struct{ drivers.Session }

func (s ownSession) Begin(ctx context.Context) (drivers.Tx, error) {
	tx, err := s.Session.Begin(ctx)
	return ownTx{tx}, err
}

type ownTx struct{ drivers.Tx }

func (ownTx) Commit(context.Context) error { panic("oh, a commit") }

// TestOwnDrivers: a panic of a driver's session is an internal error with its stack, although others wait for what it holds. What a
// driver says of itself is checked in one line, before anything is done.
func TestOwnDrivers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		driver string
		code   exitCode
		want   []string
		lines  int
	}{
		{"panics", exitInternal, []string{"isohound: internal error: oh, a commit\n", "ownTx.Commit"}, 0},
		{"odd", exitUsage, []string{`isohound: driver odd, isolation "serializable": Promises: unknown level "foo"`}, 1},
	} {
		c := exec.Command(self, "run", "--driver", tc.driver, "--txns", "10", "--out", filepath.Join(t.TempDir(), "out"))
		c.Env = append(os.Environ(), "ISOHOUND_MAIN=own")
		out, _ := c.CombinedOutput()
		if code := exitCode(c.ProcessState.ExitCode()); code != tc.code || tc.lines > 0 && strings.Count(string(out), "\n") != tc.lines {
			t.Errorf("%s: %d\n%s", tc.driver, code, out)
		}
		for _, want := range tc.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: want %s\n%s", tc.driver, want, out)
			}
		}
	}
}
