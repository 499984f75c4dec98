package postgres

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
)

// timestamps is PostgreSQL behind a proxy that answers SHOW COMMIT TIMESTAMP as CockroachDB does after a transaction. It returns the
// address.
func timestamps(t *testing.T, answer func() string) string {
	t.Helper()
	at, err := url.Parse(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	real := at.Host
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", real)
			if err != nil {
				client.Close()
				return
			}
			go func() {
				_, _ = io.Copy(client, server)
				client.Close()
			}()
			go func() {
				defer server.Close()
				for started := false; ; {
					message, startup, err := receive(client, started)
					if err != nil {
						return
					}
					started = started || startup
					if started && message[0] == 'Q' && strings.TrimRight(string(message[5:]), "\x00") == askTimestamp {
						message = nil
						for _, m := range []pgproto3.BackendMessage{
							&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("commit_timestamp"), DataTypeOID: 1700, DataTypeSize: -1, TypeModifier: -1}}},
							&pgproto3.DataRow{Values: [][]byte{[]byte(answer())}},
							&pgproto3.CommandComplete{CommandTag: []byte("SHOW COMMIT TIMESTAMP")},
							&pgproto3.ReadyForQuery{TxStatus: 'I'},
						} {
							if message, err = m.Encode(message); err != nil {
								return
							}
						}
						_, err = client.Write(message)
					} else {
						_, err = server.Write(message)
					}
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	at.Host = l.Addr().String()
	return at.String()
}

// receive reads a message of the client. The first ones have no kind: a request for TLS, and the startup message, which is told.
func receive(from io.Reader, started bool) (message []byte, startup bool, err error) {
	kind := 0
	if started {
		kind = 1
	}
	message = make([]byte, kind+4)
	if _, err = io.ReadFull(from, message); err != nil {
		return nil, false, err
	}
	rest := make([]byte, binary.BigEndian.Uint32(message[kind:])-4)
	_, err = io.ReadFull(from, rest)
	const version3 = 3 << 16
	return append(message, rest...), !started && binary.BigEndian.Uint32(rest)>>16 == version3>>16, err
}

// TestTimestampsOfCommits: where the server tells the timestamps of commits, a transaction that committed has one, and no other.
func TestTimestampsOfCommits(t *testing.T) {
	forced := *cockroach
	forced.sign = plainPostgres.sign
	var n atomic.Int64
	asked := timestamps(t, func() string { return fmt.Sprintf("1795700000123456789.%010d", n.Add(1)) })
	for dsn, tells := range map[string]bool{asked: true, server.DSN(): false} {
		for _, iso := range []string{"serializable", "read committed"} {
			db, err := driver{&forced}.Open(ctx, drivers.Config{DSN: dsn, Isolation: iso, Positions: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close(ctx) })
			if told := db.(drivers.Positioner).Positions() != ""; told != tells || (db.(drivers.Untold).Untold() == "") != tells {
				t.Errorf("%s: positions %v, %q", iso, told, db.(drivers.Untold).Untold())
			}
			if err := db.Create(ctx, maps.All(drivertest.Initial)); err != nil {
				t.Fatal(err)
			}
			before := n.Load()
			x := drivertest.Begin(t, db)
			if _, err := x.Update(ctx, "a", 7); err != nil {
				t.Fatal(err)
			}
			if err := x.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			p := x.(drivers.Positioned).Position()
			if !tells {
				if p != (drivers.Position{}) {
					t.Errorf("a position of a server that tells none: %+v", p)
				}
				continue
			}
			want := (1795700000123456789-hlcEpoch)<<logicalBits + before + 1
			if p != (drivers.Position{Commit: want}) {
				t.Errorf("%s: position %+v, want %d", iso, p, want)
			}
			versionsOfReads(t, dsn, db)
		}
	}
	if x := drivertest.Begin(t, drivertest.Open(t, driver{&forced}, asked, "serializable")).(*tx); x.db.placed {
		t.Error("it asks although nobody wants it")
	}
}

// versionsOfReads: reads tell the timestamps in the hidden column of CockroachDB, which here is a function of the row, and none of
// what the transaction wrote itself.
func versionsOfReads(t *testing.T, dsn string, opened drivers.DB) {
	t.Helper()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	schema := opened.(*db).schema
	if _, err := c.Exec(ctx, "CREATE FUNCTION "+schema+".crdb_internal_mvcc_timestamp("+schema+".kv) RETURNS numeric LANGUAGE sql AS 'SELECT 1795700000000000000.0000000003 + $1.v'"); err != nil {
		t.Fatal(err)
	}
	x := drivertest.Begin(t, opened)
	told := func(key string, value int64) {
		t.Helper()
		want := int64(0)
		if value != 0 {
			want = (1795700000000000000+value-hlcEpoch)<<logicalBits + 3
		}
		if at, ok := x.(drivers.Versioned).Version(key); at != want || ok != (want != 0) {
			t.Errorf("%s has version %d, %v, want %d", key, at, ok, want)
		}
	}
	if v, found, err := x.Read(ctx, "a"); v != 7 || !found || err != nil {
		t.Fatal(v, found, err)
	}
	told("a", 7)
	if _, err := x.(drivers.ManyReader).ReadMany(ctx, []string{"b", "nobody"}); err != nil {
		t.Fatal(err)
	}
	told("b", drivertest.Initial["b"])
	told("nobody", 0)
	if _, err := x.Update(ctx, "a", 8); err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.Read(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	told("a", 0)
	if err := x.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestHLC(t *testing.T) {
	const second = 1_000_000_000
	start := fmt.Sprint(hlcEpoch/second + 1)
	for text, want := range map[string]int64{
		start + "000000000.0000000000":          second << logicalBits,
		start + "000000000":                     second << logicalBits,
		start + "000000000.0000000031":          second<<logicalBits + 31,
		start + "000000000.000000003":           second<<logicalBits + 30,
		start + "000000000.0000000032":          0,
		start + "000000000.00000000001":         0,
		"":                                      0,
		"1.0":                                   0,
		"x.0000000000":                          0,
		"9223372036854775807.0000000000":        0,
		start + "000000000.-000000001":          0,
		"99999999999999999999999999.0000000000": 0,
	} {
		if got := hlc(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}
