package mongotest

import (
	"bytes"
	"slices"
	"strings"

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
	case "ping", "endSessions", "create", "createIndexes":
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
		writes := map[string]bson.Raw{}
		for key := range s.store.versions {
			if bytes.HasPrefix([]byte(key), []byte(c.db+".")) {
				writes[key] = nil
			}
		}
		s.store.put(writes)
		return bson.D{{Key: "dropped", Value: c.db}}, nil
	case "listDatabases":
		return bson.D{{Key: "databases", Value: s.databases()}, {Key: "totalSize", Value: int64(0)}}, nil
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
	case "aggregate":
		return s.aggregate(c)
	case "insert", "update", "delete":
		return s.write(c)
	case "findAndModify":
		return s.findAndModify(c)
	}
	return nil, fail(CommandNotFound, "no such command: '"+c.name+"'")
}

// databases describes the databases that have documents.
func (s *Server) databases() bson.A {
	list, seen := bson.A{}, map[string]bool{}
	for key := range s.store.versions {
		if db, _, _ := strings.Cut(key, "."); !seen[db] && s.store.latest(key) != nil {
			seen[db] = true
			list = append(list, bson.D{{Key: "name", Value: db}, {Key: "sizeOnDisk", Value: int64(0)}, {Key: "empty", Value: false}})
		}
	}
	return list
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

// see returns the document with a key that is visible to a write of the command.
func (s *Server) see(c *context, key string) bson.Raw {
	if c.txn == nil {
		return s.store.latest(key)
	}
	if d, own := c.txn.writes[key]; own {
		return d
	}
	return s.store.read(key, c.txn.snapshot)
}

// seen returns the document with a key that is visible to a read of the command. Outside
// transactions it may be stale, except with read concern linearizable.
func (s *Server) seen(c *context, key string) bson.Raw {
	if level, _ := c.body.Lookup("readConcern", "level").StringValueOK(); c.txn == nil && level != "linearizable" {
		return s.store.read(key, s.store.stale())
	}
	return s.see(c, key)
}

// collection is what the keys of a command's collection begin with.
func (c *context) collection() string {
	coll, _ := c.body.Lookup(c.name).StringValueOK()
	return c.db + "." + coll + "\x00"
}

func (c *context) key(id bson.RawValue) string {
	return c.collection() + string(rune(id.Type)) + string(id.Value)
}

// selected returns the documents that a filter selects.
func (s *Server) selected(c *context, filter bson.Raw) ([]bson.Raw, *commandError) {
	keys := map[string]bool{}
	if id, err := filter.LookupErr("_id"); err == nil {
		keys[c.key(id)] = true
	} else {
		for key := range s.store.versions {
			keys[key] = strings.HasPrefix(key, c.collection())
		}
		if c.txn != nil {
			for key := range c.txn.writes {
				keys[key] = strings.HasPrefix(key, c.collection())
			}
		}
	}
	var out []bson.Raw
	for key, mine := range keys {
		if !mine {
			continue
		}
		doc := s.seen(c, key)
		if doc == nil {
			continue
		}
		ok, err := matches(doc, filter)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, doc)
		}
	}
	return out, nil
}

// cursor is a reply with all documents of a cursor.
func (c *context) cursor(docs []bson.Raw) bson.D {
	coll, _ := c.body.Lookup(c.name).StringValueOK()
	batch := bson.A{}
	for _, d := range docs {
		batch = append(batch, d)
	}
	return bson.D{{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: c.db + "." + coll}, {Key: "firstBatch", Value: batch}}}}
}

func (s *Server) find(c *context) (bson.D, *commandError) {
	filter, _ := c.body.Lookup("filter").DocumentOK()
	docs, err := s.selected(c, filter)
	if err != nil {
		return nil, err
	}
	if order, ok := c.body.Lookup("sort").DocumentOK(); ok {
		arrange(docs, order)
	}
	if limit, _ := c.body.Lookup("limit").AsInt64OK(); limit > 0 && int(limit) < len(docs) {
		docs = docs[:limit]
	}
	return c.cursor(docs), nil
}

// aggregate counts the documents that a filter selects; clients count so ("CRUD API", Count).
func (s *Server) aggregate(c *context) (bson.D, *commandError) {
	stages := array(c.body.Lookup("pipeline"))
	if len(stages) != 2 {
		return nil, fail(BadValue, "this server only aggregates to count")
	}
	filter, ok := stages[0].Document().Lookup("$match").DocumentOK()
	if _, counts := stages[1].Document().Lookup("$group", "n", "$sum").AsInt64OK(); !ok || !counts {
		return nil, fail(BadValue, "this server only aggregates to count")
	}
	docs, err := s.selected(c, filter)
	if err != nil || len(docs) == 0 {
		return c.cursor(nil), err
	}
	return c.cursor([]bson.Raw{mustMarshal(bson.D{{Key: "_id", Value: int32(1)}, {Key: "n", Value: int32(len(docs))}})}), nil
}
