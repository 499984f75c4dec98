package mongotest

import (
	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// write executes insert, update or delete, statement by statement.
func (s *Server) write(c *context) (bson.D, *commandError) {
	name := map[string]string{"insert": "documents", "update": "updates", "delete": "deletes"}[c.name]
	n, modified := int32(0), int32(0)
	for i, stmt := range c.documents(name) {
		filter, _ := stmt.Lookup("q").DocumentOK()
		if c.name == "insert" {
			filter = stmt
		}
		id, err := filter.LookupErr("_id")
		if err != nil {
			return nil, fail(BadValue, "this server writes documents by _id only")
		}
		key := c.key(id)
		if c.txn == nil {
			s.store.await(key)
		}
		now := s.see(c, key)
		if c.name == "insert" && now != nil {
			// The reply is ok, with a write error, and the transaction has ended.
			if c.txn != nil {
				s.kill(c.session)
			}
			return bson.D{{Key: "n", Value: n}, {Key: "writeErrors", Value: bson.A{bson.D{
				{Key: "index", Value: int32(i)}, {Key: "code", Value: int32(DuplicateKey)}, {Key: "errmsg", Value: "E11000 duplicate key error collection"}}}}}, nil
		}
		if c.name != "insert" {
			if now == nil {
				continue
			}
			if ok, err := matches(now, filter); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		next, cerr := c.result(stmt, now)
		if cerr != nil {
			return nil, cerr
		}
		// An update that changes nothing writes nothing.
		if now != nil && bytes.Equal(now, next) {
			n++
			continue
		}
		if cerr := s.apply(c, key, next); cerr != nil {
			return nil, cerr
		}
		n++
		modified++
	}
	out := bson.D{{Key: "n", Value: n}}
	if c.name == "update" {
		out = append(out, bson.E{Key: "nModified", Value: modified})
	}
	return out, nil
}

// result returns the document that a statement leaves, nil for a deletion.
func (c *context) result(stmt, now bson.Raw) (bson.Raw, *commandError) {
	switch c.name {
	case "insert":
		return stmt, nil
	case "update":
		return changed(now, stmt.Lookup("u"))
	}
	return nil, nil
}

// findAndModify changes one document and returns what it left.
func (s *Server) findAndModify(c *context) (bson.D, *commandError) {
	filter, _ := c.body.Lookup("query").DocumentOK()
	id, err := filter.LookupErr("_id")
	if after, _ := c.body.Lookup("new").BooleanOK(); err != nil || !after {
		return nil, fail(BadValue, "this server modifies by _id only, and returns the new document")
	}
	key := c.key(id)
	if c.txn == nil {
		s.store.await(key)
	}
	now := s.see(c, key)
	if now == nil {
		return bson.D{{Key: "value", Value: nil}}, nil
	}
	next, cerr := changed(now, c.body.Lookup("update"))
	if cerr != nil {
		return nil, cerr
	}
	if !bytes.Equal(now, next) {
		if cerr := s.apply(c, key, next); cerr != nil {
			return nil, cerr
		}
	}
	return bson.D{{Key: "value", Value: next}}, nil
}

func (s *Server) apply(c *context, key string, d bson.Raw) *commandError {
	if c.txn == nil {
		s.store.put(map[string]bson.Raw{key: d})
		s.store.floor = s.store.clock
		return nil
	}
	if err := s.store.claim(key, c.txn); err != nil {
		return err
	}
	c.txn.writes[key] = d
	return nil
}

func mustMarshal(d bson.D) []byte {
	b, err := bson.Marshal(d)
	if err != nil {
		panic(err) // it was unmarshalled before
	}
	return b
}
