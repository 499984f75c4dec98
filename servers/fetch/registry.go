package fetch

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/pkg/errors"
)

const (
	// attempts is how often the registry is asked while it does not answer properly.
	attempts = 3
	// defaultPause is the time before the second attempt; it doubles.
	defaultPause = time.Second
	// defaultStall is how long the registry may send nothing.
	defaultStall = 30 * time.Second
)

// dist is where the registry has the archive of a package.
type dist struct {
	Tarball   string `json:"tarball"`
	Integrity string `json:"integrity"`
}

// statusError is an answer of the registry that is none.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string {
	if e.code == http.StatusUnauthorized || e.code == http.StatusForbidden {
		return e.text + ": the registry wants a login, which isohound does not send"
	}
	return e.text
}

// again reports whether another attempt may help.
func again(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.code >= 500 || status.code == http.StatusTooManyRequests
	}
	var broken *integrityError
	var disk *fs.PathError
	return !errors.As(err, &broken) && !errors.As(err, &disk)
}

// get gets an address, and hands what it has to read. It is repeated while the network fails.
func (f *Fetcher) get(ctx context.Context, address, accept string, read func(io.Reader) error) error {
	pause := f.pause
	for n := 1; ; n++ {
		err := f.once(ctx, address, accept, read)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case n == attempts || !again(err):
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func (f *Fetcher) once(ctx context.Context, address, accept string, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(f.stall, func() { cancel(errors.Errorf("nothing was received for %v", f.stall)) })
	defer silent.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.WithStack(err)
	}
	req.Header.Set("User-Agent", "isohound")
	req.Header.Set("Accept", accept)
	resp, err := f.client.Do(req)
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return &statusError{resp.StatusCode, resp.Status}
		}
		err = read(&heard{resp.Body, func() { silent.Reset(f.stall) }})
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err // the address is named by who asked
	}
	return err
}

// heard tells when something was read.
type heard struct {
	io.Reader
	tell func()
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.tell()
	return n, err
}

// list asks the registry which versions the package has.
func (f *Fetcher) list(ctx context.Context) (map[string]dist, error) {
	var doc struct {
		Versions map[string]struct {
			Dist dist `json:"dist"`
		} `json:"versions"`
	}
	address := f.registry + "/" + strings.Replace(f.pkg, "/", "%2f", 1)
	// The short form of the list, without descriptions.
	err := f.get(ctx, address, "application/vnd.npm.install-v1+json, application/json;q=0.5", func(r io.Reader) error {
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return errors.Wrap(json.Unmarshal(text, &doc), "the answer is no list of packages")
	})
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusNotFound {
		return nil, errors.Errorf("the registry %s has no package %s", f.shown(), f.pkg)
	} else if err != nil {
		return nil, err
	}
	out := map[string]dist{}
	for name, v := range doc.Versions {
		out[name] = v.Dist
	}
	return out, nil
}

// shown is the address of the registry without a password.
func (f *Fetcher) shown() string {
	if u, err := url.Parse(f.registry); err == nil {
		return u.Redacted()
	}
	return f.registry
}

// integrityError says that what was received is not what the registry has.
type integrityError struct{ text string }

func (e *integrityError) Error() string { return e.text }

const algorithm = "sha512-"

// download writes the archive of a package to a file, and checks its sum.
func (f *Fetcher) download(ctx context.Context, d dist, path string) error {
	var want []byte
	for _, sum := range strings.Fields(d.Integrity) {
		if coded, ok := strings.CutPrefix(sum, algorithm); ok {
			want, _ = base64.StdEncoding.DecodeString(coded)
		}
	}
	if len(want) != sha512.Size {
		return &integrityError{"the registry names no sum (sha512) of the package, so it cannot be checked"}
	}
	address := d.Tarball
	// Mirrors may name the public registry as the place of their archives; npm asks the mirror, too.
	if rest, ok := strings.CutPrefix(address, npmRegistry+"/"); ok {
		address = f.registry + "/" + rest
	}
	return f.get(ctx, address, "*/*", func(r io.Reader) error {
		file, err := os.Create(path)
		if err != nil {
			return errors.WithStack(err)
		}
		defer file.Close()
		sum := sha512.New()
		if _, err := io.Copy(io.MultiWriter(file, sum), r); err != nil {
			return err
		}
		if !bytes.Equal(sum.Sum(nil), want) {
			return &integrityError{fmt.Sprintf("what %s sent is not the package: its sum is not the one that the registry names", address)}
		}
		return errors.WithStack(file.Close())
	})
}
