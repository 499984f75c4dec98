package redis

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// address is where the primary is, or may be.
type address struct {
	// hosts are servers, or with sentinel the sentinels that know where the primary of that name is.
	hosts          []string
	sentinel       string
	user, password string
	database       int
	tls            *tls.Config // nil without TLS
	dial           drivers.Dial
}

// several reports whether another server may become the primary.
func (a *address) several() bool { return len(a.hosts) > 1 || a.sentinel != "" }

// Package url reads one host only.
var authority = regexp.MustCompile(`^(rediss?://)((?:[^/?#]*@)?)([^/?#]*)(.*)$`)

func parse(dsn string) (*address, error) {
	parts := authority.FindStringSubmatch(dsn)
	if parts == nil {
		return nil, errors.New("expected a URL like redis://user:password@127.0.0.1:6379/0")
	}
	hosts := strings.Split(parts[3], ",")
	u, err := url.Parse(parts[1] + parts[2] + hosts[0] + parts[4])
	if err != nil {
		return nil, err
	}
	a := &address{}
	q := u.Query()
	for name := range q {
		switch name {
		case "sentinel", "cacert", "insecure":
		default:
			return nil, errors.Errorf("unknown parameter %q; known are sentinel, cacert and insecure", name)
		}
	}
	if a.sentinel = q.Get("sentinel"); q.Has("sentinel") && a.sentinel == "" {
		return nil, errors.New("sentinel needs the name of the primary, as in sentinel=mymaster")
	}
	if u.Fragment != "" {
		return nil, errors.New("nothing may follow #")
	}
	for _, h := range hosts {
		if h, err = hostPort(h, a.sentinel != ""); err != nil {
			return nil, err
		}
		a.hosts = append(a.hosts, h)
	}
	if u.User != nil {
		a.user = u.User.Username()
		a.password, _ = u.User.Password()
		if a.password == "" {
			return nil, errors.New("the password is missing: redis://user:password@host, or redis://:password@host for the default user")
		}
	}
	if path := strings.Trim(u.Path, "/"); path != "" {
		if a.database, err = strconv.Atoi(path); err != nil || a.database < 0 {
			return nil, errors.Errorf("the path is the number of a database, not %q", path)
		}
	}
	if u.Scheme != "rediss" {
		if q.Has("cacert") || q.Has("insecure") {
			return nil, errors.New("cacert and insecure are for TLS: rediss://")
		}
		return a, nil
	}
	return a, a.secure(q)
}

// secure makes the configuration of TLS.
func (a *address) secure(q url.Values) error {
	a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if file := q.Get("cacert"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return errors.Wrap(err, "cacert")
		}
		if a.tls.RootCAs = x509.NewCertPool(); !a.tls.RootCAs.AppendCertsFromPEM(pem) {
			return errors.Errorf("cacert: %s has no certificate in PEM", file)
		}
	}
	if q.Has("insecure") {
		skip, err := strconv.ParseBool(q.Get("insecure"))
		if err != nil {
			return errors.New("insecure must be true or false")
		}
		a.tls.InsecureSkipVerify = skip
	}
	return nil
}

// hostPort checks a host, and adds the default port.
func hostPort(s string, sentinel bool) (string, error) {
	u, err := url.Parse("redis://" + s)
	if err != nil {
		return "", err
	}
	if u.Hostname() == "" || u.Host != s {
		return "", errors.New("expected hosts, separated by commas, as in redis://127.0.0.1:6379,127.0.0.1:6380/0")
	}
	port := u.Port()
	switch {
	case port != "":
	case sentinel:
		port = "26379"
	default:
		port = "6379"
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string { return drivers.MaskURL(dsn) }
