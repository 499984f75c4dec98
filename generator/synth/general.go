package synth

import (
	"math"
	"math/rand/v2"
	"sort"
	"strconv"

	"github.com/isohound/isohound/history"
)

// GeneralConfig describes a history of transactions of any shape, like the generator of the
// VeriStrong paper (section 7.1).
type GeneralConfig struct {
	Sessions, Txns, Ops, Keys int // Ops: operations in a transaction
	// Reads is the share of the operations that read, 0 to 1.
	Reads float64
	// Duplicates is the share of the keys whose values are drawn from Values values; the i-th of
	// these is drawn in proportion to 1/i^Theta. The values of the other keys are unique.
	Duplicates, Theta float64
	Values            int
	// Snapshot runs transactions on snapshots of up to Lag commits ago, with first committer
	// wins. Otherwise they run one after another.
	Snapshot bool
	// LoseUpdates switches first committer wins off: a transaction may overwrite keys that
	// others have written since its snapshot.
	LoseUpdates bool
	// Claims records where the simulated database placed each transaction.
	Claims bool
	// Versions records which commit wrote what reads returned, with Claims.
	Versions bool
	Seed     uint64
}

// lag is the maximum age of a snapshot, in commits.
const lag = 20

// General simulates a database in memory. The history is valid, has no times, and lists the
// transactions session by session, so that it does not show the order of execution. Keys begin
// at 0, which nobody writes.
func General(cfg GeneralConfig) *history.History {
	rng := rand.New(rand.NewPCG(cfg.Seed, 2))
	sym := history.NewSymbols()
	sym.DefaultInitial = sym.Int(0)
	keys := make([]history.Key, cfg.Keys)
	for k := range keys {
		keys[k] = sym.Key(strconv.Itoa(k))
	}
	duplicates := int(float64(cfg.Keys) * cfg.Duplicates)
	weights := make([]float64, cfg.Values)
	sum := 0.0
	for i := range weights {
		sum += math.Pow(float64(i+1), -cfg.Theta)
		weights[i] = sum
	}
	type version struct {
		at    int // commits before it
		value history.Value
	}
	versions := make([][]version, cfg.Keys)
	unique := int64(cfg.Values)
	bySession := make([][]history.Record, cfg.Sessions)
	seen := make([]int, cfg.Sessions) // commits when the session's latest transaction committed
	commits := 0
	for i := range cfg.Txns {
		s := rng.IntN(cfg.Sessions)
		rec := history.Record{Session: int64(s), Status: history.Committed, Begin: history.NoTime, End: history.NoTime, Due: history.NoTime}
		snapshot := commits
		if cfg.Snapshot {
			snapshot = max(seen[s], commits-rng.IntN(lag))
		}
		own := map[int]history.Value{}
		for range cfg.Ops {
			k := rng.IntN(cfg.Keys)
			list := versions[k]
			current, from := sym.DefaultInitial, int64(history.Before)
			for n := len(list) - 1; n >= 0; n-- {
				if list[n].at < snapshot {
					current, from = list[n].value, int64(list[n].at)+1
					break
				}
			}
			if v, ok := own[k]; ok {
				current, from = v, 0
			}
			stale := !cfg.LoseUpdates && len(list) > 0 && list[len(list)-1].at >= snapshot // a write would be refused
			if rng.Float64() < cfg.Reads || stale {
				rec.Ops = append(rec.Ops, history.Op{Kind: history.Read, Key: keys[k], Value: current})
				if cfg.Versions {
					rec.Tell(from)
				}
				continue
			}
			v := int64(0)
			if k < duplicates {
				v = int64(sort.SearchFloat64s(weights, rng.Float64()*sum)) + 1
			} else {
				unique++
				v = unique
			}
			own[k] = sym.Int(v)
			rec.Ops = append(rec.Ops, history.Op{Kind: history.Write, Key: keys[k], Value: own[k]})
		}
		for k, v := range own {
			versions[k] = append(versions[k], version{commits, v})
		}
		commits++
		seen[s] = commits
		if cfg.Claims {
			rec.Claim = history.Claim{Commit: int64(commits), Snapshot: int64(snapshot), Snapped: true}
		}
		rec.ID = int64(i)
		bySession[s] = append(bySession[s], rec)
	}
	b := history.NewBuilder(history.Header{Workload: "synthetic general", Seed: int64(cfg.Seed)}, sym, cfg.Txns)
	for _, list := range bySession {
		for n := range list {
			if err := b.Add(&list[n]); err != nil {
				panic(err) // the simulation keeps sessions sequential
			}
		}
	}
	return b.Done(true, nil)
}
