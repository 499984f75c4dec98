// Package redis drives Redis 6 and newer, and what speaks its protocol, such as Valkey. A transaction
// collects its writes and sends them with MULTI and EXEC.
package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/isohound/isohound/drivers"
)

func init() { drivers.Register(driver{}) }

// The isolations say whether a transaction watches what it reads.
const (
	watch   = "WATCH"
	noWatch = "no WATCH"
)

// transactions is the page about MULTI, EXEC and WATCH; sentinel says what a failover loses.
const (
	transactions = "https://redis.io/docs/latest/develop/using-commands/transactions/"
	sentinelPage = "https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/"
)

// failover is the promise where another server may take over, which lacks what was not replicated yet.
const failover = "rc"

type driver struct{}

func (driver) Info() drivers.Info {
	return drivers.Info{
		Name:    "redis",
		Title:   "Redis",
		Blind:   true,
		DSN:     "redis://user:password@127.0.0.1:6379/0",
		DSNHelp: "a server, or several separated by commas, of which the primary is used; with ?sentinel=NAME they are sentinels of the primary of that name",
		Schemes: []string{"redis", "rediss"}, OnlyURL: true,
		Isolations: []drivers.Isolation{
			{Name: watch, Promises: "sser", Lightweight: "lin", Source: transactions, Note: "each key is watched before it is read, and EXEC writes only if none has changed. With several servers or sentinels only rc is promised: replication is asynchronous, so a failover loses commits (" + sentinelPage + ")"},
			{Name: noWatch, Promises: "rc", Lightweight: "lin", Source: transactions, Without: []drivers.Capability{drivers.Tables, drivers.Predicates}, Note: "nothing is watched: each read is of the newest commit, and EXEC writes in any case"},
		},
		Can: []drivers.Capability{drivers.Transactions, drivers.Deletes, drivers.Tables, drivers.Predicates, drivers.Lightweight, drivers.Disturb},
		Notes: []string{
			"What survives a crash depends on appendonly and appendfsync, which a run tells; with Redis's defaults a crash loses the last minutes.",
			"A row is a string for each group of columns. A sorted set for each group has the keys of the rows; scans watch it, so that every insertion and deletion conflicts with them.",
		},
	}
}

// setupTimeout bounds connecting, creating and dropping separately.
const setupTimeout = 15 * time.Second

// replicaTimeout bounds the wait for replicas.
const replicaTimeout = 10 * time.Second

func (driver) Open(ctx context.Context, cfg drivers.Config) (drivers.DB, error) {
	a, err := parse(cfg.DSN)
	if err != nil {
		return nil, &drivers.DSNError{Driver: "redis", Err: err}
	}
	a.dial = cfg.Dial
	name := make([]byte, 6)
	if _, err := rand.Read(name); err != nil {
		return nil, errors.WithStack(err)
	}
	d := &db{address: a, name: "isohound_" + hex.EncodeToString(name), watch: cfg.Isolation == watch}
	if err := d.admin(ctx, d.inspect); err != nil {
		return nil, &drivers.UnreachableError{Driver: "redis", Err: a.stranger(err)}
	}
	return d, nil
}

type db struct {
	*address
	// name is a key that marks the run. All other keys of the run begin with it and a colon.
	name    string
	watch   bool
	server  string
	notes   []string
	loses   string
	created bool
}

func (d *db) Server() string { return d.server }

// Notes implements drivers.Noter.
func (d *db) Notes() []string { return d.notes }

// Loses implements drivers.Loser.
func (d *db) Loses() string { return d.loses }

// Promises implements drivers.Claimer.
func (d *db) Promises() string {
	if !d.watch || d.several() {
		return failover
	}
	return "sser"
}

// Lightweight implements drivers.LightweightClaimer.
func (d *db) Lightweight() string {
	if d.several() {
		return failover
	}
	return "lin"
}

// admin runs f on its own connection to the primary.
func (d *db) admin(ctx context.Context, f func(context.Context, *conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, setupTimeout)
	defer cancel()
	c, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(ctx, c)
}

// inspect looks at the server's version and settings. It refuses a server that may drop keys to save memory.
func (d *db) inspect(ctx context.Context, c *conn) error {
	d.server = fmt.Sprintf("%s %s", strings.ToUpper(c.kind[:1])+c.kind[1:], c.version)
	settings, err := c.info(ctx)
	if err == nil {
		if policy := settings["maxmemory_policy"]; settings["maxmemory"] != "0" && strings.HasPrefix(policy, "allkeys-") {
			return errors.Errorf("the server removes keys when its memory is used up (maxmemory-policy %s), which would look like lost writes; set the policy to noeviction", policy)
		}
	} else if !refused(err) {
		return err
	}
	for _, name := range []string{"appendonly", "appendfsync"} {
		reply, err := c.one(ctx, "CONFIG", "GET", name)
		if err != nil && !refused(err) {
			return err
		}
		if pair, ok := reply.([]any); ok && len(pair) == 2 {
			settings[name] = text(pair[1])
		}
	}
	switch {
	case settings["appendonly"] == "no":
		d.loses = "appendonly is no"
		d.notes = append(d.notes, d.loses+": if the server crashes or restarts, it loses what it wrote since its last snapshot, as documented; the final read finds that")
	case settings["appendonly"] == "yes" && settings["appendfsync"] != "always":
		d.loses = "appendfsync is " + settings["appendfsync"]
		d.notes = append(d.notes, d.loses+": if the server crashes, it may lose commits of the last moments that it had acknowledged, as documented")
	case settings["appendonly"] == "":
		d.notes = append(d.notes, "the user may not read the server's settings (CONFIG GET), so it is not known what a crash loses")
	}
	if n := settings["connected_slaves"]; n != "" && n != "0" && !d.several() {
		d.notes = append(d.notes, "the server has replicas ("+n+"): if one of them takes over at this address, commits may be lost, as documented")
	}
	if d.several() {
		d.notes = append(d.notes, "replication is asynchronous: when another server takes over, commits that had not reached it are lost, so only rc is promised")
	}
	return nil
}

// batch is how many keys one request creates or drops.
const batch = 500

// fill creates keys, and the key that marks the run.
func (d *db) fill(ctx context.Context, what string, pairs iter.Seq2[string, string], more func(key string) (command, bool)) error {
	err := d.admin(ctx, func(ctx context.Context, c *conn) error {
		d.created = true // from here on there may be something to drop
		cmds := []command{{"SET", []any{d.name, "isohound"}}}
		flush := func() error {
			_, err := c.all(ctx, cmds...)
			cmds = cmds[:0]
			return err
		}
		for k, v := range pairs {
			cmds = append(cmds, command{"SET", []any{d.name + ":" + k, v}})
			if m, ok := more(k); ok {
				cmds = append(cmds, m)
			}
			if len(cmds) >= batch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return flush()
	})
	if err == nil && d.several() {
		err = d.admin(ctx, d.replicated)
	}
	if err != nil {
		return &drivers.UnreachableError{Driver: "redis", Err: errors.Wrap(err, "creating the initial "+what)}
	}
	return nil
}

// replicated waits until the replicas have what was created, where one of them may take over: a run promises rc then,
// and that includes its initial state. A user who may not ask does not wait.
func (d *db) replicated(ctx context.Context, c *conn) error {
	info, err := c.info(ctx)
	n, _ := strconv.ParseInt(info["connected_slaves"], 10, 64)
	if err == nil && n > 0 {
		// WAIT is for what its own connection wrote, and for all that was written before.
		var replies []any
		replies, err = c.all(ctx, command{"SET", []any{d.name, "isohound"}}, command{"WAIT", []any{n, replicaTimeout.Milliseconds()}})
		if err == nil {
			if got, ok := replies[1].(int64); !ok || got < n {
				return errors.Errorf("%v of %d replicas have it after %v; see INFO replication of the server", replies[1], n, replicaTimeout)
			}
		}
	}
	if err != nil && !refused(err) {
		return err
	}
	return nil
}

// plain is the key of a run, after its name and a colon, for a key of a workload.
func plain(key string) string { return "k" + key }

func (d *db) Create(ctx context.Context, initial iter.Seq2[string, int64]) error {
	return d.fill(ctx, "keys", func(yield func(string, string) bool) {
		for k, v := range initial {
			if !yield(plain(k), encode(v)) {
				return
			}
		}
	}, func(string) (command, bool) { return command{}, false })
}

// Connect makes a connection to the primary, and checks that it may run transactions.
func (d *db) Connect(ctx context.Context) (drivers.Session, error) {
	c, err := d.connect(ctx)
	if err != nil {
		return nil, connectError(err)
	}
	// Commands after a MULTI that is refused would be executed at once, so it is tried here.
	if _, err := c.all(ctx, command{"CLIENT", []any{"SETNAME", d.name}}, command{"MULTI", nil}, command{"EXISTS", []any{d.name}}, command{"EXEC", nil}); err != nil {
		c.Close()
		return nil, connectError(err)
	}
	return &session{c: c, db: d}, nil
}

// Owns implements drivers.Owner.
func (d *db) Owns() string {
	if !d.created {
		return ""
	}
	return "the keys that begin with " + d.name + "; isohound clean drops them"
}

func (d *db) Close(ctx context.Context) error {
	if !d.created {
		return nil
	}
	return errors.Wrapf(d.Drop(ctx, d.name), "keys are left behind, isohound clean --drop %s drops them", d.name)
}

func encode(v int64) string { return strconv.FormatInt(v, 10) }

func decode(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, &drivers.Error{Class: drivers.Fatal, Cause: "value is no number", Err: err}
	}
	return v, nil
}
