package mongotest

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// kind is the kind of a command, by its session fields.
type kind int

const (
	plain kind = iota
	retryableWrite
	inTransaction
)

type state int

const (
	open state = iota
	committed
	aborted
)

// session is the server's state of a logical session: the highest transaction number, and the
// transaction or the retryable write with that number ("Driver Sessions", "Retryable Writes" and
// "Transactions" in MongoDB's specifications).
type session struct {
	number int64
	txn    *txn
	done   bson.D // the reply of an executed retryable write
}

type txn struct {
	state    state
	snapshot uint32
	writes   map[string]bson.Raw
}

// context is a command with its session.
type context struct {
	*request
	kind    kind
	session *session
	txn     *txn
}

// enter finds a command's session, and its transaction, or the reply of its first execution.
func (s *Server) enter(q *request) (*context, bson.D, *commandError) {
	c := &context{request: q}
	number, numbered := q.body.Lookup("txnNumber").AsInt64OK()
	_, transactional := q.body.Lookup("autocommit").BooleanOK()
	if !numbered {
		return c, nil, nil
	}
	if s.Standalone {
		return c, nil, fail(IllegalOperation, writesNotAllowedMessage)
	}
	id := string(q.body.Lookup("lsid").Value)
	c.session = s.sessions[id]
	if c.session == nil {
		c.session = &session{number: -1}
		s.sessions[id] = c.session
	}
	if transactional {
		c.kind = inTransaction
		return c, nil, s.enterTransaction(c, number)
	}
	c.kind = retryableWrite
	switch {
	case number < c.session.number:
		return c, nil, fail(TransactionTooOld, "txnNumber is less than the one that has already been seen")
	case number == c.session.number:
		return c, c.session.done, nil
	}
	s.advance(c.session, number)
	return c, nil, nil
}

// kill aborts the session's transaction if it is open.
func (s *Server) kill(session *session) {
	if t := session.txn; t != nil && t.state == open {
		t.state = aborted
		s.store.release(t)
	}
}

// advance makes number the session's newest number, and aborts an open transaction.
func (s *Server) advance(session *session, number int64) {
	s.kill(session)
	session.number, session.txn, session.done = number, nil, nil
}

func (s *Server) enterTransaction(c *context, number int64) *commandError {
	start, _ := c.body.Lookup("startTransaction").BooleanOK()
	level, _ := c.body.Lookup("readConcern", "level").StringValueOK()
	_, reads := c.body.Lookup("readConcern").DocumentOK()
	_, writes := c.body.Lookup("writeConcern").DocumentOK()
	old := c.session
	switch {
	case writes && !ends(c.name):
		return fail(InvalidOptions, writeConcernInTransactionMessage)
	case reads && !start:
		return fail(InvalidOptions, readConcernOnlyFirstMessage)
	case number < old.number:
		return fail(TransactionTooOld, "txnNumber is less than the one that has already been seen")
	case start && number == old.number && old.txn != nil:
		return fail(alreadyStarted, "Cannot start a transaction at given transaction number: it has begun already")
	case start:
		if !strings.Contains(" local majority snapshot ", " "+level+" ") && level != "" {
			return fail(InvalidOptions, readConcernNotInTransactionsMessage)
		}
		s.advance(old, number)
		_, after, _ := c.body.Lookup("readConcern", "afterClusterTime").TimestampOK()
		old.txn = &txn{snapshot: s.store.snapshot(after), writes: map[string]bson.Raw{}}
	case number > old.number || old.txn == nil:
		return fail(NoSuchTransaction, noSuchTransactionMessage)
	}
	c.txn = old.txn
	switch {
	case ends(c.name):
	case c.txn.state == committed:
		return fail(TransactionCommitted, "Transaction has been committed.")
	case c.txn.state == aborted:
		return fail(NoSuchTransaction, "Transaction has been aborted.")
	}
	return nil
}

// commit makes the transaction's writes visible. A repeated commit gets the same answer as the
// first ("commitTransaction" in the transactions specification: a driver retries it).
func (s *Server) commit(c *context) (bson.D, *commandError) {
	switch c.txn.state {
	case aborted:
		return nil, fail(NoSuchTransaction, "Transaction has been aborted.")
	case open:
		s.store.put(c.txn.writes)
		c.txn.state = committed
		s.store.release(c.txn)
	}
	return bson.D{}, nil
}

func (s *Server) abort(c *context) (bson.D, *commandError) {
	switch c.txn.state {
	case committed:
		return nil, fail(TransactionCommitted, "Transaction has been committed.")
	case aborted:
		return nil, fail(NoSuchTransaction, "Transaction has been aborted.")
	}
	c.txn.state = aborted
	s.store.release(c.txn)
	return bson.D{}, nil
}
