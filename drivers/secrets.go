package drivers

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pkg/errors"
)

// errUsers and errUnescaped show nothing of the DSN: where its password begins and ends is not known.
var errUsers = errors.New("the user name and the password stand in the first address, or are the same in each; a comma in them is %2C")

var errUnescaped = errors.New("the user name and the password must be percent-encoded (@ is %40, / is %2F, ? is %3F, # is %23, % is %25); an @ in other parts of the address is %40, too")

// schemed is the beginning of a URL. A DSN of another form may have :// as well, in its password.
var schemed = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// cutScheme splits a URL, and reports whether dsn is one.
func cutScheme(dsn string) (scheme, rest string, ok bool) {
	dsn = strings.TrimSpace(dsn)
	end := schemed.FindStringIndex(dsn)
	if end == nil {
		return "", dsn, false
	}
	return strings.ToLower(dsn[:end[1]-len("://")]), dsn[end[1]:], true
}

// IsURL reports whether a DSN begins with a scheme.
func IsURL(dsn string) bool { _, _, ok := cutScheme(dsn); return ok }

// withAt are the ends of names of parameters whose values may have an @: users, files, names.
var withAt = regexp.MustCompile(`(?i)^[a-z_.]*(?:user|role|name|password|file|cert|key|host|socket|path|token|options|attributes|properties|principal)$`)

var badEscape = regexp.MustCompile(`%(?:[^0-9A-Fa-f]|[0-9A-Fa-f][^0-9A-Fa-f]|.?$)`)

// CheckUser returns an error, which has nothing of the URL, if the user name or the password in it may not be
// percent-encoded, so that parts of a password would be taken for a host, a path or a parameter, and be shown.
//
// A password with / ? or # leaves an @ behind the end of the authority. So an @ is refused in a path and behind #. In a
// query after a path it is taken in the values of some parameters, where users write it.
func CheckUser(dsn string) error {
	_, rest, ok := cutScheme(dsn)
	if !ok {
		return nil
	}
	authority, behind := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, behind = rest[:end], rest[end:]
	}
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user := authority[:at]
		if strings.Contains(user, "@") || badEscape.MatchString(user) {
			return errUnescaped
		}
	}
	path, query, _ := strings.Cut(behind, "?")
	if strings.ContainsAny(path, "@#") && strings.Contains(behind, "@") { // behind # a ? has no meaning
		return errUnescaped
	}
	return checkQuery(query, path != "" || plain.MatchString(authority))
}

// plain is an authority that is no user with a password.
var plain = regexp.MustCompile(`^(?:\[[^\]@]*\]|[\d.]+|localhost)(?::\d+)?$`)

func checkQuery(query string, may bool) error {
	if query, fragment, has := strings.Cut(query, "#"); has && strings.Contains(query+fragment, "@") {
		return errUnescaped
	}
	for _, p := range strings.Split(query, "&") {
		if name, _, _ := strings.Cut(p, "="); strings.Contains(p, "@") && !(may && withAt.MatchString(name)) {
			return errUnescaped
		}
	}
	return nil
}

// checkList is CheckUser for URLs that are separated by commas. The scheme of all but the first may be left out. A comma
// in a password leaves an @ in a later one.
func checkList(dsn string) error {
	var first string
	for n, one := range strings.Split(dsn, ",") {
		one = strings.TrimSpace(one)
		has := IsURL(one)
		if !has {
			one = "http://" + one
		}
		if err := CheckUser(one); err != nil {
			return err
		}
		_, rest, _ := cutScheme(one)
		user, _, at := strings.Cut(rest, "@")
		switch {
		case n == 0 && at:
			first = user
		case n > 0 && at && user != first:
			return errUsers
		}
	}
	return nil
}

// checkUser is CheckUser for a DSN of this driver.
func (i Info) checkUser(dsn string) error {
	switch {
	case i.Embedded: // a folder
		return nil
	case i.Commas:
		return checkList(dsn)
	}
	return CheckUser(dsn)
}

// MaskDSN returns a DSN of d for display, without its password. A DSN that is none for d is masked as a whole.
func MaskDSN(d Driver, dsn string) string {
	if _, err := d.Info().Address(dsn); err != nil {
		return Masked
	}
	if m, ok := d.(Masker); ok {
		return m.MaskDSN(dsn)
	}
	return dsn
}

// oneHost is a host as it stands in a URL.
var oneHost = regexp.MustCompile(`^(?:\[[^\]@]*\]|[^\s:@\[\]='"]*)(?::\d*)?$`)

// isSecret reports whether a parameter with this name, decoded, is a password, or as good as one. more are names of such ones.
func isSecret(name string, more []string) bool {
	name = strings.ToLower(strings.TrimFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	return slices.ContainsFunc([]string{"password", "passwd", "pwd", "passphrase"}, func(end string) bool { return strings.HasSuffix(name, end) }) ||
		name == "pass" || strings.HasPrefix(name, "scram_") && strings.HasSuffix(name, "_key") || slices.Contains(more, name)
}

// hasSecret matches a text that has a password of another form: its name, beside what would set it apart.
var hasSecret = regexp.MustCompile(`(?i)(?:password|passwd|pwd|passphrase|scram_[a-z]*_key)["'\s]*[=:;]|[=:;]["'\s]*(?:password|passwd|pwd|passphrase|scram_[a-z]*_key)`)

// mayHide reports whether a decoded text may have a password in it. more are names of parameters that are as good as one.
func mayHide(text string, more []string) bool {
	return hasSecret.MatchString(text) || slices.ContainsFunc(more, func(name string) bool {
		return regexp.MustCompile(`(?i)` + regexp.QuoteMeta(name) + `["'\s]*[=:;]`).MatchString(text)
	})
}

// decode undoes percent-encoding, and what was encoded twice or more often. Only the first must be right.
func decode(text string) (string, error) {
	out, err := url.QueryUnescape(text)
	if err != nil {
		return "", err
	}
	for again, err := out, error(nil); ; out = again {
		if again, err = url.QueryUnescape(out); err != nil || again == out {
			return out, nil
		}
	}
}

// quotes may be around words.
const quotes = `'"`

// otherForm reports whether a URL without its password may have words of another form, one of which may be a password. Spaces
// and quotes may be of such words. Only a quote in the value of a parameter without = and ; is taken as it stands.
func otherForm(text string) bool {
	if strings.ContainsAny(text, " \t\r\n") {
		return true
	}
	path, query, _ := strings.Cut(text, "?")
	if strings.ContainsAny(path, quotes) {
		return true
	}
	return strings.ContainsAny(query, quotes) && (strings.ContainsAny(query, "@#;") || slices.ContainsFunc(strings.Split(query, "&"), func(p string) bool {
		name, value, _ := strings.Cut(p, "=")
		return strings.ContainsAny(name, quotes) || strings.ContainsAny(value, quotes) && strings.Contains(value, "=")
	}))
}

// MaskURL masks the password in a URL: in its authority, in parameters that are passwords, and in those with the names of more.
// What is not a URL, and one that cannot be read, is masked as a whole.
func MaskURL(dsn string, more ...string) string {
	_, rest, ok := cutScheme(dsn)
	if !ok || CheckUser(dsn) != nil {
		return Masked
	}
	scheme := strings.TrimSuffix(strings.TrimSpace(dsn), rest)
	authority, behind := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, behind = rest[:end], rest[end:]
	}
	user, hosts, has := strings.Cut(authority, "@")
	if !has {
		user, hosts = "", authority
	}
	for _, h := range strings.Split(hosts, ",") { // package url reads one host only
		if !oneHost.MatchString(h) {
			return Masked
		}
	}
	name, _, secret := strings.Cut(user, ":")
	if otherForm(name + hosts + behind) {
		return Masked
	}
	if user = name; secret {
		user += ":" + Masked
	}
	if has {
		user += "@"
	}
	path, query, has := strings.Cut(behind, "?")
	for _, text := range []string{name, path} {
		if text, err := decode(text); err != nil || mayHide(text, more) {
			return Masked
		}
	}
	if text, err := decode(hosts); err == nil && strings.ContainsAny(text, "=;") && mayHide(text, more) { // else : is before a port
		return Masked
	}
	if has {
		if query, has = maskQuery(name+path, query, more); !has {
			return Masked
		}
		path += "?" + query
	}
	return scheme + user + hosts + path
}

// maskQuery masks the values of parameters that are passwords. It returns false if there may be parts of a password elsewhere: a password
// may go on behind an & or #, and a text before it may have opened a quote. Then the whole DSN must be masked. before is the text of the DSN before the query.
func maskQuery(before, query string, more []string) (masked string, ok bool) {
	params, secret := strings.Split(query, "&"), false
	for n, p := range params {
		raw, rest, is := strings.Cut(p, "=")
		name, err := decode(raw)
		value, verr := decode(rest)
		switch {
		case err != nil || verr != nil || mayHide(name, more) || secret && !is:
			return "", false
		case isSecret(name, more):
			secret = true
			params[n] = raw + "=" + Masked
		case mayHide(value, more):
			return "", false
		}
	}
	if whole, err := decode(before + query); secret && (err != nil || strings.ContainsAny(whole, quotes) || strings.Contains(query, "#")) {
		return "", false
	}
	return strings.Join(params, "&"), true
}

// hidden is the text of an error of package url without what it repeats of the URL.
func hidden(text string) string {
	switch {
	case strings.Contains(text, "invalid port"):
		return "the port is not a number"
	case strings.Contains(text, "invalid URL escape"):
		return "an invalid URL escape: % must be written %25"
	case strings.Contains(text, "invalid userinfo"):
		return errUnescaped.Error()
	case strings.Contains(text, "in host name"):
		return "an invalid character in the host name"
	}
	return text
}
