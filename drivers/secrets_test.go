package drivers_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
	_ "github.com/isohound/isohound/drivers/cassandra"
	_ "github.com/isohound/isohound/drivers/dgraph"
	_ "github.com/isohound/isohound/drivers/etcd"
	_ "github.com/isohound/isohound/drivers/firebird"
	_ "github.com/isohound/isohound/drivers/mariadb"
	_ "github.com/isohound/isohound/drivers/mongo"
	_ "github.com/isohound/isohound/drivers/postgres"
	_ "github.com/isohound/isohound/drivers/redis"
)

// open opens a database where none is, for the error. It does not wait for anything.
func open(d drivers.Driver, dsn string) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	db, err := drivers.Open(ctx, d, drivers.Config{DSN: dsn, Isolation: d.Info().Isolations[0].Name})
	if err == nil {
		db.Close(ctx)
	}
	return err
}

// schemes are those of all URLs that a driver takes.
func schemes(i drivers.Info) []string { return append([]string{i.Name}, i.Schemes...) }

// TestUnescapedPasswords: every driver refuses a password that is not percent-encoded, in the same words, and shows no
// part of it.
func TestUnescapedPasswords(t *testing.T) {
	for _, d := range drivers.All() {
		for _, scheme := range schemes(d.Info()) {
			for _, password := range []string{"S3cr#et", "S3cret/", "S3cr?et", "S3@cret", "S3cret%", "S3cr%zz", "a@topsecret/b", "p@ss:/?#cret", "8/3?cret", "87?a=b"} {
				for _, user := range []string{"me", ""} {
					dsn := scheme + "://" + user + ":" + password + "@127.0.0.1:1/db"
					err := open(d, dsn)
					var bad *drivers.DSNError
					if !errors.As(err, &bad) || !strings.Contains(err.Error(), "must be percent-encoded") || strings.Contains(err.Error(), "cret") {
						t.Errorf("%s: %s: %v", d.Info().Name, dsn, err)
					}
					if got := drivers.MaskDSN(d, dsn); got != drivers.Masked {
						t.Errorf("%s: %s is shown as %s", d.Info().Name, dsn, got)
					}
				}
			}
		}
	}
}

// TestEscaped: what is a DSN is not refused.
func TestEscaped(t *testing.T) {
	for dsn, names := range map[string]string{
		"postgres://":                                                                       "postgres cockroach yugabyte",
		"postgres://me:p%40s%2Fs@h/db":                                                      "postgres cockroach",
		"postgres://me:p!$&'()*+,;=-._~:s@h/db":                                             "postgres",
		"postgres://me:p@h1:1,h2:2/db?target_session_attrs=any":                             "postgres",
		"postgres://me@[::1]:5432/db":                                                       "postgres",
		"postgres://me:p@%2Frun%2Fpostgresql/db":                                            "postgres",
		"postgres:///db?host=/run/postgresql&user=a@b.com":                                  "postgres",
		"postgres://h/db?user=me@corp.com&sslrootcert=/home/a@b/c.pem&application_name=a@b": "postgres",
		"host=/run/me@x user='a://b@c' password='p@:/?#s'":                                  "postgres",
		"user=me password=p@/?#%s host=h":                                                   "postgres",
		"me:p@:/?#%ss@tcp(127.0.0.1:3306)/db":                                               "mariadb tidb",
		"me:p://s@s@unix(/run/x@y/mysqld.sock)/":                                            "mariadb",
		"user@corp:p@tcp(h:1)/?connectionAttributes=a:b@c":                                  "mariadb",
		"mariadb://me:p@h/?socket=/run/me@x/s":                                              "mariadb",
		"mysql://me%40corp:p@h/":                                                            "mariadb",
		"mongodb://me:p%25s@h1:1,h2:2/?replicaSet=rs0":                                      "mongo",
		"mongodb://%2Ftmp%2Fmongodb.sock/":                                                  "mongo",
		"redis://:p%23s@a:1,b:2/0":                                                          "redis",
		"rediss://me:p@[::1]:1/0?cacert=/home/me@x/c.pem":                                   "redis",
		"http://me:p%2Cs@a:1,http://b:2,c:3":                                                "etcd",
		"me:p@a:1":                                                                          "etcd",
		"http://me:p@a:1,http://me:p@b:1":                                                   "etcd",
		"firebird://me:p@h/var/lib/a.fdb":                                                   "firebird",
		"firebird://me:p@h/var/me%40x/a.fdb":                                                "firebird",
		"me:p@h/a.fdb":                                                                      "firebird",
		"me:p@a:1,me:p@b:1":                                                                 "etcd",
		"dgraph://127.0.0.1:1?token=a@b":                                                    "dgraph",
		"dgraph://me:p@h:1?namespace=0":                                                     "dgraph",
		"cassandra://me:p@h/?dc=x":                                                          "cassandra",
		"/tmp/me@x/a%zz#b":                                                                  "sqlite badger bbolt",
	} {
		for _, name := range strings.Fields(names) {
			d, err := drivers.Find(name)
			if err != nil {
				continue // not of this program
			}
			if _, err := d.Info().Address(dsn); err != nil {
				t.Errorf("%s: %s: %v", name, dsn, err)
			}
		}
	}
}

// TestNoPartOfAPassword: whatever is in a password, and wherever the DSN is wrong, neither an error nor the DSN as it is
// shown has a part of the password.
func TestNoPartOfAPassword(t *testing.T) {
	for _, d := range drivers.All() {
		t.Run(d.Info().Name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, 2))
			count := 300
			if d.Info().Name == "mongo" {
				count = 10 // its client takes a second to give up
			}
			for range count {
				hides(t, d, randomPassword(rng))
			}
		})
	}
}

func randomPassword(rng *rand.Rand) string {
	const letters, special = "QXZJKVW789", "@/?#%:&=+,;()[]'\"\\ <>`^|{}~!$-._*\t"
	var b strings.Builder
	for range 6 + rng.IntN(8) {
		from := letters
		if rng.IntN(4) == 0 {
			from = special
		}
		b.WriteByte(from[rng.IntN(len(from))])
	}
	return b.String()
}

func hides(t *testing.T, d drivers.Driver, password string) {
	forms := []string{"me:" + password + "@127.0.0.1:1/db", ":" + password + "@127.0.0.1:1", "me:" + password + "@tcp(127.0.0.1:1)/db", "me:" + password + "@tcp(127.0.0.1:1)",
		"host=127.0.0.1 port=1 user=me password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "' sslmode=never",
		"host=127.0.0.1 port=1 user=me password='" + password + "'"}
	for _, scheme := range schemes(d.Info()) {
		for _, rest := range []string{"@127.0.0.1:1/db", "@127.0.0.1:1", "@127.0.0.1:1,127.0.0.1:2/0", "@127.0.0.1:x/", "@[::1]:1/?foo=%zz", "@/"} {
			forms = append(forms, scheme+"://me:"+password+rest, scheme+"://:"+password+rest)
		}
	}
	for _, dsn := range forms {
		shown := drivers.MaskDSN(d, dsn)
		if err := open(d, dsn); err != nil {
			shown += " " + err.Error()
		}
		for n := 0; n+4 <= len(password); n++ {
			if strings.Contains(shown, password[n:n+4]) {
				t.Errorf("%s: %s shows %q", dsn, shown, password[n:n+4])
				break
			}
		}
	}
}
