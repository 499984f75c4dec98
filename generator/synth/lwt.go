package synth

import (
	"math/rand/v2"
	"strconv"

	"github.com/isohound/isohound/history"
)

// LWTConfig describes a history of lightweight transactions, after section V-A
// of the MTC paper.
type LWTConfig struct {
	Sessions       int
	TxnsPerSession int
	Keys           int
	// Concurrent is the number of sessions that run at once; the others wait
	// their turn. Between 1 and Sessions.
	Concurrent int
	// Failures is the percentage of operations that are plain reads or failed
	// compare-and-sets, a third each of reads, failures that return the value
	// and failures that return nothing.
	Failures int
	Seed     uint64
}

// LWT makes a linearizable history: an insertion for each key, then
// compare-and-sets that follow one another. Rounds of Concurrent sessions run
// at the same time, with overlapping intervals.
func LWT(cfg LWTConfig) *history.History {
	rng := rand.New(rand.NewPCG(cfg.Seed, 2))
	sym := history.NewSymbols()
	total := cfg.Sessions * cfg.TxnsPerSession
	b := history.NewBuilder(history.Header{Workload: "synthetic lwt", Seed: int64(cfg.Seed), Clock: "simulated ns"}, sym, total)
	state := make([]history.Value, cfg.Keys)
	for k := range state {
		sym.Key("k" + strconv.Itoa(k))
		state[k] = history.Absent
	}
	value := int64(0)
	rec := history.Record{Due: history.NoTime, Status: history.Committed}
	// Within a round all intervals share a moment, at which the operations take
	// effect in the order in which they are made.
	const round = 1000
	for n, base := 0, int64(0); n < total; base += 2 * round {
		for c := 0; c < cfg.Concurrent && n < total; c++ {
			rec.ID = int64(n)
			rec.Session = int64(n % cfg.Sessions)
			rec.Begin = base + rng.Int64N(round)
			rec.End = base + round + rng.Int64N(round)
			k := history.Key(rng.IntN(cfg.Keys))
			rec.Ops = append(rec.Ops[:0], lwtOps(rng, k, &state[k], &value, cfg.Failures)...)
			if err := b.Add(&rec); err != nil {
				panic(err) // rounds are apart, so sessions are sequential
			}
			n++
		}
	}
	return b.Done(true, nil)
}

func lwtOps(rng *rand.Rand, k history.Key, state *history.Value, value *int64, failures int) []history.Op {
	if rng.IntN(100) < failures && *state != history.Absent {
		if rng.IntN(3) == 0 {
			return []history.Op{{Kind: history.ReadNot, Key: k, Value: history.Value(*value + 1_000_000_000)}}
		}
		return []history.Op{{Kind: history.Read, Key: k, Value: *state}}
	}
	*value++
	old := *state
	*state = history.Value(*value)
	if old == history.Absent {
		return []history.Op{{Kind: history.Write, Key: k, Value: *state}}
	}
	return []history.Op{{Kind: history.Read, Key: k, Value: old}, {Kind: history.Write, Key: k, Value: *state}}
}
