package cassandra

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/datastax/go-cassandra-native-protocol/message"
	"github.com/datastax/go-cassandra-native-protocol/primitive"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/drivers/drivertest"
	"github.com/isohound/isohound/internal/cqltest"
)

var ctx = context.Background()

func start(t *testing.T) *cqltest.Server {
	t.Helper()
	s, err := cqltest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func dsn(s *cqltest.Server) string { return "cassandra://" + s.Addr() + "/" }

// TestLightweight runs on every version of the protocol, at every isolation
// that promises something.
func TestLightweight(t *testing.T) {
	for _, protocol := range []primitive.ProtocolVersion{2, 3, 4} {
		s := start(t)
		s.Protocol = protocol
		t.Run(protocol.String(), func(t *testing.T) { drivertest.Lightweight(t, driver{}, dsn(s)) })
	}
}

// TestIsolations checks the requests that the server gets: the consistency of reads, writes and
// conditions, and that nothing is repeated or written without a condition.
func TestIsolations(t *testing.T) {
	for name, want := range map[string]struct{ read, write, serial primitive.ConsistencyLevel }{
		"SERIAL":       {primitive.ConsistencyLevelSerial, primitive.ConsistencyLevelQuorum, primitive.ConsistencyLevelSerial},
		"LOCAL_SERIAL": {primitive.ConsistencyLevelLocalSerial, primitive.ConsistencyLevelLocalQuorum, primitive.ConsistencyLevelLocalSerial},
		"QUORUM":       {primitive.ConsistencyLevelQuorum, primitive.ConsistencyLevelQuorum, primitive.ConsistencyLevelSerial},
		"ONE":          {primitive.ConsistencyLevelOne, primitive.ConsistencyLevelOne, primitive.ConsistencyLevelSerial},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			l := drivertest.Light(t, drivertest.Open(t, driver{}, dsn(s), name))
			if _, err := l.CompareAndSet(ctx, "a", 1, 2); err != nil {
				t.Error(err)
			}
			if _, err := l.InsertIfAbsent(ctx, "a", 1); err != nil {
				t.Error(err)
			}
			if _, _, err := l.ReadOne(ctx, "a"); err != nil {
				t.Error(err)
			}
			reads, writes := s.Statements("SELECT"), append(s.Statements("UPDATE"), s.Statements("INSERT")...)
			if len(reads) != 1 || len(writes) != 2+len(drivertest.Initial) {
				t.Errorf("%d reads, %d writes", len(reads), len(writes))
			}
			for _, st := range reads {
				if st.Consistency != want.read {
					t.Errorf("%+v", st)
				}
			}
			for _, st := range writes {
				if st.Consistency != want.write || st.Serial != want.serial || !strings.Contains(st.CQL, " IF ") {
					t.Errorf("%+v", st)
				}
			}
		})
	}
}

// TestProtocol: the highest version that the server supports is found, down to that of Cassandra
// 2.0.
func TestProtocol(t *testing.T) {
	for protocol, want := range map[primitive.ProtocolVersion]string{2: "protocol 2", 3: "protocol 3", 4: "protocol 4"} {
		s := start(t)
		s.Protocol, s.Version = protocol, "2.0.1"
		db, err := driver{}.Open(ctx, drivers.Config{DSN: dsn(s), Isolation: "SERIAL"})
		if err != nil {
			t.Fatal(err)
		}
		if got := db.Server(); !strings.Contains(got, "Cassandra 2.0.1") || !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestKeyspace: the keyspace has a replica on each node, up to three, unless the DSN says
// otherwise, and is dropped once at the end.
func TestKeyspace(t *testing.T) {
	for _, tc := range []struct {
		peers        int
		params, want string
	}{
		{0, "", "{'class': 'SimpleStrategy', 'replication_factor': 1}"},
		{1, "", "{'class': 'SimpleStrategy', 'replication_factor': 2}"},
		{6, "", "{'class': 'SimpleStrategy', 'replication_factor': 3}"},
		{6, "?replication=5", "{'class': 'SimpleStrategy', 'replication_factor': 5}"},
		{6, "?dc=eu", "{'class': 'NetworkTopologyStrategy', 'eu': 3}"},
	} {
		s := start(t)
		s.Peers = tc.peers
		t.Run("", func(t *testing.T) {
			db := drivertest.Open(t, driver{}, dsn(s)+tc.params, "")
			made := s.Statements("CREATE KEYSPACE")
			if len(made) != 1 || !strings.HasSuffix(made[0].CQL, tc.want) {
				t.Errorf("%v, want %s", made, tc.want)
			}
			if owns := db.(drivers.Owner).Owns(); !strings.Contains(owns, "isohound_") {
				t.Error(owns)
			}
		})
		if n := s.Keyspaces(); n != 0 {
			t.Errorf("%d keyspaces are left", n)
		}
	}
}

// TestJoin: another node uses what the first has created, and drops nothing.
func TestJoin(t *testing.T) {
	s := start(t)
	first := drivertest.Open(t, driver{}, dsn(s), "")
	second, err := driver{}.Open(ctx, drivers.Config{DSN: dsn(s), Isolation: "SERIAL"})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.(drivers.Joiner).Join(ctx, first); err != nil {
		t.Fatal(err)
	}
	if ok, err := drivertest.Light(t, second).CompareAndSet(ctx, "a", 1, 5); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if err := second.Close(ctx); err != nil {
		t.Error(err)
	}
	if v, _, err := drivertest.Light(t, first).ReadOne(ctx, "a"); v != 5 || err != nil {
		t.Errorf("a is %d, %v", v, err)
	}
}

// TestPassword: the password is sent, but never shown.
func TestPassword(t *testing.T) {
	s := start(t)
	s.Password = "s3cret"
	ok := "cassandra://me:s3cret@" + s.Addr() + "/"
	drivertest.Light(t, drivertest.Open(t, driver{}, ok, ""))
	if m := drivers.MaskDSN(driver{}, ok); strings.Contains(m, "s3cret") {
		t.Error(m)
	}
	_, err := driver{}.Open(ctx, drivers.Config{DSN: "cassandra://me:wr0ng@" + s.Addr(), Isolation: "SERIAL"})
	if err == nil || strings.Contains(err.Error(), "wr0ng") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

func TestNoTransactions(t *testing.T) {
	s, err := drivertest.Open(t, driver{}, dsn(start(t)), "").Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Begin(ctx)
	drivertest.Class(t, "a transaction", err, drivers.Fatal, false)
}

// TestKeys: keys are bytes.
func TestKeys(t *testing.T) {
	l := drivertest.Light(t, drivertest.Open(t, driver{}, dsn(start(t)), ""))
	for n, k := range []string{"\x00", "\xff\xfe", "'", "a\x00"} {
		if ok, err := l.InsertIfAbsent(ctx, k, int64(n)); !ok || err != nil {
			t.Errorf("%q: %v, %v", k, ok, err)
		}
		if v, found, err := l.ReadOne(ctx, k); v != int64(n) || !found || err != nil {
			t.Errorf("%q is %d, %v, %v", k, v, found, err)
		}
	}
}

func TestDSN(t *testing.T) {
	for dsn, want := range map[string]target{
		"cassandra://h":                              {host: "h", port: 9042},
		"cassandra://[::1]:9043/?replication=2":      {host: "::1", port: 9043, replication: 2},
		"cassandra://me:p%40ss@h/?protocol=2&dc=dc1": {host: "h", port: 9042, user: "me", password: "p@ss", protocol: 2, dc: "dc1"},
		"cassandra://h/?protocol=1":                  {},
		"cassandra://h/?protocol=5":                  {},
		"cassandra://h/?replication=0":               {},
		"cassandra://h/?tls=maybe":                   {},
		"cassandra://h/?x=y":                         {},
		"cassandra://h/ks":                           {},
		"cassandra://":                               {},
		"http://h":                                   {},
	} {
		got, err := parseDSN(dsn)
		if want.host == "" && err == nil || want.host != "" && (err != nil || !reflect.DeepEqual(*got, want)) {
			t.Errorf("%q: %+v, %v", dsn, got, err)
		}
	}
}

// TestOpenRefuses: errors are reported in one line, without the password.
func TestOpenRefuses(t *testing.T) {
	for dsn, usage := range map[string]bool{"cassandra://me:s3cret@127.0.0.1:1/": false, "cassandra://me:s3cret@h:x/": true} {
		_, err := driver{}.Open(ctx, drivers.Config{DSN: dsn, Isolation: "SERIAL"})
		var bad *drivers.DSNError
		if err == nil || errors.As(err, &bad) != usage || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// TestCreateFails: the run does not begin, and the error says what may be left behind.
func TestCreateFails(t *testing.T) {
	s := start(t)
	s.Inject(cqltest.Fault{Begins: "CREATE TABLE", Error: &message.Unauthorized{ErrorMessage: "no"}})
	db, err := driver{}.Open(ctx, drivers.Config{DSN: dsn(s), Isolation: "SERIAL"})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Create(ctx, func(func(string, int64) bool) {})
	var u *drivers.UnreachableError
	if !errors.As(err, &u) || db.(drivers.Owner).Owns() == "" {
		t.Errorf("%v, owns %q", err, db.(drivers.Owner).Owns())
	}
	if err := db.Close(ctx); err != nil || s.Keyspaces() != 0 {
		t.Errorf("%v, %d keyspaces", err, s.Keyspaces())
	}
}
