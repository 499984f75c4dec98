package mongotest

import (
	"encoding/binary"
	"io"

	"github.com/pkg/errors"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Opcodes of MongoDB's wire protocol ("MongoDB Wire Protocol" in the manual). Clients send hello
// with the old OP_QUERY, and everything else with OP_MSG.
const (
	opReply = 1
	opQuery = 2004
	opMsg   = 2013
)

const maxMessage = 48_000_000

// request is one command. Arrays of documents may be in separate sections after the body
// (OP_MSG, kind 1).
type request struct {
	id     int32
	legacy bool
	name   string
	db     string
	body   bson.Raw
	beside map[string][]bson.Raw
}

func readRequest(r io.Reader) (*request, error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(head[:]))
	if size < len(head) || size > maxMessage {
		return nil, errors.Errorf("message of %d bytes", size)
	}
	msg := make([]byte, size-len(head))
	if _, err := io.ReadFull(r, msg); err != nil {
		return nil, err
	}
	q := &request{id: int32(binary.LittleEndian.Uint32(head[4:])), beside: map[string][]bson.Raw{}}
	var err error
	switch op := binary.LittleEndian.Uint32(head[12:]); op {
	case opMsg:
		err = q.sections(msg)
	case opQuery:
		q.legacy = true
		err = q.query(msg)
	default:
		err = errors.Errorf("opcode %d", op)
	}
	if err != nil {
		return nil, err
	}
	elems, err := q.body.Elements()
	if err != nil || len(elems) == 0 {
		return nil, errors.Errorf("a command without a name: %v", err)
	}
	q.name = elems[0].Key()
	if v, ok := q.body.Lookup("$db").StringValueOK(); ok {
		q.db = v
	}
	return q, nil
}

// sections reads OP_MSG: flags, then one document (kind 0) and any number of
// named sequences of documents (kind 1).
func (q *request) sections(msg []byte) error {
	if len(msg) < 4 {
		return io.ErrUnexpectedEOF
	}
	for rest := msg[4:]; len(rest) > 0; {
		kind := rest[0]
		doc, size, err := cut(rest[1:])
		if err != nil {
			return err
		}
		rest = rest[1+size:]
		if kind == 0 {
			q.body = doc
			continue
		}
		doc = doc[4:]
		end := 0
		for end < len(doc) && doc[end] != 0 {
			end++
		}
		if end == len(doc) {
			return io.ErrUnexpectedEOF
		}
		name := string(doc[:end])
		for seq := doc[end+1:]; len(seq) > 0; {
			d, n, err := cut(seq)
			if err != nil {
				return err
			}
			q.beside[name] = append(q.beside[name], d)
			seq = seq[n:]
		}
	}
	return nil
}

// query reads OP_QUERY: flags, collection name, skip, return, document.
func (q *request) query(msg []byte) error {
	at := 4
	for at < len(msg) && msg[at] != 0 {
		at++
	}
	if at+9 > len(msg) {
		return io.ErrUnexpectedEOF
	}
	doc, _, err := cut(msg[at+9:])
	q.body = doc
	if inner, ok := doc.Lookup("$query").DocumentOK(); ok {
		q.body = inner
	}
	return err
}

// cut splits off the part of b that begins with its own length.
func cut(b []byte) (bson.Raw, int, error) {
	if len(b) < 4 {
		return nil, 0, io.ErrUnexpectedEOF
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < 4 || n > len(b) {
		return nil, 0, io.ErrUnexpectedEOF
	}
	return bson.Raw(b[:n]), n, nil
}

// documents returns an array of the command, from the body or from a separate section.
func (q *request) documents(name string) []bson.Raw {
	if docs, ok := q.beside[name]; ok {
		return docs
	}
	arr, ok := q.body.Lookup(name).ArrayOK()
	if !ok {
		return nil
	}
	values, err := arr.Values()
	if err != nil {
		return nil
	}
	var docs []bson.Raw
	for _, v := range values {
		if d, ok := v.DocumentOK(); ok {
			docs = append(docs, d)
		}
	}
	return docs
}

func writeReply(w io.Writer, q *request, reply bson.D) error {
	doc, err := bson.Marshal(reply)
	if err != nil {
		return err
	}
	var head []byte
	op := uint32(opMsg)
	if q.legacy {
		op = opReply
		head = make([]byte, 20) // flags, cursor, start
		binary.LittleEndian.PutUint32(head[16:], 1)
	} else {
		head = make([]byte, 5) // flags, and the kind of the only section
	}
	msg := binary.LittleEndian.AppendUint32(nil, uint32(16+len(head)+len(doc)))
	msg = binary.LittleEndian.AppendUint32(msg, uint32(q.id))
	msg = binary.LittleEndian.AppendUint32(msg, uint32(q.id))
	msg = binary.LittleEndian.AppendUint32(msg, op)
	_, err = w.Write(append(append(msg, head...), doc...))
	return err
}
