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
		"postgres://h/db?application_name=a'&password=s3c":   "xxxxx",
		"postgres://h/db'password=s3cret'":                   "xxxxx",
		"postgres://h/db?password='s3&cr=et'":                "xxxxx",
		"postgres://h/db?password='s3&cret'":                 "xxxxx",
		"postgres://h/db?application_name='a'password='s3c'": "xxxxx",
		"postgres://h/db?application_name='a';password=s3c":  "xxxxx",
		"postgres://h/db?application_name=a'b password=s3c":  "xxxxx",
		// A parameter that may be a part of a password is not shown, nor a password in the value of another one.
		"postgres://h/db?password=s3&cr=e't":                           "xxxxx",
		"postgres://h/db?password=s3&cr=e%27t":                         "xxxxx",
		"postgres://h/db?application_name='a&password=s3&x=cret'":      "xxxxx",
		"postgres://h/db?application_name=a'%20password%3Ds3cret":      "xxxxx",
		"postgres://h/db?application_name=a'%3Bpassword%3Ds3cret":      "xxxxx",
		"postgres://h/db?password=s3&cret":                             "xxxxx",
		"postgres://h/db?password=s3&":                                 "xxxxx",
		"postgres://h/db?password=s3&x=1#cret":                         "xxxxx",
		"postgres://h/db?application_name=a;password=s3cret":           "xxxxx",
		"postgres://h/db?application_name=a,password=s3cret":           "xxxxx",
		"postgres://h/db;password=s3cret":                              "xxxxx",
		"postgres://h/db%3Bpassword%3Ds3cret":                          "xxxxx",
		"postgres://h;password%3Ds3cret/db":                            "xxxxx",
		"postgres://h/d%27b?password=s3&x=cret'":                       "xxxxx",
		"postgres://password:1/db":                                     "postgres://password:1/db",
		"postgres://me;password=s3cret@h/db":                           "xxxxx",
		"postgres://h/db?application_name=a%20password=s3cret":         "xxxxx",
		"postgres://h/db?application_name=a%20PassWord%20%3D%20s3cret": "xxxxx",
		"postgres://h/db?application_name=a%2520password%253Ds3cret":   "xxxxx",
		"postgres://h/db?application_name=a+pwd%3Ds3cret":              "xxxxx",
		"postgres://h/db?a;password;b=s3cret":                          "xxxxx",
		"postgres://h/db?password%20=s3cret":                           "postgres://h/db?password%20=xxxxx",
		"postgres://h/db?%2520password=s3cret":                         "postgres://h/db?%2520password=xxxxx",
		"postgres://h/db?pwd=s3cret&user=me":                           "postgres://h/db?pwd=xxxxx&user=me",
		"postgres://h/db?PASSWD=s3cret":                                "postgres://h/db?PASSWD=xxxxx",
		"postgres://h/db?password=s3%3Dcret&password=b":                "postgres://h/db?password=xxxxx&password=xxxxx",
		"postgres://h/password?application_name=password":              "postgres://h/password?application_name=password",
		"postgres://h/db?x&options=-c%20work_mem%3D4MB&user=a":         "postgres://h/db?x&options=-c%20work_mem%3D4MB&user=a",
	} {
		if got := MaskURL(dsn); got != want {
			t.Errorf("MaskURL(%q) = %q, want %q", dsn, got, want)
		}
	}
}

// TestMaskURLMore: parameters with the names of more are passwords, also in the value of another one.
func TestMaskURLMore(t *testing.T) {
	for dsn, want := range map[string]string{
		"dgraph://h:1?token=s3cret&namespace=0": "dgraph://h:1?token=xxxxx&namespace=0",
		"dgraph://h:1?namespace=0;token=s3cret": "xxxxx",
		"dgraph://h:1?namespace=0%3Btoken%3Ds3": "xxxxx",
		"dgraph://h:1?namespace=0":              "dgraph://h:1?namespace=0",
	} {
		if got := MaskURL(dsn, "token"); got != want {
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
