package drivers

import (
	"context"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Open opens a database by a DSN as users write it, see Info.Address.
func Open(ctx context.Context, d Driver, cfg Config) (DB, error) {
	dsn, err := d.Info().Address(cfg.DSN)
	if err != nil {
		return nil, err
	}
	cfg.DSN = dsn
	return d.Open(ctx, cfg)
}

// Address returns a DSN in the form that the driver's Open reads. Every driver takes URLs whose
// scheme is its own name. A URL with the scheme of another kind of database is a *DSNError that
// says what is expected, and so is one whose password is not percent-encoded; see CheckUser. Several URLs are separated by
// commas if the driver splits them.
func (i Info) Address(dsn string) (string, error) {
	if err := i.checkUser(dsn); err != nil {
		return "", &DSNError{Driver: i.Name, Err: err}
	}
	if dsn == "" || len(i.Schemes) == 0 && !i.Embedded {
		return dsn, nil
	}
	first := dsn
	if i.Commas {
		var out []string
		for _, one := range strings.Split(dsn, ",") {
			one, err := i.one(strings.TrimSpace(one))
			if err != nil {
				return "", err
			}
			out = append(out, one)
		}
		return strings.Join(out, ","), nil
	}
	return i.one(first)
}

func (i Info) one(dsn string) (string, error) {
	scheme, rest, ok := cutScheme(dsn)
	switch {
	case ok && slices.Contains(i.Schemes, scheme):
		return scheme + "://" + rest, nil
	case !ok && !i.OnlyURL:
		return dsn, nil
	case ok && scheme == i.Name && i.Embedded && i.OwnURL:
		return dsn, nil
	case ok && scheme == i.Name && i.Embedded:
		return rest, nil
	case ok && scheme == i.Name:
		return i.Schemes[0] + "://" + rest, nil
	case !ok:
		return "", &DSNError{Driver: i.Name, Err: errors.Errorf("expected a URL, for example %s", i.DSN)}
	}
	text := "a DSN that begins with " + scheme + ":// is not for this driver"
	var others []string
	for _, d := range All() {
		if o := d.Info(); o.Name == scheme || slices.Contains(o.Schemes, scheme) {
			others = append(others, o.Name)
		}
	}
	if len(others) > 0 {
		text += " but for --driver " + strings.Join(others, " or ")
	}
	return "", &DSNError{Driver: i.Name, Err: errors.Errorf("%s; expected for example %s", text, i.DSN)}
}

// OfScheme names the driver that takes URLs with a DSN's scheme, "" if there is none: the one of that name, or else the one
// whose name the scheme begins with, or else the first, which is MariaDB's for mysql.
func OfScheme(dsn string) string {
	scheme, _, has := cutScheme(dsn)
	if !has {
		return ""
	}
	best, rank := "", 3
	for _, d := range All() {
		i, r := d.Info(), 3
		switch {
		case i.Name == scheme:
			r = 0
		case !slices.Contains(i.Schemes, scheme):
		case strings.HasPrefix(scheme, i.Name):
			r = 1
		default:
			r = 2
		}
		if r < rank {
			best, rank = i.Name, r
		}
	}
	return best
}
