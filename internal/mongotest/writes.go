package mongotest

import "go.mongodb.org/mongo-driver/v2/bson"

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
		if c.name != "insert" && !fits(now, filter) {
			continue
		}
		next, cerr := c.result(stmt, id)
		if cerr != nil {
			return nil, cerr
		}
		// An update that changes nothing writes nothing, except with $inc.
		_, counts := stmt.Lookup("u", "$inc").DocumentOK()
		if !counts && next != nil && now != nil && fits(now, bson.Raw(mustMarshal(next.raw()))) {
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
func (c *context) result(stmt bson.Raw, id bson.RawValue) (*document, *commandError) {
	switch c.name {
	case "insert":
		return &document{id: id, v: stmt.Lookup("v")}, nil
	case "update":
		v, err := stmt.LookupErr("u", "$set", "v")
		if err != nil {
			return nil, fail(BadValue, "this server knows $set of v, and $inc of what nobody reads")
		}
		return &document{id: id, v: v}, nil
	}
	return nil, nil
}

func (s *Server) apply(c *context, key string, d *document) *commandError {
	if c.txn == nil {
		s.store.put(map[string]*document{key: d})
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
