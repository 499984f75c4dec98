package dgraph

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/servers"
)

var ctx = context.Background()

// TestServers runs everything that needs a server on a cluster of two groups of
// each version.
func TestServers(t *testing.T) {
	for _, v := range servers.DgraphVersions {
		t.Run(v, func(t *testing.T) {
			if _, err := servers.FindDgraph(v); err != nil {
				t.Fatal(err)
			}
			c, err := servers.StartDgraph(v, 2, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Stop()
			for _, test := range []struct {
				name string
				run  func(*testing.T, *servers.Dgraph)
			}{
				{"contract", contract}, {"lightweight", lightweight}, {"snapshot", snapshot}, {"position", position}, {"same key", sameKey},
				{"keys", keys}, {"dropped", dropped}, {"join", join},
				{"answer lost", answerLost}, {"not sent", notSent}, {"never answered", neverAnswered},
				{"against the model", againstModel}, {"hunt", hunt}, {"alpha killed", alphaKilled},
			} {
				t.Run(test.name, func(t *testing.T) { test.run(t, c) })
			}
		})
	}
}

func contract(t *testing.T, c *servers.Dgraph) { drivertest.Run(t, driver{}, c.DSNs()[0], false) }

func lightweight(t *testing.T, c *servers.Dgraph) {
	drivertest.Lightweight(t, driver{}, c.DSNs()[1]+"?predicates=3")
}

// snapshot: all reads of a transaction are from one moment, that of its first read, and two
// transactions that change a key cannot both commit.
func snapshot(t *testing.T, c *servers.Dgraph) {
	db := drivertest.Open(t, driver{}, c.DSNs()[0]+"?predicates=2", "")
	reader, writer, other := drivertest.Begin(t, db), drivertest.Begin(t, db), drivertest.Begin(t, db)
	expect := func(tx drivers.Tx, key string, want int64) {
		t.Helper()
		if v, _, err := tx.Read(ctx, key); err != nil || v != want {
			t.Errorf("%s is %d, %v; want %d", key, v, err, want)
		}
	}
	expect(reader, "a", 1)
	expect(other, "a", 1)
	for _, k := range []string{"a", "A"} {
		if _, err := writer.Update(ctx, k, 50); err != nil {
			t.Fatal(err)
		}
	}
	expect(writer, "A", 50)
	if err := writer.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	expect(reader, "A", 2)
	expect(reader, "a", 1)
	if err := reader.Commit(ctx); err != nil {
		t.Error(err)
	}
	if _, err := other.Update(ctx, "a", 1); err != nil { // the value that it had
		t.Error(err)
	}
	drivertest.Class(t, "a write to what changed since", other.Commit(ctx), drivers.Aborted, false)
	first, last := reader.(drivers.TxnIDer).TxnID(), drivertest.Begin(t, db)
	expect(last, "a", 50)
	if id := last.(drivers.TxnIDer).TxnID(); first == 0 || id <= first {
		t.Errorf("snapshots at %d and later %d", first, id)
	}
}

// sameKey: of concurrent transactions that add, or remove, the same key, one commits.
func sameKey(t *testing.T, c *servers.Dgraph) {
	db := drivertest.Open(t, driver{}, c.DSNs()[0], "")
	for what, do := range map[string]func(tx drivers.Tx) error{
		"insertion": func(tx drivers.Tx) error { return tx.Insert(ctx, "new", 1) },
		"deletion": func(tx drivers.Tx) error {
			_, err := tx.Delete(ctx, "a")
			return err
		},
	} {
		one, two := drivertest.Begin(t, db), drivertest.Begin(t, db)
		for _, tx := range []drivers.Tx{one, two} {
			if err := do(tx); err != nil {
				t.Fatal(err)
			}
		}
		if err := one.Commit(ctx); err != nil {
			t.Error(err)
		}
		drivertest.Class(t, "second "+what, two.Commit(ctx), drivers.Aborted, false)
	}
	drivertest.Class(t, "duplicate", drivertest.Begin(t, db).Insert(ctx, "A", 1), drivers.Aborted, false)
}

// keys: keys are bytes, although strings of Dgraph are not.
func keys(t *testing.T, c *servers.Dgraph) {
	tx := drivertest.Begin(t, drivertest.Open(t, driver{}, c.DSNs()[0], ""))
	for n, k := range []string{"", "\x00", "\xff", "\xff\xfe", "$a", "%41", "x/y", "}{)(", strings.Repeat("long", 200)} {
		if err := tx.Insert(ctx, k, int64(n)); err != nil {
			t.Errorf("%q: %v", k, err)
		}
		if v, found, err := tx.Read(ctx, k); v != int64(n) || !found || err != nil {
			t.Errorf("%q is %d, %v, %v", k, v, found, err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
}

// dropped: closing a run drops its predicates, and not those of others.
func dropped(t *testing.T, c *servers.Dgraph) {
	other := drivertest.Open(t, driver{}, c.DSNs()[0], "").(*db)
	var name string
	t.Run("", func(t *testing.T) {
		d := drivertest.Open(t, driver{}, c.DSNs()[0]+"?predicates=2", "").(*db)
		name = d.name
		if !strings.Contains(d.Owns(), name+".k0 to .v1") {
			t.Error(d.Owns())
		}
	})
	err := other.admin(ctx, setupTimeout, func(ctx context.Context, c *client) error {
		resp, err := c.NewReadOnlyTxn().Query(ctx, "schema {}")
		if s := string(resp.GetJson()); err == nil && (strings.Contains(s, name) || !strings.Contains(s, other.name)) {
			t.Errorf("%s is to be gone, %s to be there: %s", name, other.name, s)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// join: what one alpha has created is visible at the other.
func join(t *testing.T, c *servers.Dgraph) {
	first := drivertest.Open(t, driver{}, c.DSNs()[0], "")
	open := func(dsn string) drivers.DB {
		second, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: snapshotIsolation})
		if err != nil {
			t.Fatal(err)
		}
		return second
	}
	second := open(c.DSNs()[1])
	if err := second.(drivers.Joiner).Join(ctx, first); err != nil {
		t.Fatal(err)
	}
	if err := second.Close(ctx); err != nil { // drops nothing
		t.Error(err)
	}
	tx := drivertest.Begin(t, second)
	if _, err := tx.Update(ctx, "a", 7); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
	if v, _, err := drivertest.Begin(t, first).Read(ctx, "a"); v != 7 || err != nil {
		t.Errorf("at the first alpha a is %d, %v", v, err)
	}
	if err := open(c.DSNs()[1]+"?predicates=2").(drivers.Joiner).Join(ctx, first); err == nil {
		t.Error("other predicates")
	}
}

func TestDSN(t *testing.T) {
	for dsn, want := range map[string]target{
		"dgraph://h:9080":                                {addr: "h:9080", sslmode: "disable", predicates: 1},
		"dgraph://[::1]:9080/?predicates=5":              {addr: "[::1]:9080", sslmode: "disable", predicates: 5},
		"dgraph://me:p%40ss@h:1?namespace=3":             {addr: "h:1", user: "me", password: "p@ss", namespace: 3, sslmode: "disable", predicates: 1},
		"dgraph://h:1?token=s3cret&sslmode=verify-ca":    {addr: "h:1", token: "s3cret", sslmode: "verify-ca", predicates: 1},
		"dgraph://groot:password@h:1?sslmode=require&x=": {},
		"dgraph://h:1?sslmode=prefer":                    {},
		"dgraph://h:1?predicates=0":                      {},
		"dgraph://h:1?predicates=65":                     {},
		"dgraph://h:1?namespace=1":                       {},
		"dgraph://h:1?namespace=a":                       {},
		"dgraph://h":                                     {},
		"dgraph://h:1/db":                                {},
		"http://h:1":                                     {},
		"":                                               {},
	} {
		got, err := parseDSN(dsn)
		if want.addr == "" && err == nil || want.addr != "" && (err != nil || got.addr != want.addr || got.user != want.user || got.password != want.password || got.namespace != want.namespace || got.token != want.token || got.sslmode != want.sslmode || got.predicates != want.predicates) {
			t.Errorf("%q: %+v, %v", dsn, got, err)
		}
	}
}

func TestMaskDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"dgraph://me:s3cret@h:1":                 "dgraph://me:xxxxx@h:1",
		"dgraph://h:1?token=s3cret&predicates=2": "dgraph://h:1?token=xxxxx&predicates=2",
		"dgraph://h:1?to%6ben=s3cret":            "dgraph://h:1?to%6ben=xxxxx",
		"dgraph://me:s3/cr3t@h:1":                "xxxxx",
		"dgraph://h:1":                           "dgraph://h:1",
	} {
		if got := (driver{}).MaskDSN(dsn); got != want {
			t.Errorf("%q becomes %q, want %q", dsn, got, want)
		}
	}
}

// TestOpenRefuses: errors are reported in one line, without the password.
func TestOpenRefuses(t *testing.T) {
	for dsn, usage := range map[string]bool{"dgraph://me:s3cret@127.0.0.1:1": false, "dgraph://127.0.0.1:1": false, "dgraph://me:s3cret@h:x": true} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: snapshotIsolation})
		var bad *drivers.DSNError
		if err == nil || errors.As(err, &bad) != usage || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}
