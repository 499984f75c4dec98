package drivers

import (
	"strings"
	"testing"
)

// TestAddress: a driver takes URLs of its own name and of its client's schemes, and other kinds are
// refused.
func TestAddress(t *testing.T) {
	sql := Info{Name: "cockroach", DSN: "postgres://h/", Schemes: []string{"postgres"}}
	url := Info{Name: "mongo", DSN: "mongodb://h/", Schemes: []string{"mongodb"}, OnlyURL: true}
	list := Info{Name: "etcd", DSN: "http://h", Schemes: []string{"http", "https"}, Commas: true}
	folder := Info{Name: "sqlite", DSN: "/var/tmp", Embedded: true}
	for _, tc := range []struct {
		info      Info
		dsn, want string // want is empty for a refusal
	}{
		{sql, "postgres://u:p@h/x?y=z", "postgres://u:p@h/x?y=z"},
		{sql, "Cockroach://h/", "postgres://h/"},
		{sql, "host=h user='a://b'", "host=h user='a://b'"},
		{sql, "u:p@tcp(h)/?x=y://z", "u:p@tcp(h)/?x=y://z"},
		{sql, "mariadb://h/", ""},
		{url, "mongo://h/", "mongodb://h/"},
		{url, "h:27017", ""},
		{list, "etcd://a:1, b:2,https://c", "http://a:1,b:2,https://c"},
		{list, "a:1,postgres://b", ""},
		{folder, "/tmp/x", "/tmp/x"},
		{folder, "sqlite:///tmp/x", "/tmp/x"},
		{folder, "postgres://h", ""},
	} {
		got, err := tc.info.Address(tc.dsn)
		if got != tc.want || (err != nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), "expected ") {
			t.Errorf("%s: %q becomes %q, %v; want %q", tc.info.Name, tc.dsn, got, err, tc.want)
		}
	}
}
