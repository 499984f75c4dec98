package etcd

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// The tests against a server are in embedtest, a module of its own.

func TestDSN(t *testing.T) {
	for dsn, want := range map[string][]string{
		"127.0.0.1:2379":                              {"http://127.0.0.1:2379"},
		"http://a:1/":                                 {"http://a:1"},
		"https://user:pass%2Cword@a:1, b:2":           {"https://a:1", "http://b:2"},
		"http://user:secret@[::1]:2379,http://b:2379": {"http://[::1]:2379", "http://b:2379"},
	} {
		conf, err := parse(dsn)
		if err != nil || !slices.Equal(conf.Endpoints, want) {
			t.Errorf("%s: %v, %v", dsn, conf.Endpoints, err)
		}
		if strings.Contains(dsn, "pass") && (conf.Username != "user" || conf.Password != "pass,word") {
			t.Errorf("%s: user %q with password %q", dsn, conf.Username, conf.Password)
		}
	}
	for _, dsn := range []string{"", "etcd://a:1", "http://a:1/v3", "http://a:1?x=y", "http://a:b", "http://user:secret@a:x,b"} {
		_, err := driver{}.Open(context.Background(), drivers.Config{DSN: dsn})
		var de *drivers.DSNError
		if !errors.As(err, &de) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// TestStranger: what accepts connections and says nothing that etcd's client understands is asked for.
func TestStranger(t *testing.T) {
	drivertest.Stranger(t, driver{}, "http://", "http://ADDR did not answer as etcd does within 15s; is this an etcd server without TLS?")
}

func TestMask(t *testing.T) {
	for _, dsn := range []string{"http://user:secret@a:1,http://b:2", "user:secret@a:1", "a:1,user:secret@b:2", "http://user:secret@a:x"} {
		if got := drivers.MaskDSN(driver{}, dsn); strings.Contains(got, "secret") || !strings.Contains(got, drivers.Masked) {
			t.Errorf("%s is shown as %s", dsn, got)
		}
	}
	if got := drivers.MaskDSN(driver{}, "http://a:1,b:2"); got != "http://a:1,http://b:2" {
		t.Error(got)
	}
}
