package mongotest

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

var hellos = map[string]bool{"hello": true, "isMaster": true, "ismaster": true}

// epoch is the seconds part of every cluster time; only the increment changes.
const epoch = 1

func (s *Server) execute(q *request, f Fault) bson.D {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	c, reply, err := s.enter(q)
	switch {
	case err != nil:
	case f.Code != 0:
		err = &commandError{code: f.Code, msg: "Failing command via 'failCommand' failpoint", labels: f.Labels}
	case reply == nil:
		if reply, err = s.run(c); err == nil && c.kind == retryableWrite {
			c.session.done = reply
		}
	}
	if err != nil {
		// An error ends its transaction. An error of a commit does so if its label promises
		// that.
		all := err.labelled(c.kind, q.name, f.WriteConcernError != 0)
		if c.txn != nil && (!ends(q.name) || slices.Contains(all, any(transientTransactionError))) {
			s.kill(c.session)
		}
		reply = err.reply(all)
	} else {
		reply = append(bson.D{{Key: "ok", Value: 1.0}}, reply...)
	}
	if f.WriteConcernError != 0 {
		reply = append(reply, bson.E{Key: "writeConcernError", Value: bson.D{
			{Key: "code", Value: f.WriteConcernError}, {Key: "codeName", Value: codeNames[f.WriteConcernError]}, {Key: "errmsg", Value: "waiting for replication failed"}}})
		if all := labels(f.WriteConcernError, c.kind, q.name, true); err == nil && len(all) > 0 {
			reply = append(reply, bson.E{Key: "errorLabels", Value: all})
		}
	}
	if s.Standalone {
		return reply
	}
	now := bson.Timestamp{T: epoch, I: s.store.clock}
	return append(reply, bson.E{Key: "operationTime", Value: now}, bson.E{Key: "$clusterTime", Value: bson.D{
		{Key: "clusterTime", Value: now},
		{Key: "signature", Value: bson.D{{Key: "hash", Value: bson.Binary{Data: make([]byte, 20)}}, {Key: "keyId", Value: int64(0)}}}}})
}

func ends(name string) bool { return name == "commitTransaction" || name == "abortTransaction" }

// run executes a command. Its reply lacks the fields common to all replies.
func (s *Server) run(c *context) (bson.D, *commandError) {
	switch c.name {
	case "hello", "isMaster", "ismaster":
		return s.hello(), nil
	case "ping", "endSessions", "create":
		return bson.D{}, nil
	case "buildInfo":
		return bson.D{{Key: "version", Value: "7.0.0-mongotest"}}, nil
	case "killSessions":
		for _, id := range c.documents("killSessions") {
			if x := s.sessions[string(id)]; x != nil {
				s.kill(x)
			}
		}
		return bson.D{}, nil
	case "dropDatabase":
		writes := map[string]*document{}
		for key := range s.store.versions {
			if bytes.HasPrefix([]byte(key), []byte(c.db+".")) {
				writes[key] = nil
			}
		}
		s.store.put(writes)
		return bson.D{{Key: "dropped", Value: c.db}}, nil
	case "commitTransaction":
		if c.txn == nil {
			return nil, fail(InvalidOptions, "commitTransaction must be run within a transaction")
		}
		return s.commit(c)
	case "abortTransaction":
		if c.txn == nil {
			return nil, fail(InvalidOptions, "abortTransaction must be run within a transaction")
		}
		return s.abort(c)
	case "find":
		return s.find(c)
	case "insert", "update", "delete":
		return s.write(c)
	}
	return nil, fail(CommandNotFound, "no such command: '"+c.name+"'")
}

// hello is the answer of the primary of a replica set with one member, or of a standalone server
// (source/server-discovery-and-monitoring).
func (s *Server) hello() bson.D {
	out := bson.D{
		{Key: "helloOk", Value: true}, {Key: "ismaster", Value: true}, {Key: "isWritablePrimary", Value: true},
		{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, {Key: "maxMessageSizeBytes", Value: int32(maxMessage)}, {Key: "maxWriteBatchSize", Value: int32(100000)},
		{Key: "logicalSessionTimeoutMinutes", Value: int32(30)}, {Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(21)},
		{Key: "readOnly", Value: false},
	}
	if s.Standalone {
		return out
	}
	return append(out,
		bson.E{Key: "setName", Value: "rs0"}, bson.E{Key: "setVersion", Value: int32(1)}, bson.E{Key: "secondary", Value: false},
		bson.E{Key: "hosts", Value: bson.A{s.Addr()}}, bson.E{Key: "me", Value: s.Addr()}, bson.E{Key: "primary", Value: s.Addr()})
}

// see returns the document with a key that is visible to the command.
func (s *Server) see(c *context, key string) *document {
	if c.txn == nil {
		return s.store.latest(key)
	}
	if d, own := c.txn.writes[key]; own {
		return d
	}
	return s.store.read(key, c.txn.snapshot)
}

func (c *context) key(id bson.RawValue) string {
	coll, _ := c.body.Lookup(c.name).StringValueOK()
	return c.db + "." + coll + "\x00" + string(rune(id.Type)) + string(id.Value)
}

// fits reports whether a document matches a filter, which may name _id and v.
func fits(d *document, filter bson.Raw) bool {
	if d == nil {
		return false
	}
	want, err := filter.LookupErr("v")
	return err != nil || want.Type == d.v.Type && bytes.Equal(want.Value, d.v.Value)
}

func (s *Server) find(c *context) (bson.D, *commandError) {
	filter, _ := c.body.Lookup("filter").DocumentOK()
	id, err := filter.LookupErr("_id")
	if err != nil {
		return nil, fail(BadValue, "this server finds documents by _id only")
	}
	batch := bson.A{}
	d := s.see(c, c.key(id))
	if level, _ := c.body.Lookup("readConcern", "level").StringValueOK(); c.txn == nil && level != "linearizable" {
		d = s.store.read(c.key(id), s.store.stale())
	}
	if fits(d, filter) {
		batch = append(batch, d.raw())
	}
	coll, _ := c.body.Lookup("find").StringValueOK()
	return bson.D{{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: c.db + "." + coll}, {Key: "firstBatch", Value: batch}}}}, nil
}
