package drivers

import (
	"net/url"
	"strings"
	"testing"

	"github.com/pkg/errors"
)

func TestMaskURL(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://me:s3cret@host:5432/db":           "postgres://me:xxxxx@host:5432/db",
		"postgres://me@host/db":                       "postgres://me@host/db",
		"postgres://h/db?user=me&password=s3cret&x=1": "postgres://h/db?user=me&password=xxxxx&x=1",
		"mariadb://me:s3cret@h/?socket=/run/x":        "mariadb://me:xxxxx@h/?socket=/run/x",
		"postgres://u:s3/cr3t@h":                      "xxxxx",
		"postgres://":                                 "postgres://",
		"postgres:///db?sslpassword=s3cret":           "postgres:///db?sslpassword=xxxxx",
		"postgres:///db?scram_client_key=s3cret":      "postgres:///db?scram_client_key=xxxxx",
		"postgres://me:s3cret@%2Frun%2Fpg/db":         "postgres://me:xxxxx@%2Frun%2Fpg/db",
		"postgres://me:s3cret@h1:1,[::1]:2,h3/":       "postgres://me:xxxxx@h1:1,[::1]:2,h3/",
		"postgres://h/?p%61ssword=s3cret":             "postgres://h/?p%61ssword=xxxxx",
		"u:p://s3cret@tcp(h)/":                        "xxxxx",
		"mariadb://u:s3cr3t%@h":                       "xxxxx",
		// A quote is shown only where it cannot belong to a password.
		"postgres://me@h:1/db?application_name=a%20b'c":      "postgres://me@h:1/db?application_name=a%20b'c",
		"postgres://me:s3'cret@h/db?application_name=\"a'":   "postgres://me:xxxxx@h/db?application_name=\"a'",
		"postgres://h/db?application_name=a'&password=s3c":   "postgres://h/db?application_name=a'&password=xxxxx",
		"postgres://h/db'password=s3cret'":                   "xxxxx",
		"postgres://h/db?password='s3&cr=et'":                "xxxxx",
		"postgres://h/db?password='s3&cret'":                 "xxxxx",
		"postgres://h/db?application_name='a'password='s3c'": "xxxxx",
		"postgres://h/db?application_name='a';password=s3c":  "xxxxx",
		"postgres://h/db?application_name=a'b password=s3c":  "xxxxx",
	} {
		if got := MaskURL(dsn); got != want {
			t.Errorf("MaskURL(%q) = %q, want %q", dsn, got, want)
		}
	}
}

// TestDSNErrorHidesURL: package url repeats what it could not parse.
func TestDSNErrorHidesURL(t *testing.T) {
	_, err := url.Parse("mariadb://u:s3cr3t@h:bad/")
	if got := (&DSNError{Driver: "mariadb", Err: err}).Error(); err == nil || strings.Contains(got, "s3cr3t") || !strings.Contains(got, "port") {
		t.Errorf("%s", got)
	}
}

func TestFindIsolation(t *testing.T) {
	info := Info{Name: "x", Isolations: []Isolation{{Name: "serializable"}, {Name: "repeatable read"}}}
	for name, want := range map[string]string{
		"": "serializable", "Repeatable-Read": "repeatable read", "REPEATABLE_READ": "repeatable read", "repeatable  read": "repeatable read",
	} {
		if got, err := info.FindIsolation(name); err != nil || got.Name != want {
			t.Errorf("FindIsolation(%q) = %q, %v", name, got.Name, err)
		}
	}
	if _, err := info.FindIsolation("snapshot"); err == nil || !strings.Contains(err.Error(), `"repeatable read"`) {
		t.Errorf("an unknown isolation: %v", err)
	}
}

// TestAsError: an error that no driver recognises must never count as aborted.
func TestAsError(t *testing.T) {
	if e := AsError(errors.New("whatever")); e.Class != OutcomeUnknown || !e.Broken {
		t.Errorf("%+v", e)
	}
	if e := AsError(errors.Wrap(&Error{Class: Aborted, Cause: "c"}, "w")); e.Class != Aborted || e.Cause != "c" {
		t.Errorf("%+v", e)
	}
}
