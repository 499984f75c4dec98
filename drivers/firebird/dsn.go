package firebird

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

// parameters are those of the client that a DSN may have. The client ignores others in silence.
var parameters = []string{
	"auth_plugin_list", "auth_plugin_name", "role", "wire_compress", "wire_crypt", "wire_crypt_plugin",
}

// parseDSN reads a URL, with or without its scheme. Keys and texts are bytes, so the character set of the connection
// is always UTF8.
func parseDSN(dsn string) (*url.URL, error) {
	if !strings.HasPrefix(dsn, "firebird://") {
		dsn = "firebird://" + dsn
	}
	if err := drivers.CheckUser(dsn); err != nil {
		return nil, err
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	const example = "; expected for example firebird://user:password@127.0.0.1/path/to/test.fdb"
	switch {
	case u.Hostname() == "":
		return nil, errors.New("no host is named" + example)
	case u.User.Username() == "":
		return nil, errors.New("no user is named" + example)
	case strings.Trim(u.Path, "/") == "":
		return nil, errors.New("no database is named" + example)
	}
	for name := range query {
		if !slices.Contains(parameters, name) {
			return nil, errors.Errorf("unknown parameter %q; known are %s", name, strings.Join(parameters, ", "))
		}
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "3050")
	}
	return u, nil
}

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string {
	if !drivers.IsURL(dsn) {
		return strings.TrimPrefix(drivers.MaskURL("firebird://"+dsn), "firebird://")
	}
	return drivers.MaskURL(dsn)
}
