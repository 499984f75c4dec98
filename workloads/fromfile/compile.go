package fromfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
	"go.yaml.in/yaml/v3"

	"github.com/isohound/isohound/drivers"
	"github.com/isohound/isohound/history/schema"
)

// compiler turns a file into a workload.
type compiler struct {
	problems
	root      *yaml.Node
	about     string
	params    map[string]int64
	tables    map[string]*table
	broken    map[string]bool // tables and, with a colon before, generators with errors
	schema    schema.Schema
	rows      []*insertion
	seen      map[string]map[string]bool // items of initial rows, by table
	seed      int64
	shared    map[string]*draw // generators of all transactions
	own       map[string]*draw // generators of the transaction that is compiled
	sequences int
	txns      []*transaction
	weights   []int
	notes     []string
}

// transaction is a compiled transaction.
type transaction struct {
	name  string
	draws []*draw // those that its statements use
	index map[*draw]int
	think time.Duration
	steps []*step
	as    []string // names of results
	// reads has for each result what its statement reads, nil for a count.
	reads []*step
}

// topKeys are the keys of a file.
var topKeys = []string{"about", "params", "tables", "rows", "draw", "transactions"}

// compile compiles a file. set are values of its parameters, seed is that of the initial rows.
func compile(path string, raw []byte, seed int64, set map[string]int64) (*compiler, error) {
	c := &compiler{
		problems: problems{path: path, lines: strings.Split(string(raw), "\n")},
		params:   map[string]int64{}, tables: map[string]*table{}, broken: map[string]bool{}, shared: map[string]*draw{},
		seed: seed, seen: map[string]map[string]bool{},
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, errors.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, errors.Errorf("%s: the file is empty", path)
	}
	c.root = doc.Content[0]
	top := c.fields(c.root, "the file", topKeys...)
	if about := c.scalar(top["about"], "about"); about != nil {
		c.about = strings.Join(strings.Fields(about.s), " ")
	}
	c.readParams(top["params"], set)
	c.readTables(top["tables"])
	for _, n := range c.items(top["rows"], "rows") {
		c.readRow(n)
	}
	c.shared = c.readDraws(top["draw"])
	for _, e := range c.pairs(top["transactions"], "transactions") {
		c.readTransaction(e)
	}
	if len(c.txns) == 0 && len(c.list) == 0 {
		c.at(c.root, "the file has no transactions")
	}
	if len(c.list) == 0 && slices.Max(c.weights) == 0 {
		c.at(c.root, "all transactions have weight 0")
	}
	return c, c.err()
}

func (c *compiler) readParams(n *yaml.Node, set map[string]int64) {
	for _, e := range c.pairs(n, "params") {
		if !c.name(e.key, "a parameter") {
			continue
		}
		if e.key.Value == mixParam {
			c.at(e.key, "%s is the parameter of the weights of transactions; choose another name", mixParam)
		}
		text := c.scalar(e.value, "a parameter")
		if text == nil {
			continue
		}
		v, err := strconv.ParseInt(text.s, 10, 64)
		if err != nil {
			c.at(e.value, "parameter %s is a whole number, not %q", e.key.Value, text.s)
		}
		if given, ok := set[e.key.Value]; ok {
			v = given
		}
		c.params[e.key.Value] = v
	}
}

// readDraws compiles generators.
func (c *compiler) readDraws(n *yaml.Node) map[string]*draw {
	c.own = map[string]*draw{}
	for _, e := range c.pairs(n, "draw") {
		if strings.HasSuffix(e.key.Value, ")") || !c.name(e.key, "a generator") {
			continue // the end of the value before, which was told
		}
		if _, twice := c.params[e.key.Value]; twice || c.shared[e.key.Value] != nil {
			c.at(e.key, "there is a parameter or a generator %s already", e.key.Value)
		}
		text := c.scalar(e.value, "a generator")
		if text == nil {
			continue
		}
		var written *call
		m := parse(text.s, true, func(p *parser) { written = p.call() })
		switch {
		case m != nil && strings.Contains(text.s, "(") && !strings.Contains(text.s, ")"):
			c.fail(text, m.at, "a comma ends a value between { and }; write each generator on a line of its own")
		case m != nil:
			c.fail(text, m.at, "%s", m.text)
		default:
			if d := c.draw(text, written, nil); d != nil {
				c.own[e.key.Value] = d
				continue
			}
		}
		c.broken[":"+e.key.Value] = true
	}
	return c.own
}

// found finds a generator that statements can name.
func (c *compiler) found(name string) *draw {
	if d := c.own[name]; d != nil {
		return d
	}
	return c.shared[name]
}

func (c *compiler) readTransaction(e pair) {
	if !c.name(e.key, "a transaction") {
		return
	}
	fields := c.fields(e.value, "transaction "+e.key.Value, "weight", "draw", "think", "statements")
	t := &transaction{name: e.key.Value, index: map[*draw]int{}}
	weight := 1
	if text := c.scalar(fields["weight"], "weight"); text != nil {
		var err error
		if weight, err = strconv.Atoi(text.s); err != nil || weight < 0 || weight > 1_000_000 {
			c.at(text.node, "a weight is a whole number from 0 to 1000000, not %q", text.s)
		}
	}
	if text := c.scalar(fields["think"], "think"); text != nil {
		var err error
		if t.think, err = time.ParseDuration(text.s); err != nil || t.think < 0 {
			c.at(text.node, "think is a time to wait between statements, such as 2ms, not %q", text.s)
		}
	}
	c.own = nil
	c.own = c.readDraws(fields["draw"])
	for _, n := range c.items(fields["statements"], "statements of "+t.name) {
		c.readStep(t, n)
	}
	if len(t.steps) == 0 && len(c.list) == 0 {
		c.at(e.key, "transaction %s has no statements", t.name)
	}
	for name, d := range c.own {
		if _, used := t.index[d]; !used && len(c.list) == 0 && !c.drawnFrom(t, d) {
			c.at(e.key, "transaction %s draws %s and never uses it", t.name, name)
		}
	}
	t.index = nil
	c.txns, c.weights = append(c.txns, t), append(c.weights, weight)
}

// drawnFrom reports whether a transaction uses a generator by recent only.
func (c *compiler) drawnFrom(t *transaction, d *draw) bool {
	return slices.ContainsFunc(t.draws, func(u *draw) bool { return u.kind == "recent" && u.number == d.number && d.kind == "sequence" })
}

// needs lists the capabilities that a database must have.
func (c *compiler) needs() []drivers.Capability {
	needs := []drivers.Capability{drivers.Transactions, drivers.Tables}
	add := func(n drivers.Capability) {
		if !slices.Contains(needs, n) {
			needs = append(needs, n)
		}
	}
	for _, t := range c.txns {
		for _, s := range t.steps {
			if s.verb == deletes {
				add(drivers.Deletes)
			}
			if s.byCondition() {
				add(drivers.Predicates)
			}
		}
	}
	return needs
}

// idle returns why nothing would be tested, or "". drawn says whether a transaction occurs.
func (c *compiler) idle(drawn func(name string) bool) string {
	for _, t := range c.txns {
		for _, s := range t.steps {
			if drawn(t.name) && (s.verb == inserts || s.verb == updates || s.verb == deletes) {
				return ""
			}
		}
	}
	return "no transaction that occurs writes"
}
