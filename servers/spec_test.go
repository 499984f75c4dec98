package servers

import (
	"strings"
	"testing"
)

func TestSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"postgres":                            {Kind: "postgres"},
		"mariadb?wait_timeout=600":            {Kind: "mariadb", Params: "wait_timeout=600"},
		"postgres@18.4":                       {Kind: "postgres", Version: "18.4"},
		"postgres@18.4.0-beta.17?jit=on&a=b":  {Kind: "postgres", Version: "18.4.0-beta.17", Params: "jit=on&a=b"},
		"postgres=/opt/a@b=c?enable_sort=off": {Kind: "postgres", Folder: "/opt/a@b=c", Params: "enable_sort=off"},
	} {
		got, err := ParseSpec(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %q, %v", text, got, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "expected postgres, mariadb", "oracle": "expected", "oracle@1": "expected", "postgres=": "expected", "mariadb=/x": "expected",
		"postgres@": "no version of PostgreSQL", "postgres@x": "no version", "mariadb@11": "only PostgreSQL", "postgres?": "parameters of the DSN", "postgres?a=%zz": "parameters of the DSN",
	} {
		if _, err := ParseSpec(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got := (Spec{Params: "a=b"}).DSN("postgres://x/y"); got != "postgres://x/y?a=b" {
		t.Error(got)
	}
}
