package cuda

// Narrow makes all parts of the work small, so that small graphs have many parts.
func (b *Backend) Narrow(rows, panel int32, piece int64) {
	b.dev.rows, b.dev.panel, b.dev.piece = rows, panel, piece
}

// Again makes every insertion compute all rows anew.
func (b *Backend) Again() { b.dev.many = 0 }

// Find opens a GPU without testing it.
var Find = find
