package scan

import (
	"math/rand"

	"github.com/isohound/isohound/generator"
	"github.com/isohound/isohound/generator/dist"
	"github.com/isohound/isohound/history/schema"
)

// What conditions are on.
const (
	onKey       = "key"
	onIndexed   = "indexed"
	onUnindexed = "unindexed"
	onAll       = "all"
)

// What scans and other operations do.
const (
	reads   = "read"
	counts  = "count"
	updates = "update"
	deletes = "delete"
	inserts = "insert"
	upserts = "upsert"
	item    = "item"
	again   = "again"
)

// columns are the columns that conditions are on.
var columns = map[string]string{onKey: "k", onIndexed: "a", onUnindexed: "b"}

// Plan implements generator.Workload.
func (w *scan) Plan(worker int, stream *rand.Rand) generator.Plan {
	return &plan{w: w, worker: int64(worker), rng: stream, dist: w.dist.New()}
}

type plan struct {
	w      *scan
	worker int64
	rng    *rand.Rand
	dist   dist.Distribution
	count  int64 // transactions so far
	base   int64 // the least value of the window
}

// Next plans a transaction. The window moves by one after birth transactions of a session. All
// sessions move at about the same pace. One session deletes the rows of keys that have left.
func (p *plan) Next() generator.Program {
	w := p.w
	n := p.count
	p.count++
	if w.birth > 0 {
		p.base = n / w.birth
		// After the time of a window no session is so far behind that it still inserts such a row.
		if left := p.base - w.common.Keys; left >= 0 && n%w.birth == 0 && left%int64(w.common.Sessions) == p.worker {
			return &transaction{table: p.table(n), kind: deletes, where: []schema.Condition{schema.AtMost("k", left)}}
		}
	}
	t := &transaction{table: p.table(n), kind: w.scans.Draw(p.rng), most: int(w.most), think: w.think}
	on := w.conditions.Draw(p.rng)
	from := p.base + p.rng.Int63n(w.common.Keys-w.width+1)
	if column := columns[on]; column != "" {
		t.where = p.between(column, from)
	}
	t.change = p.operation(updates, "", 0)
	if p.rng.Intn(2) == 0 && (on == onIndexed || on == onUnindexed) {
		t.move = map[string]int64{columns[on]: p.base + p.rng.Int63n(w.common.Keys-w.width+1) - from}
	}
	for range w.operations {
		t.then = append(t.then, p.operation(w.then.Draw(p.rng), columns[on], from))
	}
	t.rollback = p.rng.Float64()*100 < w.rollback
	return t
}

// table draws the table of a session's transaction n.
func (p *plan) table(n int64) *schema.Table {
	tables := p.w.tables
	if p.w.stay == 0 {
		return tables[p.rng.Intn(len(tables))]
	}
	return tables[(n/p.w.stay+p.rng.Int63n(2))%int64(len(tables))]
}

// operation draws an operation that follows a scan of the rows with a column in
// [from, from+width).
func (p *plan) operation(kind, column string, from int64) operation {
	w := p.w
	draw := func() int64 { return p.base + p.dist.Next(p.rng) }
	o := operation{kind: kind, k: draw(), a: draw(), b: draw(), pick: -1}
	if p.rng.Float64()*100 < w.inside {
		o.pick = p.rng.Int63n(1 << 20)
		switch v := from + p.rng.Int63n(w.width); column {
		case "k":
			o.k = v
		case "a":
			o.a = v
		case "b":
			o.b = v
		}
	}
	o.duplicate = p.rng.Float64()*100 < w.duplicates
	return o
}
