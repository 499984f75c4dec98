package servers

import (
	"strings"
	"testing"
)

func TestSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"postgres":                             {Kind: "postgres", Driver: "postgres"},
		"mariadb?wait_timeout=600":             {Kind: "mariadb", Driver: "mariadb", Params: "wait_timeout=600"},
		"postgres@18.4":                        {Kind: "postgres", Driver: "postgres", Version: "18.4"},
		"postgres@18.4.0-beta.17?jit=on&a=b":   {Kind: "postgres", Driver: "postgres", Version: "18.4.0-beta.17", Params: "jit=on&a=b"},
		"postgres=/opt/a@b=c?enable_sort=off":  {Kind: "postgres", Driver: "postgres", Value: "/opt/a@b=c", Params: "enable_sort=off"},
		"galera":                               {Kind: "galera", Driver: "mariadb"},
		"etcd":                                 {Kind: "etcd", Driver: "etcd"},
		"etcd-cluster":                         {Kind: "etcd-cluster", Driver: "etcd"},
		"redis":                                {Kind: "redis", Driver: "redis"},
		"tidb@2024":                            {Kind: "tidb", Driver: "tidb", Version: "2024"},
		"dgraph@25.0.0":                        {Kind: "dgraph", Driver: "dgraph", Version: "25.0.0"},
		"docker-postgres=postgres:18.1?jit=on": {Kind: "docker-postgres", Driver: "postgres", Value: "postgres:18.1", Params: "jit=on"},
		"docker-mysql=host:5000/mysql@sha256:0a1b": {Kind: "docker-mysql", Driver: "mariadb", Value: "host:5000/mysql@sha256:0a1b"},
		"redis-sentinel=everysec":                  {Kind: "redis-sentinel", Driver: "redis", Value: "everysec"},
	} {
		got, err := ParseSpec(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %q, %v", text, got, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "expected postgres, postgres@VERSION", "oracle": "expected", "oracle@1": "expected", "postgres=": "folder with PostgreSQL", "mariadb=/x": "expected",
		"docker-redis": "docker-NAME=IMAGE", "docker-redis=": "there is an image", "docker-redis=-x": "there is an image", "docker-redis@7": "expected", "docker-oracle=x": "expected", "postgres@": "no version of PostgreSQL", "postgres@x": "no version", "mariadb@11": "MariaDB cannot be had by version", "tidb": "expected", "tidb@2020": "of TiDB there are 2024 and 2019", "tidb=x": "expected", "dgraph": "expected", "dgraph@24": "of Dgraph there are 25.0.0 and 1.1.1", "redis=": "when the log is on disk", "redis@7": "expected", "redis-sentinel=sometimes": "one of always", "postgres?": "parameters of the DSN", "postgres?a=%zz": "parameters of the DSN",
	} {
		if _, err := ParseSpec(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for dsn, want := range map[string]string{
		"redis://x/0?c=d": "redis://x/0?c=d&a=b", "postgres://x/y": "postgres://x/y?a=b", "mariadb://x/\nmariadb://y/": "mariadb://x/?a=b mariadb://y/?a=b",
	} {
		if got := strings.Join((Spec{Params: "a=b"}).DSNs(dsn), " "); got != want {
			t.Errorf("%q: %s", dsn, got)
		}
	}
}
