package drivers

import (
	"strings"
	"testing"

	"github.com/pkg/errors"
)

func TestMaskDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://me:s3cret@host:5432/db":           "postgres://me:***@host:5432/db",
		"postgres://me@host/db":                       "postgres://me@host/db",
		"host=h user=me password=s3cret dbname=d":     "host=h user=me password=*** dbname=d",
		"host=h password='s3 cret' user=me":           "host=h password=*** user=me",
		"postgres://h/db?user=me&password=s3cret&x=1": "postgres://h/db?user=me&password=***&x=1",
		"me:s3cret@tcp(127.0.0.1:3306)/db":            "me:***@tcp(127.0.0.1:3306)/db",
		"me:s3:c@ret@tcp(127.0.0.1:3306)/db":          "me:***@tcp(127.0.0.1:3306)/db",
		"mariadb://me:s3cret@h/?socket=/run/x":        "mariadb://me:***@h/?socket=/run/x",
		"/var/tmp":                                    "/var/tmp",
	} {
		if got := MaskDSN(dsn); got != want {
			t.Errorf("MaskDSN(%q) = %q, want %q", dsn, got, want)
		}
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

// TestAsError: what no driver recognises must never count as aborted.
func TestAsError(t *testing.T) {
	if e := AsError(errors.New("whatever")); e.Class != OutcomeUnknown || !e.Broken {
		t.Errorf("%+v", e)
	}
	if e := AsError(errors.Wrap(&Error{Class: Aborted, Cause: "c"}, "w")); e.Class != Aborted || e.Cause != "c" {
		t.Errorf("%+v", e)
	}
}
