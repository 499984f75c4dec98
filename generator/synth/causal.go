package synth

import (
	"github.com/isohound/isohound/history"
)

// CausalConfig describes a history of transactions that read Reads keys and then blindly write Writes.
type CausalConfig struct {
	Sessions, Txns, Keys, Reads, Writes int
	// CatchUp is the probability that a session, before a transaction, learns all that another session
	// knows. At 1 there is one copy of the data, and the history is serializable.
	CatchUp float64
	// OldRead adds two transactions at the end, which violate read committed: one overwrites two keys, the
	// other reads the first of them from it and then the old version of the second.
	OldRead bool
	Seed    uint64
}

// causalVersion is a version of a key, by transaction number of a session.
type causalVersion struct {
	value   history.Value
	session int32
	number  int32
}

// causal is the state of a simulation.
type causal struct {
	*serial
	cfg      CausalConfig
	versions [][]causalVersion // by key, in the order of the transactions
	has      [][]int32         // by session: how many transactions of each session it knows
}

// Causal simulates sessions with a copy of the data each, which lags behind the others. Of the versions
// that a session has, it reads a key's latest one. So the history is causally consistent. Values are
// unique. The transactions are in the order in which they ran. Keys begin at 0, which nobody writes.
func Causal(cfg CausalConfig) *history.History {
	c := &causal{serial: newSerial("causal", cfg.Txns, cfg.Keys, cfg.Seed), cfg: cfg,
		versions: make([][]causalVersion, cfg.Keys), has: make([][]int32, cfg.Sessions)}
	for s := range c.has {
		c.has[s] = make([]int32, cfg.Sessions)
	}
	var ops []history.Op
	for range cfg.Txns {
		s := c.rng.IntN(cfg.Sessions)
		c.catchUp(s)
		ops = ops[:0]
		for range cfg.Reads {
			ops = append(ops, c.see(s, c.rng.IntN(cfg.Keys)))
		}
		c.has[s][s]++
		for range cfg.Writes {
			ops = append(ops, c.put(s, c.rng.IntN(cfg.Keys)))
		}
		c.commit(s, ops...)
	}
	if cfg.OldRead {
		c.oldRead()
	}
	return c.b.Done(true, nil)
}

// catchUp lets session s learn what another one knows, now and then.
func (c *causal) catchUp(s int) {
	if c.cfg.CatchUp == 1 || c.rng.Float64() >= c.cfg.CatchUp {
		return
	}
	for n, number := range c.has[c.rng.IntN(c.cfg.Sessions)] {
		c.has[s][n] = max(c.has[s][n], number)
	}
}

// see reads the latest version of key k that session s has.
func (c *causal) see(s, k int) history.Op {
	op := history.Op{Kind: history.Read, Key: c.keys[k], Value: c.sym.DefaultInitial}
	list := c.versions[k]
	for n := len(list) - 1; n >= 0; n-- {
		if v := list[n]; c.cfg.CatchUp == 1 || v.number <= c.has[s][v.session] {
			op.Value = v.value
			break
		}
	}
	return op
}

// put writes a new value to key k, in the transaction of session s that runs.
func (c *causal) put(s, k int) history.Op {
	op := c.write(k, 0)
	c.versions[k] = append(c.versions[k], causalVersion{op.Value, int32(s), c.has[s][s]})
	return op
}

func (c *causal) oldRead() {
	first, second, last := 0, c.cfg.Keys-1, c.cfg.Sessions-1
	old := c.see(0, second)
	c.has[0][0]++
	seen := c.put(0, first)
	c.commit(0, old, seen, c.put(0, second))
	c.commit(last, history.Op{Kind: history.Read, Key: seen.Key, Value: seen.Value}, old)
}
