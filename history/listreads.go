package history

// ListReads says of lists with append, which were read as registers (Header.Lists), whose reads show where the appends
// stand.
type ListReads interface {
	// Shows returns the transaction whose read of list k has element directly behind before, or at its beginning if
	// before is absence. ok is false if the appender's own read of what it appended to shows it.
	Shows(k Key, element, before Value) (reader int64, ok bool)
	// Symbols are those of the keys and values.
	Symbols() *Symbols
}

// InferredRead reports whether operation n of a transaction is a read that its client did not make: it says what an append
// stands behind in a list that reader read. element was appended.
func (h *History) InferredRead(t *Txn, n int) (element Value, reader int64, ok bool) {
	ops := h.Ops(t)
	if h.ListReads == nil || h.ListReads.Symbols().names != h.names || ops[n].Kind != Read {
		return 0, 0, false
	}
	// The reads of an append stand directly before its write.
	for _, op := range ops[n+1:] {
		switch {
		case op.Key != ops[n].Key, op == ops[n]:
			return 0, 0, false
		case op.Kind == Write:
			reader, ok = h.ListReads.Shows(op.Key, op.Value, ops[n].Value)
			return op.Value, reader, ok
		}
	}
	return 0, 0, false
}
