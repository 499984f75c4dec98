// Package cassandra drives Cassandra, and databases that speak its protocol, through gocql. It
// uses lightweight transactions, because Cassandra has no others.
//
// Statements about the server's behaviour are taken from Cassandra's documentation, its native
// protocol specifications (versions 2 to 5) and the source of StorageProxy, which executes
// conditional statements. The client is gocql 1.7, because later versions do not support
// Cassandra 2.0.
package cassandra

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/gocql/gocql"
	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

func init() { drivers.Register(driver{}) }

type driver struct{}

func (driver) Info() drivers.Info {
	info := drivers.Info{
		Name:    "cassandra",
		Title:   "Cassandra",
		DSN:     "cassandra://user:password@127.0.0.1:9042/",
		DSNHelp: "one node, which coordinates what its sessions send: cassandra://[user:password@]host:port/; replication=N (the number of nodes, 3 at most) and dc=NAME are those of the run's keyspace; protocol=2, 3 or 4 is found out if it is not given; tls=true, or tls=insecure without a check of the certificate",
		Schemes: []string{"cassandra"}, OnlyURL: true,
		Can: []drivers.Capability{drivers.Lightweight, drivers.Endpoints, drivers.Disturb},
		Notes: []string{
			"Never run against a real Cassandra: none was available.",
			"Only lightweight transactions (INSERT ... IF NOT EXISTS, UPDATE ... IF v = ?); the initial keys are inserted by them, too, since Cassandra does not order other writes with them.",
			"A statement that the server gave up, whatever the reason, may still take effect later: its outcome is unknown.",
		},
	}
	for _, i := range isolations {
		info.Isolations = append(info.Isolations, i.Isolation)
	}
	return info
}

// guarantees is the page of Cassandra's guarantees.
const guarantees = "https://cassandra.apache.org/doc/latest/cassandra/architecture/guarantees.html"

// isolation is a consistency level for reads, and two for conditional statements: a serial
// consistency for the condition, and one for the write.
type isolation struct {
	drivers.Isolation
	read, write gocql.Consistency
	serial      gocql.SerialConsistency
}

// isolations, the default first. Reads are linearizable with the conditional statements if they
// use the consistency that these have for their conditions (documentation, "Guarantees":
// lightweight transactions with linearizable consistency; "CQL", SERIAL CONSISTENCY). A read at
// another consistency does not see values that are proposed but not yet written. Reads and writes at
// QUORUM overlap in a replica (documentation, "Dynamo", R + W > RF), and of two such reads the later
// one returns nothing older ("Read repair", monotonic quorum reads). At ONE nothing of the kind is
// promised; a read returns something that was written.
var isolations = []isolation{
	{drivers.Isolation{Name: "SERIAL", Lightweight: "lin", Source: guarantees, Note: "reads and conditions at SERIAL"},
		gocql.Consistency(gocql.Serial), gocql.Quorum, gocql.Serial},
	{drivers.Isolation{Name: "LOCAL_SERIAL", Lightweight: "lin", Source: guarantees, Note: "reads and conditions at LOCAL_SERIAL: within one data centre, all endpoints in it"},
		gocql.Consistency(gocql.LocalSerial), gocql.LocalQuorum, gocql.LocalSerial},
	{drivers.Isolation{Name: "QUORUM", Lightweight: "ryw,mr", Source: "https://cassandra.apache.org/doc/latest/operating/read_repair.html", Note: "conditions at SERIAL, reads at QUORUM: they may miss what is still being written"},
		gocql.Quorum, gocql.Quorum, gocql.Serial},
	{drivers.Isolation{Name: "ONE", Lightweight: "rc", Source: guarantees, Note: "conditions at SERIAL, reads and writes at ONE: reads may be stale"},
		gocql.One, gocql.One, gocql.Serial},
}

// MaskDSN implements drivers.Masker.
func (driver) MaskDSN(dsn string) string { return drivers.MaskURL(dsn) }

// setupTimeout bounds creating, and also dropping. Schema changes wait for all nodes.
const setupTimeout = 60 * time.Second

func (driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	t, err := parseDSN(cfg.DSN)
	if err != nil {
		return nil, &drivers.DSNError{Driver: "cassandra", Err: err}
	}
	t.dial = cfg.Dial
	d := &db{target: t}
	for _, i := range isolations {
		if i.Name == cfg.Isolation {
			d.iso = i
		}
	}
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d.keyspace = "isohound_" + hex.EncodeToString(name)
	if err := d.inspect(ctx); err != nil {
		return nil, unusable(err)
	}
	return d, nil
}

var remedies = drivers.Remedies{
	Without:   "leave tls out",
	Unchecked: "an authority of the system must have signed it; tls=insecure does not check the certificate",
}

func unusable(err error) error {
	if explained := remedies.Explain(err); explained != nil {
		err = explained
	}
	return &drivers.UnreachableError{Driver: "cassandra", Err: err}
}

type db struct {
	target   *target
	iso      isolation
	keyspace string
	version  string
	nodes    int
	created  bool
	joined   bool
}

func (d *db) Server() string { return "Cassandra " + d.version }

// inspect finds out the protocol version, the kind of server, and how many nodes it knows,
// including itself.
func (d *db) inspect(ctx context.Context) error {
	s, err := d.target.negotiate(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	var protocol string
	q := s.Query("SELECT release_version, native_protocol_version FROM system.local WHERE key='local'").WithContext(ctx).Consistency(gocql.One)
	if err := q.Scan(&d.version, &protocol); err != nil {
		return err
	}
	d.version += fmt.Sprintf(" (native protocol %d, of at most %s)", d.target.protocol, protocol)
	d.nodes = 1 + s.Query("SELECT peer FROM system.peers").WithContext(ctx).Consistency(gocql.One).Iter().NumRows()
	return nil
}

// maxReplication is the replication factor if the user sets none.
const maxReplication = 3

// replication is the replication of the keyspace, in CQL.
func (d *db) replication() string {
	n := d.target.replication
	if n == 0 {
		n = min(d.nodes, maxReplication)
	}
	if d.target.dc != "" {
		return fmt.Sprintf("{'class': 'NetworkTopologyStrategy', '%s': %d}", strings.ReplaceAll(d.target.dc, "'", "''"), n)
	}
	return fmt.Sprintf("{'class': 'SimpleStrategy', 'replication_factor': %d}", n)
}

// admin runs f with its own session.
func (d *db) admin(ctx context.Context, f func(context.Context, *gocql.Session) error) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	s, err := d.target.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(ctx, s)
}

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	err := d.admin(ctx, func(ctx context.Context, s *gocql.Session) error {
		d.created = true // from here on there may be something to drop
		// The keys are blobs, because texts must be UTF-8.
		for _, stmt := range []string{
			fmt.Sprintf("CREATE KEYSPACE %s WITH replication = %s", d.keyspace, d.replication()),
			fmt.Sprintf("CREATE TABLE %s.kv (k blob PRIMARY KEY, v bigint)", d.keyspace),
		} {
			if err := s.Query(stmt).WithContext(ctx).Exec(); err != nil {
				return err
			}
		}
		for k, v := range initial {
			l := &session{s: s, db: d}
			applied, err := l.InsertIfAbsent(ctx, k, v)
			if err == nil && !applied {
				err = errors.Errorf("key %q is there already", k)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return unusable(errors.Wrap(err, "creating the keyspace "+d.keyspace))
	}
	return nil
}

// Connect opens a session of the client: one connection for statements and, because the client
// requires it, one that monitors the node.
func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	s, err := d.target.connect(ctx)
	if err != nil {
		return nil, connectError(err)
	}
	return &session{s: s, db: d}, nil
}

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return "keyspace " + d.keyspace + "; drop it with DROP KEYSPACE " + d.keyspace
}

func (d *db) Close(ctx context.Context) error {
	if !d.created || d.joined {
		return nil
	}
	err := d.admin(ctx, func(ctx context.Context, s *gocql.Session) error {
		return s.Query("DROP KEYSPACE " + d.keyspace).WithContext(ctx).Exec()
	})
	if err == nil {
		return nil
	}
	return errors.Wrapf(unusable(err), "left behind: %s", d.Owns())
}

// Join implements drivers.Joiner. The node must know the table; its content is read from a
// quorum, on whichever nodes that is.
func (d *db) Join(ctx context.Context, first drivers.DB) error {
	f, ok := first.(*db)
	if !ok || !f.created {
		return errors.New("an endpoint can only join one that has created the schema")
	}
	d.keyspace, d.joined = f.keyspace, true
	deadline := time.Now().Add(setupTimeout)
	for {
		err := d.admin(ctx, func(ctx context.Context, s *gocql.Session) error {
			_, _, err := (&session{s: s, db: d}).ReadOne(ctx, "")
			return err
		})
		switch {
		case err == nil:
			return nil
		case time.Now().After(deadline):
			return unusable(errors.Wrapf(err, "what the first endpoint created, keyspace %s, is not here after %v; is this a node of the same cluster?", d.keyspace, setupTimeout))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
