package servers

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/isohound/isohound/servers/fetch"
)

// Spec says which server to start, in the words of the command line and of plans:
// postgres, mariadb, postgres=FOLDER, postgres@18.4, and each with ?name=value for the DSN.
type Spec struct {
	// Kind is postgres or mariadb, which is also the name of a driver.
	Kind string
	// Version is an exact version of PostgreSQL, or "".
	Version string
	// Folder has PostgreSQL's programs, or is "".
	Folder string
	// Params are parameters of the DSN, as in a URL, or "".
	Params string
}

// SpecForms are the forms of a Spec, for help texts and errors.
const SpecForms = "postgres, mariadb, postgres@VERSION or postgres=FOLDER"

// ParseSpec reads a Spec. A folder's name may not contain a question mark.
func ParseSpec(text string) (Spec, error) {
	text, params, has := strings.Cut(text, "?")
	if has {
		if _, err := url.ParseQuery(params); err != nil || params == "" {
			return Spec{}, fmt.Errorf("after ? there are parameters of the DSN, such as enable_seqscan=on&jit=on, not %q", params)
		}
	}
	s := Spec{Kind: text, Params: params}
	ok := true
	switch n := strings.IndexAny(text, "=@"); {
	case n < 0:
		ok = text == "postgres" || text == "mariadb"
	case text[n] == '=':
		s.Kind, s.Folder = text[:n], text[n+1:]
		ok = s.Kind == "postgres" && s.Folder != ""
	default:
		s.Kind, s.Version = text[:n], text[n+1:]
		if s.Kind == "mariadb" {
			return Spec{}, fmt.Errorf("only PostgreSQL can be had by version; mariadb is the installed one")
		}
		if ok = s.Kind == "postgres"; ok {
			if err := fetch.Check(s.Version); err != nil {
				return Spec{}, err
			}
		}
	}
	if !ok {
		return Spec{}, fmt.Errorf("expected %s", SpecForms)
	}
	return s, nil
}

func (s Spec) String() string {
	text := s.Kind
	if s.Version != "" {
		text += "@" + s.Version
	}
	if s.Folder != "" {
		text += "=" + s.Folder
	}
	if s.Params != "" {
		text += "?" + s.Params
	}
	return text
}

// Options are the options that start PostgreSQL as the Spec says.
func (s Spec) Options() []Option {
	switch {
	case s.Version != "":
		return []Option{Exact(s.Version)}
	case s.Folder != "":
		return []Option{Programs(s.Folder)}
	}
	return nil
}

// DSN adds the parameters to the DSN of the started server.
func (s Spec) DSN(dsn string) string {
	if s.Params == "" {
		return dsn
	}
	return dsn + "?" + s.Params
}
