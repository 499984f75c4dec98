package postgres

import (
	"testing"

	"github.com/isohound/isohound/drivers/drivertest"
)

// versions are what version() returns, from the manuals.
var versions = map[string]*flavour{
	"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc":                  plainPostgres,
	"CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27 01:53:43, go1.19.10)":               cockroach,
	"CockroachDB OSS v22.2.3 (x86_64-pc-linux-gnu, built 2023/01/23 19:11:58, go1.19.1)":                 cockroach,
	"PostgreSQL 11.2-YB-2.18.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 15.0.3":            yugabyte,
	"PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu, compiled by clang version 19.1.0, 64-bit": yugabyte,
	"something else 1.0": nil,
}

func TestIdentify(t *testing.T) {
	for version, want := range versions {
		if got := identify(version); got != want {
			t.Errorf("%q is taken for another", version)
		}
	}
}

// TestFlavours runs the statements of each flavour on PostgreSQL, which
// understands them all.
func TestFlavours(t *testing.T) {
	for _, f := range flavours[1:] {
		t.Run(f.info.Name, func(t *testing.T) {
			forced := *f
			forced.sign = plainPostgres.sign
			d := driver{&forced}
			drivertest.Run(t, d, server.DSN(), false)
			drivertest.Tables(t, d, server.DSN())
			tx := drivertest.Begin(t, drivertest.Open(t, d, server.DSN(), "")).(*tx)
			if _, err := tx.Update(ctx, "a", 5); err != nil || tx.TxnID() != 0 {
				t.Errorf("%v; id %d", err, tx.TxnID())
			}
		})
	}
}
